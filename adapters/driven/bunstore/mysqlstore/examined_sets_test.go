package mysqlstore

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestExaminedSets is TestExamined for batches and schedules: beside a batch that
// waits for the last of very many members and one whose members are all over, many
// batches that are open, sealed or finished, many schedules that are due of a kind
// that nobody here handles or idle, and very many members at the head of what is to
// be pruned.
func TestExaminedSets(t *testing.T) {
	scale := 10
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		scale = 1
	}
	onEach(t, func(t *testing.T, dsn string) {
		s, e, _ := installed(t, dsn)
		x := &setExaminer{examiner: &examiner{T: t, s: s, db: e.db}, many: 100_000 / scale}
		e.db.SetMaxOpenConns(1) // whose counters are read
		x.fillSets()
		x.examineSets(0)
		x.exec("ANALYZE TABLE rowlock_jobs, rowlock_batches, rowlock_schedules")
		x.examineSets(1)
	})
}

type setExaminer struct {
	*examiner
	many  int
	over  [2]domain.BatchID // all members are over; one for each round
	waits domain.BatchID
	head  domain.BatchID
	last  int
}

const numbers = " FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS i FROM d AS a, d AS b, d AS c, d AS d, d AS e) AS x WHERE x.i < %d"

func (x *setExaminer) members(id domain.BatchID, state domain.State, wake string, n int) {
	x.Helper()
	x.exec(fmt.Sprintf("INSERT INTO rowlock_jobs (id, state, queue, kind, priority, run_at, due_at, wake_at, created_at, args, batch_id)"+
		" SELECT UNHEX(LPAD(HEX(x.i + %d), 32, '0')), %d, 'q', 'member', 0, x.i, x.i, %s, 1, '{}', UNHEX('%x')"+numbers, x.last, state, wake, id[:], n))
	x.last += n
}

func (x *setExaminer) sealed() domain.BatchID {
	x.Helper()
	n := domain.NewBatch{ID: system.IDs().NewBatchID()}
	if err := x.s.CreateBatch(x.Context(), n); err != nil {
		x.Fatal(err)
	}
	x.exec(fmt.Sprintf("UPDATE rowlock_batches SET stand = 1, sealed_at = 1, total = 1 WHERE id = UNHEX('%x')", n.ID[:]))
	return n.ID
}

