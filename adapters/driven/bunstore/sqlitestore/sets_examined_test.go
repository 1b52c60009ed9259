package sqlitestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestSetsExamined has each call of batches and schedules look at the same few pages
// beside a batch that waits for the last of 100,001 members, 10,000 other batches,
// 10,000 schedules that are due of another kind and 10,000 that are idle, and 10,000
// members of an unfinished batch at the head of what is to be pruned.
func TestSetsExamined(t *testing.T) {
	empty, full := newBench(t), newBench(t)
	full.crowdSets(100_000)
	small, large := empty.measureSets(1), full.measureSets(100_000)
	for call, pages := range small {
		t.Logf("%-16s %6d pages in a small table, %6d in a full one", call, pages, large[call])
		if limit := 6*pages + 1000; large[call] > limit { // deeper trees, for each of 100 rows, and no more
			t.Errorf("%s examines %d pages in a full table, %d in a small one", call, large[call], pages)
		}
	}
	full.putOff(10_000)
}

// batch is an open one, or one that is sealed.
func (n *bench) batch(sealed bool) domain.BatchID {
	n.Helper()
	id := domain.BatchID(n.id())
	if err := n.b.Store.CreateBatch(n.Context(), domain.NewBatch{ID: id}); err != nil {
		n.Fatal(err)
	}
	if sealed {
		n.exec("UPDATE rowlock_batches SET stand = 1, sealed_at = 1 WHERE id = ?", id[:])
	}
	return id
}

// crowdSets makes the rows that concern nobody.
func (n *bench) crowdSets(many int) {
	n.Helper()
	n.exec("CREATE TEMP TABLE many AS WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?)"+
		" SELECT i, CAST(printf('%016d', i) AS BLOB) AS id FROM c", many)
	head := n.batch(true)
	n.exec("INSERT INTO rowlock_jobs (queue, priority, run_at, due_at, wake_at, created_at, args, state, id, kind, batch_id)"+
		" SELECT 'q', 0, i, i, i, i, '{}', 4, id, 'member', ? FROM many WHERE i <= ?", head[:], many/10)
	n.exec("INSERT INTO rowlock_batches (id, tenant, name, callback, created_at, keep, stand, sealed_at, finished_at, ends_at)"+
		" SELECT id, iif(i % 2, 't', ''), 'n', '', 1, 1, i % 3, i % 3, i % 3 / 2, i % 3 / 2 * 9000000000000 FROM many WHERE i <= ?", many/10)
	const row = "INSERT INTO rowlock_schedules (tenant, name, namespace, kind, cron, zone, every, missed, most, job, idle, next_at, created_at, updated_at)" +
		" SELECT '', ?1 || i, ?1, ?2, '', '', 60000, 0, 0, '{}', ?3, i, 1, 1 FROM many WHERE i <= ?4"
	n.exec(row, "foreign", "foreign", 0, many/10)
	n.exec(row, "idle", "own", 1, many/10)
}

