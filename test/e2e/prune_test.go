package e2e

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// Brief is a job whose row may go as soon as it is done.
type Brief struct{}

// Kind names the sort of job.
func (Brief) Kind() string { return "brief" }

// perQueue is how many jobs a queue gets: a count is exact up to 10,000.
const perQueue = 5_000

// finished makes so many jobs that are done and over, in queues of perQueue each.
func finished(t *testing.T, q *rowlock.Queue, n int, opts ...enqueue.Option) (queues []string) {
	t.Helper()
	for left := n; left > 0; left -= perQueue {
		items, queue := make([]enqueue.Item, min(left, perQueue)), fmt.Sprint("q", left)
		for i := range items {
			items[i] = enqueue.Item{Args: Brief{}, Options: append([]enqueue.Option{enqueue.Queue(queue)}, opts...)}
		}
		if _, err := q.EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		queues = append(queues, queue)
	}
	if got, err := q.Drain(t.Context(), rowlock.DrainOptions{Limit: 10 * time.Minute}, rowlock.Concurrency(50), rowlock.NoPrune()); err != nil || got.Completed != n {
		t.Fatalf("done %d of %d, %v", got.Completed, n, err)
	}
	return queues
}

// count counts the jobs of the queues.
func count(t *testing.T, q *rowlock.Queue, queues []string) (sum int) {
	t.Helper()
	for _, queue := range queues {
		n, err := q.Inspect().Count(t.Context(), domain.Filter{Queue: queue})
		if err != nil {
			t.Fatal(err)
		}
		sum += n.N
	}
	return sum
}

// TestPruneThroughAKill: what went before the kill is gone, the rest goes after it, and
// a batch that is not finished keeps its members and has its callback in the end.
func TestPruneThroughAKill(t *testing.T) { onEveryStore(t, testPruneThroughAKill) }

func testPruneThroughAKill(t *testing.T, b *box) {
	rows, members := b.many(2_500), 20
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		rows = 200_000
	}
	bar, q := newBarrier(t), b.queue()
	rowlock.Handle(q, func(context.Context, work.Job[Brief]) error { return nil }, work.Keep(domain.Retention{Done: time.Millisecond}))
	rowlock.Handle(q, func(context.Context, work.Job[Callback]) error { return nil }) // here it is only known
	id, err := q.Batches().Create(t.Context(), batches.Options{Callback: Callback{}})
	if err != nil {
		t.Fatal(err)
	}
	kept := finished(t, q, members, enqueue.Batch(id))
	over := finished(t, q, rows)
	victim := b.with(pruneVar+"=1").hire(&gauge{addr: bar.addr}, 1, longLease)
	eventually(t, "some are removed", func() bool { return count(t, q, over) < rows })
	victim.signal(syscall.SIGKILL)
	victim.exit()
	if n := count(t, q, over); n == 0 || n == rows {
		t.Errorf("%d of %d rows are left in the middle", n, rows)
	}
	other := b.with(pruneVar+"=1").hire(&gauge{addr: bar.addr}, 1, longLease)
	eventually(t, "all others are removed", func() bool { return count(t, q, over) == 0 })
	if n := count(t, q, kept); n != members {
		t.Errorf("%d of %d members of a batch that is not finished are left", n, members)
	}
	sealed, err := q.Batches().Seal(t.Context(), id)
	if err != nil || sealed.Total != int64(members) {
		t.Fatalf("sealed %+v, %v", sealed, err)
	}
	eventually(t, "the callback ran", func() bool { return len(bar.callbacks(id)) == 1 })
	if got := bar.callbacks(id)[0].Report; got.Total != int64(members) || got.Done != int64(members) || !got.Succeeded {
		t.Errorf("the callback saw %+v", got)
	}
	eventually(t, "its members are removed", func() bool { return count(t, q, kept) == 0 })
	other.stop()
}
