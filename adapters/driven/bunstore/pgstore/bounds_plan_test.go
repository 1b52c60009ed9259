package pgstore

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
)

// TestBoundPlans is TestPlans for the calls of bounds: beside a limit that 100,000
// jobs wait for, 10,000 keys with ten waiters each, 10,000 taken turns, a key that
// 100,000 jobs had their turn at and 10,000 slots that are kept for a while.
func TestBoundPlans(t *testing.T) {
	scale := 10
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		scale = 1
	}
	cfg, err := Config{}.check()
	if err != nil {
		t.Fatal(err)
	}
	db := servers.Open(t, servers.Postgres(t))
	x := &explainer{engine: newEngine(db, cfg, false), t: t}
	s := bunstore.New(newDialect(db, cfg), x, nil)
	if _, err := s.Migrator().Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	declared := []domain.Declaration{
		{Kind: "k", Sort: domain.BoundLimit, Group: "k", N: 150}, {Kind: "busy", Sort: domain.BoundLimit, Group: "busy", N: 1},
		{Kind: "many", Sort: domain.BoundLimit, Group: "many", N: 2},
	}
	if err := s.Declare(t.Context(), []string{"k", "busy", "many"}, declared); err != nil {
		t.Fatal(err)
	}
	x.crowd(scale)
	t.Run("no statistics", func(t *testing.T) { x.boundPlans(t, s, 10_000/scale) })
	x.t = t
	x.exec("VACUUM ANALYZE rowlock_jobs, rowlock_slots, rowlock_job_keys")
	t.Run("statistics", func(t *testing.T) { x.boundPlans(t, s, 10_000/scale) })
}

func (x *explainer) exec(text string, args ...any) {
	x.t.Helper()
	if _, err := x.db.ExecContext(x.t.Context(), text, args...); err != nil {
		x.t.Fatal(err)
	}
}

// crowd makes the rows that concern nobody, and those that wait.
func (x *explainer) crowd(scale int) {
	x.t.Helper()
	keys := 10_000 / scale
	for _, table := range []string{"jobs", "slots", "job_keys"} {
		x.exec("ALTER TABLE rowlock_" + table + " SET (autovacuum_enabled = false)")
	}
	wait := func(kind, key string, n int) {
		x.exec(fmt.Sprintf("INSERT INTO rowlock_jobs (id, state, queue, kind, priority, run_at, due_at, wake_at, created_at, args, blocked_on)"+
			" SELECT gen_random_uuid(), 2, 'q', '%s', 0, i, i, 0, 1, '{}', %s FROM generate_series(1, %d) AS i", kind, key, n))
	}
	wait("busy", "'l:busy:'", 10*keys)
	wait("many", fmt.Sprintf("'l:many:' || i %% %d", keys), 10*keys)
	wait("each", "'c0:each' || i", keys)
	x.exec(fmt.Sprintf("INSERT INTO rowlock_job_keys (job, bound) SELECT gen_random_uuid(), 'm0:old' FROM generate_series(1, %d)", 10*keys))
	x.exec("INSERT INTO rowlock_job_keys (job, bound, place) SELECT id, blocked_on, due_at FROM rowlock_jobs WHERE kind = 'each'")
	const slot = "INSERT INTO rowlock_slots (bound, slot, job, token, ends_at, changed_at) "
	x.exec(slot + "SELECT blocked_on, 0, id, id, 0, 1 FROM rowlock_jobs WHERE kind = 'each'")
	x.exec(slot + "SELECT 'r:r:' || bound, 0, NULL, NULL, 9000000000000, 1 FROM rowlock_slots")
	x.exec(slot + "VALUES ('l:busy:', 0, gen_random_uuid(), gen_random_uuid(), 0, 1)")
}