// measureSets counts the pages of each call, beside a batch of so many members.
func (n *bench) measureSets(many int) map[string]int {
	n.Helper()
	ctx, store, pages := n.Context(), n.b.Store, map[string]int{}
	waits, fresh := n.batch(false), n.batch(false)
	n.exec("WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?)"+
		" INSERT INTO rowlock_jobs (queue, priority, run_at, due_at, wake_at, created_at, args, state, id, kind, batch_id)"+
		" SELECT 'q', 0, i, i, 9000000000000, i, '{}', 4, CAST(printf('m%015d', i) AS BLOB), 'member', ? FROM c", many, waits[:])
	in := func(id domain.BatchID) func(*domain.NewJob) { return func(j *domain.NewJob) { j.Batch = id } }
	n.add(1, "last", in(waits))
	n.exec("UPDATE rowlock_batches SET stand = 1, sealed_at = 1 WHERE id = ?", waits[:])
	finish := func(id domain.BatchID, want int) func() error {
		return func() error {
			got, err := store.FinishBatches(ctx, []domain.BatchID{id})
			return expect(want)(len(got), err)
		}
	}
	pages["finish not yet"] = n.pages(finish(waits, 0))
	pages["insert members"] = n.pages(func() error { n.add(100, "fresh", in(fresh)); return nil })
	pages["seal"] = n.pages(func() error { _, err := store.SealBatch(ctx, fresh, ""); return err })
	n.exec("UPDATE rowlock_jobs SET state = 6 WHERE kind = 'fresh'")
	pages["finish"] = n.pages(finish(fresh, 1))
	pages["open batches"] = n.pages(func() error { _, err := store.OpenBatches(ctx, domain.BatchID{}, 10); return err })
	for _, f := range []domain.BatchFilter{{}, {Tenant: "t"}, {State: domain.BatchSealed}} {
		pages[fmt.Sprint("list ", f)] = n.pages(func() error { _, err := store.ListBatches(ctx, f, domain.BatchPage{Size: 10}); return err })
	}
	n.exec("UPDATE rowlock_batches SET ends_at = 1 WHERE id = ?", fresh[:])
	n.exec("UPDATE rowlock_batches SET callback_job = (SELECT id FROM rowlock_jobs WHERE kind = 'last'), ends_at = 1 WHERE id = ?", waits[:])
	pages["prune batches"] = n.pages(func() error { // looks at two and keeps one
		got, err := store.PruneBatches(ctx, driven.PruneRequest{Limit: 10, Defer: time.Hour})
		return expect(1)(got.Removed, err)
	})
	n.measureSchedules(pages)
	return pages
}

func (n *bench) measureSchedules(pages map[string]int) {
	n.Helper()
	ctx, store := n.Context(), n.b.Store
	app := make([]domain.Schedule, 100)
	for i := range app {
		app[i] = domain.Schedule{
			ScheduleKey: domain.ScheduleKey{Name: fmt.Sprint("app", i)}, Timing: domain.Timing{Every: time.Hour},
			Job: domain.Template{Kind: "own", Queue: "q", Args: []byte(`{}`)},
		}
	}
	pages["declare"] = n.pages(func() error { return store.DeclareSchedules(ctx, "app", app) })
	pages["declare again"] = n.pages(func() error { return store.DeclareSchedules(ctx, "app", app) })
	var due driven.DueSchedules
	pages["due"] = n.pages(func() (err error) { due, err = store.DueSchedules(ctx, []string{"own", "none"}, 50); return err })
	if len(due.All) != 50 {
		n.Fatalf("%d are due", len(due.All))
	}
	d := due.All[0]
	tick := domain.Tick{Key: d.ScheduleKey, Rev: d.Rev, To: due.Now, Fired: due.Now, Jobs: []domain.NewJob{{ID: n.id(), Kind: "k", Queue: "q", Args: []byte(`{}`)}}}
	pages["advance"] = n.pages(func() error {
		got, err := store.Advance(ctx, tick)
		return expect(1)(len(got.Jobs), err)
	})
	pages["list schedules"] = n.pages(func() error {
		_, err := store.ListSchedules(ctx, "", domain.ScheduleKey{Name: "app"}, 10)
		return err
	})
}

// putOff has each pass of a prune look at so many rows as it may, at first only at
// members of an unfinished batch, and then at those that may go.
func (n *bench) putOff(members int) {
	n.Helper()
	n.exec("UPDATE rowlock_jobs SET wake_at = 10000000 WHERE kind = 'fresh'") // behind them, and over
	for pass, removed := 0, 0; removed < 100; pass++ {
		pages := n.pages(func() error {
			got, err := n.b.Store.Prune(n.Context(), driven.PruneRequest{Limit: 100, Defer: time.Hour})
			removed += got.Removed
			return err
		})
		if pages > 10_000 || pass > members/100+2 {
			n.Fatalf("pass %d of a prune examined %d pages, %d are removed", pass, pages, removed)
		}
	}
}
