package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/domain"
)

// TestBatchesThroughKills: a process is killed while its members run. They run again
// elsewhere, and the callback waits for them.
func TestBatchesThroughKills(t *testing.T) { onEveryStore(t, testBatchesThroughKills) }

func testBatchesThroughKills(t *testing.T, b *box) {
	const members, lease = 30, 2 * time.Second
	for range rounds() {
		bar, q := newBarrier(t), b.queue()
		host := b.with(noPrefetchVar + "=1")
		crew := host.crew(&gauge{addr: bar.addr}, 2, 1, lease)
		items := make([]enqueue.Item, members)
		for i := range items {
			items[i].Args = Member{}
		}
		made, err := q.Batch(t.Context(), batches.Options{Callback: Callback{}}, batches.Of(items...))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "all members run", func() bool { return bar.waiting() == members })
		crew[0].signal(syscall.SIGKILL)
		<-crew[0].ended
		bar.open()
		crew[0] = host.hire(&gauge{addr: bar.addr}, 1, lease)
		eventually(t, "the callback ran", func() bool {
			bar.open()
			return len(bar.callbacks(made.ID)) > 0
		})
		want := told{Report: domain.BatchReport{ID: made.ID, Total: members, Done: members, Succeeded: true}}
		if got := bar.callbacks(made.ID)[0]; got != want {
			t.Errorf("the callback saw %+v, want %+v", got, want)
		}
		dismiss(crew)
		stalled := 0
		jobs, err := q.Inspect().List(t.Context(), domain.Filter{Batch: made.ID}, domain.Page{Size: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			if notes, err := j.History.Notes(); err == nil && len(notes) > 0 {
				stalled++
			}
		}
		if n := len(bar.callbacks(made.ID)); n != 1 || len(jobs) != members || stalled == 0 {
			t.Errorf("%d callbacks, %d members, %d of them of the killed process", n, len(jobs), stalled)
		}
	}
}