// bounded inserts and claims jobs that ask for a slot of a limit and for turns.
func bounded(t *testing.T, s *bunstore.Store, key func(i int) string) []driven.Claimed {
	t.Helper()
	jobs := make([]domain.NewJob, batch)
	for i := range jobs {
		jobs[i] = domain.NewJob{
			ID: system.IDs().NewJobID(), Kind: "k", Queue: "bounded", Args: []byte(`{}`), Turn: domain.TurnMutex, Keys: []string{key(i)},
		}
	}
	if _, err := s.Insert(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	ask := asking([]string{"k"}, batch)
	ask.Queue = "bounded"
	got, err := s.Claim(t.Context(), ask)
	if err != nil || len(got.Jobs) != batch {
		t.Fatalf("claimed %d: %v", len(got.Jobs), err)
	}
	return got.Jobs
}

// boundPlans makes every call of bounds once and judges its statements.
func (x *explainer) boundPlans(t *testing.T, s *bunstore.Store, keys int) {
	x.t = t
	var jobs []driven.Claimed
	x.judge("insert and claim", 9*batch, func() error {
		jobs = bounded(t, s, func(i int) string { return fmt.Sprint("own", i) })
		return nil
	})
	admitted := x.admits(t, s, jobs, batch)
	outs := make([]driven.Outcome, len(jobs))
	for i := range jobs {
		outs[i] = driven.Outcome{Ticket: jobs[i].Ticket(), To: domain.Done, Counts: true, Turn: true, Keep: time.Hour}
		for _, a := range admitted.Admitted {
			for _, slot := range a.Slots {
				if a.ID == jobs[i].Job.ID {
					outs[i].Slots = append(outs[i].Slots, domain.SlotEnd{Slot: slot.Slot})
				}
			}
		}
	}
	x.judge("settle", 14*batch, func() error { _, err := s.Settle(t.Context(), outs); return err })
	old := bounded(t, s, func(int) string { return "old" })
	first := x.admits(t, s, old, 1)
	x.judge("give back", 2, func() error {
		h := driven.Holding{Ticket: old[0].Ticket(), Slot: domain.Slot{Key: "m0:old"}, End: true}
		return s.Hold(t.Context(), []driven.Holding{h})
	})
	x.exec("UPDATE rowlock_jobs SET state = 2, blocked_on = 'm0:old', token = NULL WHERE id = $1", first.Admitted[0].ID.String())
	x.wakes(t, s, "the old key", 1, 8, []string{"m0:old"})
	x.exec("UPDATE rowlock_job_keys SET place = NULL WHERE bound = 'm0:old'")
	x.exec("DELETE FROM rowlock_slots WHERE bound = 'l:k:'")
	x.exec("UPDATE rowlock_jobs SET state = 4, token = NULL, blocked_on = NULL WHERE queue = 'bounded'")
	x.boundWakes(t, s, keys)
	x.boundSweeps(t, s)
}

// admits judges an Admit that so many pass.
func (x *explainer) admits(t *testing.T, s *bunstore.Store, jobs []driven.Claimed, pass int) (got driven.Admission) {
	wants := make([]driven.Want, len(jobs))
	for i := range jobs {
		wants[i] = driven.Want{Ticket: jobs[i].Ticket(), Kind: jobs[i].Job.Kind, Limit: true, Rate: true, Turn: true}
	}
	x.judge(fmt.Sprint("admit ", pass), 12*batch, func() (err error) {
		got, err = s.Admit(t.Context(), driven.AdmitRequest{Wants: wants})
		return err
	})
	if len(got.Admitted) != pass || len(got.Parked) != len(jobs)-pass {
		t.Fatalf("%d admitted and %d parked of %d", len(got.Admitted), len(got.Parked), len(jobs))
	}
	return got
}

// wakes judges a Wake of so many jobs.
func (x *explainer) wakes(t *testing.T, s *bunstore.Store, what string, jobs int, most float64, keys []string) {
	x.judge("wake "+what, most, func() error {
		got, err := s.Wake(t.Context(), keys)
		if err == nil && got.Jobs != jobs {
			t.Errorf("woke %d, not %d", got.Jobs, jobs)
		}
		return err
	})
}

func (x *explainer) boundWakes(t *testing.T, s *bunstore.Store, keys int) {
	many, each := make([]string, keys), make([]string, keys)
	for i := range keys {
		many[i], each[i] = fmt.Sprint("l:many:", i), fmt.Sprint("c0:each", i+1)
	}
	x.wakes(t, s, "a full limit", 0, 4, []string{"l:busy:"})
	x.exec("UPDATE rowlock_slots SET token = NULL WHERE bound = 'l:busy:'")
	x.wakes(t, s, "a free limit", 1, 8, []string{"l:busy:"})
	x.exec("UPDATE rowlock_slots SET token = job WHERE bound = 'l:busy:'")
	x.wakes(t, s, "many limits", 2*keys, float64(8*keys), many)
	x.wakes(t, s, "taken turns", 0, float64(3*keys), each)
}

func (x *explainer) boundSweeps(t *testing.T, s *bunstore.Store) {
	ctx := t.Context()
	x.exec("UPDATE rowlock_slots SET ends_at = 1 WHERE (bound, slot) IN (SELECT bound, slot FROM rowlock_slots WHERE ends_at > 1 LIMIT $1)", batch)
	x.judge("expire", 4*batch, func() error {
		got, err := s.Expire(ctx, 2*batch)
		if len(got.Keys) != batch {
			t.Errorf("%d keys are free", len(got.Keys))
		}
		return err
	})
	x.exec("UPDATE rowlock_slots SET job = gen_random_uuid(), token = gen_random_uuid(), ends_at = 0 WHERE (bound, slot) IN (SELECT bound, slot FROM rowlock_slots ORDER BY bound, slot LIMIT $1)", batch)
	x.judge("reap", 12*batch, func() error {
		got, err := s.Reap(ctx, driven.ReapRequest{Limit: batch, Linger: time.Hour})
		if got.Orphans == 0 {
			t.Error("no slot is an orphan")
		}
		return err
	})
	x.judge("held", 3*batch, func() error { _, err := s.Held(ctx, domain.Slot{Key: "c0:each5"}, batch); return err })
	x.judge("blocked keys", 2*batch, func() error { _, err := s.BlockedKeys(ctx, "l:many", batch); return err })
	x.judge("chains", 2*batch, func() error { _, err := s.Chains(ctx, "", batch); return err })
	x.exec("UPDATE rowlock_jobs SET kind = 'moved' WHERE id IN (SELECT id FROM rowlock_jobs WHERE blocked_on = 'l:busy:' ORDER BY run_at LIMIT $1)", batch)
	x.judge("loosen", 2500, func() error {
		got, err := s.Loosen(ctx, driven.LoosenRequest{Limit: 2 * batch, Depth: 1000})
		if got.Jobs != batch {
			t.Errorf("%d jobs are loose", got.Jobs)
		}
		return err
	})
}