func (x *setExaminer) fillSets() {
	x.Helper()
	x.exec("CREATE TABLE d (n INT PRIMARY KEY)")
	x.exec("INSERT INTO d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
	for i := range x.over {
		x.over[i] = x.sealed()
		x.members(x.over[i], domain.Done, "9000000000000", x.many)
	}
	x.waits, x.head = x.sealed(), x.sealed()
	x.members(x.waits, domain.Done, "9000000000000", x.many)
	x.members(x.waits, domain.Ready, "0", 1)
	x.members(x.head, domain.Done, "1", x.many/10)
	x.members(domain.BatchID{1}, domain.Done, "2", 2*batch) // of no batch that is there
	x.members(domain.BatchID{2}, domain.Running, "9000000000000", x.many)
	x.exec(fmt.Sprintf("INSERT INTO rowlock_batches (id, tenant, name, callback, created_at, keep, stand, sealed_at, finished_at, ends_at, callback_job)"+
		" SELECT UNHEX(CONCAT('e', LPAD(HEX(x.i), 31, '0'))), IF(x.i %% 2 = 0, 't', ''), 'n', '', 1, 1, x.i %% 3, x.i %% 3, x.i %% 3 DIV 2, x.i %% 3 DIV 2 * IF(x.i < 600, 2, 9000000000000),"+
		" IF(x.i %% 3 = 2 AND x.i BETWEEN 600 AND 899, UNHEX(LPAD(HEX(x.i + %d), 32, '0')), NULL)"+numbers, x.last-x.many, x.many/10)) // a callback is one that runs
	const row = "INSERT INTO rowlock_schedules (tenant, name, namespace, kind, cron, zone, every, missed, most, job, idle, paused, next_at, created_at, updated_at)" +
		" SELECT '', CONCAT('%[1]s', x.i), '%[1]s', '%[2]s', '', '', 60000, 0, 0, '{\"kind\":\"%[2]s\",\"queue\":\"q\",\"args\":{}}', %[3]d, %[3]d, %[4]s, 1, 1"
	x.exec(fmt.Sprintf(row, "foreign", "foreign", 0, "x.i") + fmt.Sprintf(numbers, x.many/10))
	x.exec(fmt.Sprintf(row, "idle", "own", 1, "x.i") + fmt.Sprintf(numbers, x.many/10))
	x.exec(fmt.Sprintf(row, "later", "own", 0, "9000000000000 + x.i") + fmt.Sprintf(numbers, x.many/10))
	x.exec(fmt.Sprintf(row, "due", "own", 0, "x.i + 1") + fmt.Sprintf(numbers, 3*batch))
	x.exec(fmt.Sprintf(row, "app", "own", 0, "9000000000000 + x.i") + fmt.Sprintf(numbers, batch))
}

// examineSets makes every call for batches once.
func (x *setExaminer) examineSets(round int) {
	ctx, s := x.Context(), x.s
	finish := func(id domain.BatchID, want int) func() error {
		return func() error {
			got, err := s.FinishBatches(ctx, []domain.BatchID{id})
			if len(got) != want {
				x.Errorf("finished %+v", got)
			}
			return err
		}
	}
	x.judge("finish, not yet", 10, finish(x.waits, 0))
	x.judge("finish", x.many+60, finish(x.over[round], 1))
	x.judge("finish again", 10, finish(x.over[round], 0))
	fresh := domain.NewBatch{ID: system.IDs().NewBatchID()}
	x.judge("create", 10, func() error { return s.CreateBatch(ctx, fresh) })
	in := make([]domain.NewJob, batch)
	for i := range in {
		in[i] = domain.NewJob{ID: system.IDs().NewJobID(), Kind: "member", Queue: "new", Args: []byte(`{}`), Batch: fresh.ID}
	}
	x.judge("insert members", 6*batch, func() error { _, err := s.Insert(ctx, in); return err })
	x.judge("get a batch", 4*batch, func() error { _, err := s.Batch(ctx, fresh.ID, ""); return err })
	x.judge("seal", 4*batch, func() error { _, err := s.SealBatch(ctx, fresh.ID, ""); return err })
	x.judge("open batches", 2*batch, func() error { _, err := s.OpenBatches(ctx, domain.BatchID{}, batch); return err })
	for _, filter := range []domain.BatchFilter{{}, {Tenant: "t"}, {State: domain.BatchSealed}} {
		x.judge(fmt.Sprint("list of batches ", filter), 5*batch, func() error {
			_, err := s.ListBatches(ctx, filter, domain.BatchPage{Size: batch})
			return err
		})
	}
	x.pruneBatches(round)
	x.putOff(round)
	x.examineSchedules(round)
}

// pruneBatches looks first at batches whose callback still runs, as many as it may and
// no more, and then at those that may go.
func (x *setExaminer) pruneBatches(round int) {
	x.Helper()
	x.exec("UPDATE rowlock_batches SET ends_at = 1 WHERE callback_job IS NOT NULL")
	for removed, n := 0, 0; removed < batch; n++ {
		x.judge(fmt.Sprint("prune batches, pass ", n), 10*batch, func() error {
			got, err := x.s.PruneBatches(x.Context(), driven.PruneRequest{Limit: batch, Defer: 1000 * time.Hour})
			removed += got.Removed
			if want := n * batch; removed != want || !got.More {
				x.Errorf("round %d: pass %d answered %+v", round, n, got)
			}
			return err
		})
		if n > 1 {
			x.Fatalf("round %d: after %d passes %d are removed", round, n, removed)
		}
	}
}

// putOff has a prune look at as many members of an unfinished batch as it may, and no
// more, and then at those that may go.
func (x *setExaminer) putOff(round int) {
	x.Helper()
	x.exec(fmt.Sprintf("UPDATE rowlock_jobs SET wake_at = 1 WHERE batch_id = UNHEX('%x')", x.head[:]))
	for removed, n := 0, 0; removed < batch; n++ {
		x.judge(fmt.Sprint("prune, pass ", n), 16*batch, func() error {
			got, err := x.s.Prune(x.Context(), driven.PruneRequest{Limit: batch, Defer: 1000 * time.Hour})
			if removed += got.Removed; !got.More {
				x.Errorf("pass %d answered %+v", n, got)
			}
			return err
		})
		if n > x.many/10/batch+1 {
			x.Fatalf("round %d: after %d passes %d are removed", round, n, removed)
		}
	}
}

func (x *setExaminer) examineSchedules(round int) {
	x.Helper()
	ctx, s := x.Context(), x.s
	var due driven.DueSchedules
	x.judge("due schedules", 4*batch, func() (err error) {
		due, err = s.DueSchedules(ctx, []string{"own", "none", "neither"}, batch)
		return err
	})
	if len(due.All) != batch || due.Next != driven.NoNext {
		x.Fatalf("%d are due, the next in %v", len(due.All), due.Next)
	}
	d := due.All[0]
	tick := domain.Tick{Key: d.ScheduleKey, Rev: d.Rev, From: d.NextAt, To: time.UnixMilli(9e12), Fired: d.NextAt, Jobs: []domain.NewJob{
		{ID: system.IDs().NewJobID(), Kind: "own", Queue: "new", Args: []byte(`{}`)},
	}}
	x.judge("advance", 40, func() error { _, err := s.Advance(ctx, tick); return err })
	x.judge("advance again", 10, func() error { _, err := s.Advance(ctx, tick); return err })
	x.judge("list of schedules", 3*batch, func() error {
		_, err := s.ListSchedules(ctx, "", domain.ScheduleKey{Name: "due"}, batch)
		return err
	})
	app := make([]domain.Schedule, batch)
	for i := range app {
		app[i] = domain.Schedule{
			ScheduleKey: domain.ScheduleKey{Name: fmt.Sprint("app", i)}, Timing: domain.Timing{Every: time.Hour},
			Job: domain.Template{Kind: "own", Queue: fmt.Sprint("q", round), Args: []byte(`{}`)},
		}
	}
	x.judge("declare schedules", 24*batch, func() error { return s.DeclareSchedules(ctx, "app", app) })
	x.judge("declare schedules again", 8*batch, func() error { return s.DeclareSchedules(ctx, "app", app) })
}
