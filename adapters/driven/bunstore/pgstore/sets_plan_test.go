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

// TestSetPlans is TestPlans for batches and schedules: beside a batch that waits for
// the last of 100,001 members and one whose 100,000 are over, 10,000 batches that are
// open, sealed or finished, 10,000 schedules that are due of a kind that nobody here
// handles and 10,000 that are idle, and 10,000 members at the head of what is to be
// pruned.
func TestSetPlans(t *testing.T) {
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
	for _, table := range []string{"jobs", "batches", "schedules"} {
		x.exec("ALTER TABLE rowlock_" + table + " SET (autovacuum_enabled = false)")
	}
	f := &setFill{x: x, s: s, scale: scale}
	f.fill()
	t.Run("no statistics", func(t *testing.T) { f.plans(t, 0) })
	x.t = t
	x.exec("VACUUM ANALYZE rowlock_jobs, rowlock_batches, rowlock_schedules")
	t.Run("statistics", func(t *testing.T) { f.plans(t, 1) })
}

// setFill is the crowd of TestSetPlans.
type setFill struct {
	x     *explainer
	s     *bunstore.Store
	scale int
	over  [2]domain.BatchID // all members are over; one for each round
	waits domain.BatchID
	head  domain.BatchID
}

const crowd = 10_000 // batches, and schedules of each sort

const memberRow = "INSERT INTO rowlock_jobs (id, state, queue, kind, priority, run_at, due_at, wake_at, created_at, args, batch_id)" +
	" SELECT gen_random_uuid(), %d, 'q', 'member', 0, i, i, %s, 1, '{}', '%s' FROM generate_series(1, %d) AS i"

func (f *setFill) members(id domain.BatchID, state domain.State, wake string, n int) {
	f.x.exec(fmt.Sprintf(memberRow, state, wake, id, n))
}

func (f *setFill) sealed() domain.BatchID {
	f.x.t.Helper()
	n := domain.NewBatch{ID: system.IDs().NewBatchID()}
	if err := f.s.CreateBatch(f.x.t.Context(), n); err != nil {
		f.x.t.Fatal(err)
	}
	f.x.exec("UPDATE rowlock_batches SET stand = 1, sealed_at = 1, total = 1 WHERE id = '" + n.ID.String() + "'")
	return n.ID
}

func (f *setFill) fill() {
	f.x.t.Helper()
	many := 100_000 / f.scale
	for i := range f.over {
		f.over[i] = f.sealed()
		f.members(f.over[i], domain.Done, "9e12", many)
	}
	f.waits, f.head = f.sealed(), f.sealed()
	f.members(f.waits, domain.Done, "9e12", many)
	f.members(f.waits, domain.Ready, "0", 1)
	f.members(f.head, domain.Done, "1", many/10)
	f.members(domain.BatchID{}, domain.Done, "2", 2*batch) // of no batch that is there
	f.members(domain.BatchID{1}, domain.Running, "9e12", many)
	f.x.exec(fmt.Sprintf("INSERT INTO rowlock_batches (id, tenant, name, callback, created_at, keep, stand, sealed_at, finished_at, ends_at)"+
		" SELECT gen_random_uuid(), CASE WHEN i %% 2 = 0 THEN 't' ELSE '' END, 'n', '', 1, 1, i %% 3, i %% 3, i %% 3 / 2, i %% 3 / 2 * 9000000000000 FROM generate_series(1, %d) AS i", crowd))
	f.x.exec("UPDATE rowlock_batches SET ends_at = 2 WHERE id IN (SELECT id FROM rowlock_batches WHERE stand = 2 LIMIT $1)", 2*batch)
	f.x.exec("UPDATE rowlock_batches SET callback_job = x.job FROM (SELECT b.id, j.id AS job FROM" +
		" (SELECT id, row_number() OVER () AS n FROM rowlock_batches WHERE ends_at > 2 LIMIT " + fmt.Sprint(batch) + ") AS b JOIN" +
		" (SELECT id, row_number() OVER () AS n FROM rowlock_jobs WHERE state = 3) AS j ON j.n = b.n) AS x WHERE rowlock_batches.id = x.id")
	const row = "INSERT INTO rowlock_schedules (tenant, name, namespace, kind, cron, zone, every, missed, most, job, idle, paused, next_at, created_at, updated_at)" +
		" SELECT '', '%[1]s' || i, '%[1]s', '%[2]s', '', '', 60000, 0, 0, '{\"kind\":\"%[2]s\",\"queue\":\"q\",\"args\":{}}', %[3]d, %[3]d, %[4]s, 1, 1 FROM generate_series(1, %[5]d) AS i"
	f.x.exec(fmt.Sprintf(row, "foreign", "foreign", 0, "i", crowd))
	f.x.exec(fmt.Sprintf(row, "idle", "own", 1, "i", crowd))
	f.x.exec(fmt.Sprintf(row, "later", "own", 0, "9e12 + i", crowd))
	f.x.exec(fmt.Sprintf(row, "due", "own", 0, "i", 3*batch))
	f.x.exec(fmt.Sprintf(row, "app", "own", 0, "9e12 + i", batch))
}

