package mysqlstore

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestExaminedBounds is TestExamined for limits, rates and turns: one key with very
// many waiters, many keys with a few, and a key at which very many had their turn.
func TestExaminedBounds(t *testing.T) {
	scale := 10
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		scale = 1
	}
	onEach(t, func(t *testing.T, dsn string) {
		s, e, _ := installed(t, dsn)
		x := &examiner{T: t, s: s, db: e.db, reaped: domain.Slot{Key: "l:g:few"}}
		e.db.SetMaxOpenConns(1) // whose counters are read
		x.fillBounds(scale)
		x.examineBounds(0)
		x.exec("ANALYZE TABLE rowlock_jobs, rowlock_slots, rowlock_job_keys, rowlock_bounds")
		x.examineBounds(1)
	})
}

// fillBounds makes, at full scale, 100,000 jobs that wait at one key, 10,000 keys
// of a limit and 10,000 of a turn with ten waiters each, 10,000 slots that are
// taken, and 100,000 jobs that had their turn at one key, where one waits now.
func (x *examiner) fillBounds(scale int) {
	x.Helper()
	x.exec("CREATE TABLE d (n INT PRIMARY KEY)")
	x.exec("INSERT INTO d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
	next, numbers := 1, " FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS i FROM d AS a, d AS b, d AS c, d AS d, d AS e) AS x WHERE x.i < %d"
	jobs := func(n, state int, blocked string) (first int) {
		n /= scale
		first, next = next, next+n
		x.exec(fmt.Sprintf("INSERT INTO rowlock_jobs (id, state, queue, kind, priority, run_at, due_at, wake_at, created_at, args, turn, blocked_on)"+
			" SELECT UNHEX(LPAD(HEX(x.i + %d), 32, '0')), %d, 'q', 'k0', 0, x.i, x.i, 0, 1, '{}', IF(%[3]s LIKE 'm%%', 1, 0), %[3]s"+numbers, first, state, blocked, n))
		return first
	}
	turns := func(n, first int, key, place string) {
		x.exec(fmt.Sprintf("INSERT INTO rowlock_job_keys (job, bound, place) SELECT UNHEX(LPAD(HEX(x.i + %d), 32, '0')), %s, %s"+numbers, first, key, place, n/scale))
	}
	jobs(100_000, 2, "'l:g:busy'")
	jobs(100_000, 2, "CONCAT('l:g:few', x.i DIV 10)")
	turns(100_000, jobs(100_000, 2, "CONCAT('m0:few', x.i DIV 10)"), "CONCAT('m0:few', x.i DIV 10)", "x.i")
	turns(100_000, jobs(100_000, 4, "NULL"), "'m0:old'", "NULL")
	turns(scale, jobs(scale, 2, "'m0:old'"), "'m0:old'", "5")
	x.exec(fmt.Sprintf("INSERT INTO rowlock_slots (bound, slot, job, token, ends_at, changed_at) SELECT CONCAT('l:g:few', x.i), 0,"+
		" UNHEX(LPAD(HEX(x.i), 32, 'a')), UNHEX(LPAD(HEX(x.i), 32, 'b')), 0, 1"+numbers, 10_000/scale))
	err := x.s.Declare(x.Context(), []string{"k0"}, []domain.Declaration{{Kind: "k0", Sort: domain.BoundLimit, Group: "g", N: 2}})
	if err != nil {
		x.Fatal(err)
	}
}

// keysOf are so many keys of one form, the round's own.
func keysOf(form string, round int) []string {
	keys := make([]string, batch)
	for i := range keys {
		keys[i] = fmt.Sprintf(form, batch*round+i)
	}
	return keys
}

// examineBounds makes every call for bounds once.
func (x *examiner) examineBounds(round int) {
	x.wake("wake one of very many", 40, 2*(1-round), "l:g:busy")
	x.wake("wake at 100 limits", 16*batch, batch, keysOf("l:g:few%d", round)...)
	x.wake("wake in 100 turns", 12*batch, batch, keysOf("m0:few%d", round)...)
	x.wake("wake after very many turns", 40, 1-round, "m0:old")
	x.sweepBounds(round)
	x.park(x.bounded("busy"))
	x.admit(x.bounded(""))
	x.exec("UPDATE rowlock_jobs SET kind = 'moved' WHERE blocked_on = 'l:g:busy' ORDER BY run_at LIMIT 100")
	x.judge("loosen", 4000, func() error {
		got, err := x.s.Loosen(x.Context(), driven.LoosenRequest{Limit: 2 * batch, Depth: 1000})
		if got.Jobs != batch {
			x.Errorf("%d jobs are loose", got.Jobs)
		}
		return err
	})
}

func (x *examiner) wake(what string, most, want int, keys ...string) {
	x.Helper()
	x.judge(what, most, func() error {
		got, err := x.s.Wake(x.Context(), keys)
		if got.Jobs != want {
			x.Errorf("%s: woke %d, want %d", what, got.Jobs, want)
		}
		return err
	})
}

// bounded are jobs that were just claimed: each has two turns and is under the limit
// at that key, or at one of its own.
func (x *examiner) bounded(key string) []driven.Claimed {
	x.Helper()
	ids, jobs := system.IDs(), make([]domain.NewJob, batch)
	for i := range jobs {
		id := ids.NewJobID()
		jobs[i] = domain.NewJob{
			ID: id, Kind: "k0", Queue: "fresh", Args: []byte(`{}`), LimitKey: id.String(),
			Turn: domain.TurnMutex, Keys: []string{id.String(), id.String() + "b"},
		}
		if key != "" {
			jobs[i].LimitKey = key
		}
	}
	x.judge("insert with turns", 16*batch, func() error { _, err := x.s.Insert(x.Context(), jobs); return err })
	r := asking([]string{"k0"}, batch)
	r.Queue = "fresh"
	var got driven.Claims
	x.judge("claim beside the blocked", 9*batch, func() (err error) { got, err = x.s.Claim(x.Context(), r); return err })
	if len(got.Jobs) != batch {
		x.Fatalf("claimed %d", len(got.Jobs))
	}
	return got.Jobs
}

func wanted(jobs []driven.Claimed) (r driven.AdmitRequest) {
	for _, j := range jobs {
		r.Wants = append(r.Wants, driven.Want{Ticket: j.Ticket(), Kind: "k0", Limit: true, Turn: true, OwnLimit: j.Job.LimitKey})
	}
	return r
}

// park asks for a key at which very many wait: two of each round start.
func (x *examiner) park(jobs []driven.Claimed) {
	x.Helper()
	var got driven.Admission
	x.judge("admit, and most are parked", 40*batch, func() (err error) { got, err = x.s.Admit(x.Context(), wanted(jobs)); return err })
	if len(got.Admitted)+len(got.Parked) != batch || len(got.Parked) < batch-2 {
		x.Fatalf("admitted %d, parked %d", len(got.Admitted), len(got.Parked))
	}
}

// admit has jobs start and end.
func (x *examiner) admit(jobs []driven.Claimed) {
	x.Helper()
	var got driven.Admission
	x.judge("admit", 50*batch, func() (err error) { got, err = x.s.Admit(x.Context(), wanted(jobs)); return err })
	if len(got.Admitted) != batch {
		x.Fatalf("admitted %d", len(got.Admitted))
	}
	tickets, outcomes := map[domain.JobID]domain.Ticket{}, make([]driven.Outcome, len(jobs))
	for _, j := range jobs {
		tickets[j.Job.ID] = j.Ticket()
	}
	var hold []driven.Holding
	for i, a := range got.Admitted {
		outcomes[i] = driven.Outcome{Ticket: tickets[a.ID], To: domain.Done, Counts: true, Keep: time.Hour, Turn: true}
		for _, slot := range a.Slots {
			hold = append(hold, driven.Holding{Ticket: tickets[a.ID], Slot: slot.Slot, For: time.Minute})
			outcomes[i].Slots = append(outcomes[i].Slots, domain.SlotEnd{Slot: slot.Slot, After: time.Millisecond})
		}
	}
	x.judge("hold", 8*len(hold), func() error { return x.s.Hold(x.Context(), hold) })
	x.judge("settle with slots and turns", 40*batch, func() error { _, err := x.s.Settle(x.Context(), outcomes); return err })
	x.judge("expire", 10*len(hold), func() error {
		got, err := x.s.Expire(x.Context(), len(hold))
		if len(got.Keys) != len(hold) {
			x.Errorf("%d keys expired, want %d", len(got.Keys), len(hold))
		}
		return err
	})
}

// sweepBounds are the looks and sweeps that find nothing or one page.
func (x *examiner) sweepBounds(round int) {
	ctx, s := x.Context(), x.s
	x.judge("expire nothing", 6, func() error { _, err := s.Expire(ctx, batch); return err })
	x.judge("reap", 12*batch, func() error {
		got, err := s.Reap(ctx, driven.ReapRequest{After: x.reaped, Limit: batch, Linger: time.Minute})
		if got.Orphans != batch || !got.More {
			x.Errorf("reaped %+v", got)
		}
		x.reaped = got.Last
		return err
	})
	x.judge("list of held slots", 6*batch, func() error { _, err := s.Held(ctx, domain.Slot{}, batch); return err })
	x.names("list of blocked keys", s.BlockedKeys)
	x.exec("UPDATE rowlock_job_keys SET blocks = 1 WHERE bound LIKE 'm0:few1%' LIMIT 300")
	x.judge("list of chains", 20*batch, func() error { _, err := s.Chains(ctx, "", batch); return err })
	x.judge("release of a chain", 120, func() error { _, err := s.Unchain(ctx, fmt.Sprint("m0:few1", round)); return err })
}

func (x *examiner) names(what string, list func(context.Context, string, int) ([]string, error)) {
	x.Helper()
	x.judge(what, 6*batch, func() error {
		got, err := list(x.Context(), "", batch)
		if len(got) != batch {
			x.Errorf("%s: %d", what, len(got))
		}
		return err
	})
}