// plans makes every call once and judges its statements.
func (f *setFill) plans(t *testing.T, round int) {
	f.x.t = t
	ctx, s, x, many := t.Context(), f.s, f.x, float64(100_000/f.scale)
	finish := func(id domain.BatchID, want int) func() error {
		return func() error {
			got, err := s.FinishBatches(ctx, []domain.BatchID{id})
			if len(got) != want {
				t.Errorf("finished %+v", got)
			}
			return err
		}
	}
	x.judge("finish, not yet", 4, finish(f.waits, 0))
	x.judge("finish", many+10, finish(f.over[round], 1))
	x.judge("finish again", 4, finish(f.over[round], 0))
	fresh := f.sealed()
	x.exec("UPDATE rowlock_batches SET stand = 0, sealed_at = 0 WHERE id = '" + fresh.String() + "'")
	in := make([]domain.NewJob, batch)
	for i := range in {
		in[i] = domain.NewJob{ID: system.IDs().NewJobID(), Kind: "member", Queue: "new", Args: []byte(`{}`), Batch: fresh}
	}
	x.judge("insert members", batch+2, func() error { _, err := s.Insert(ctx, in); return err })
	x.judge("get", 4*batch, func() error { _, err := s.Batch(ctx, fresh, ""); return err })
	x.judge("seal", 4*batch, func() error { _, err := s.SealBatch(ctx, fresh, ""); return err })
	if round > 0 { // without statistics it sorts all that are sealed
		x.judge("open batches", 2*batch, func() error { _, err := s.OpenBatches(ctx, domain.BatchID{}, batch); return err })
	}
	for _, filter := range []domain.BatchFilter{{}, {Tenant: "t"}, {State: domain.BatchSealed}}[:1+2*round] { // without statistics it reads all of a tenant
		x.judge(fmt.Sprint("list ", filter), 3*batch, func() error {
			_, err := s.ListBatches(ctx, filter, domain.BatchPage{Size: batch})
			return err
		})
	}
	f.pruneBatches(t, round)
	f.putOff(t, round)
	f.schedulePlans(t, round)
}

// pruneBatches looks first at batches whose callback still runs, as many as it may and
// no more, and then at those that may go.
func (f *setFill) pruneBatches(t *testing.T, round int) {
	if f.scale == 1 && round > 0 {
		f.x.exec(fmt.Sprintf(overRow, 20*crowd))
		f.x.exec("ANALYZE rowlock_batches")
	}
	f.x.exec("UPDATE rowlock_batches SET ends_at = 1 WHERE callback_job IS NOT NULL")
	f.x.exec("VACUUM rowlock_batches")
	for removed, n := 0, 0; removed < batch; n++ {
		f.x.judge(fmt.Sprint("prune batches, pass ", n), 4*batch, func() error {
			got, err := f.s.PruneBatches(t.Context(), driven.PruneRequest{Limit: batch, Defer: 1000 * time.Hour})
			removed += got.Removed
			if removed != n*batch || !got.More {
				t.Errorf("round %d: pass %d answered %+v", round, n, got)
			}
			return err
		})
		if n > 1 {
			t.Fatalf("round %d: after %d passes %d are removed", round, n, removed)
		}
	}
}

const overRow = "INSERT INTO rowlock_batches (id, tenant, name, callback, created_at, keep, stand, sealed_at, finished_at, ends_at)" +
	" SELECT gen_random_uuid(), '', 'n', '', 1, 1, 2, 1, 1, i FROM generate_series(3, %d) AS i"

// putOff has a prune look at as many members of an unfinished batch as it may, and no
// more, and then at those that may go.
func (f *setFill) putOff(t *testing.T, round int) {
	f.x.exec("UPDATE rowlock_jobs SET wake_at = 1 WHERE batch_id = '" + f.head.String() + "'")
	f.x.exec("VACUUM rowlock_jobs")
	for removed, n := 0, 0; removed < batch; n++ {
		f.x.judge(fmt.Sprint("prune, pass ", n), 6*batch, func() error {
			got, err := f.s.Prune(t.Context(), driven.PruneRequest{Limit: batch, Defer: 1000 * time.Hour})
			if removed += got.Removed; !got.More {
				t.Errorf("pass %d answered %+v", n, got)
			}
			return err
		})
		if n > 100_000/f.scale/10/batch+1 {
			t.Fatalf("round %d: after %d passes %d are removed", round, n, removed)
		}
	}
}

func (f *setFill) schedulePlans(t *testing.T, round int) {
	ctx, s, x := t.Context(), f.s, f.x
	kinds := []string{"own", "none", "neither"}
	var due driven.DueSchedules
	x.judge("due schedules", batch+10, func() (err error) { due, err = s.DueSchedules(ctx, kinds, batch); return err })
	if len(due.All) != batch || due.Next != driven.NoNext {
		t.Fatalf("%d are due, the next in %v", len(due.All), due.Next)
	}
	d := due.All[0]
	tick := domain.Tick{Key: d.ScheduleKey, Rev: d.Rev, From: d.NextAt, To: time.UnixMilli(9e12), Fired: d.NextAt, Jobs: []domain.NewJob{
		{ID: system.IDs().NewJobID(), Kind: "own", Queue: "new", Args: []byte(`{}`)},
	}}
	x.judge("advance", 5, func() error {
		got, err := s.Advance(ctx, tick)
		if !got.Moved {
			t.Error("it is not moved")
		}
		return err
	})
	x.judge("advance again", 3, func() error { _, err := s.Advance(ctx, tick); return err })
	if round > 0 { // without statistics it sorts all of the tenant
		x.judge("list schedules", batch+5, func() error {
			_, err := s.ListSchedules(ctx, "", domain.ScheduleKey{Name: "due"}, batch)
			return err
		})
	}
	app := make([]domain.Schedule, batch)
	for i := range app {
		app[i] = domain.Schedule{
			ScheduleKey: domain.ScheduleKey{Name: fmt.Sprint("app", i+1)}, Timing: domain.Timing{Every: time.Hour},
			Job: domain.Template{Kind: "own", Queue: fmt.Sprint("q", round), Args: []byte(`{}`)},
		}
	}
	x.judge("declare", 8*batch, func() error { return s.DeclareSchedules(ctx, "app", app) })
	x.judge("declare again", 6*batch, func() error { return s.DeclareSchedules(ctx, "app", app) })
}
