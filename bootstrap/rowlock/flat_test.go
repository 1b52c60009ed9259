package rowlock_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// stress says that the long form of a test is wanted.
func stress() bool { return os.Getenv("ROWLOCK_STRESS") == "1" }

// size is what the process holds.
type size struct {
	heap       uint64
	goroutines int
}

func (s size) String() string {
	return fmt.Sprintf("%d KiB in use, %d goroutines", s.heap>>10, s.goroutines)
}

// measure looks at what is left when all garbage is gone: the least of a few looks, since
// timers and idle connections come and go.
func measure() size {
	least := size{heap: 1 << 60, goroutines: 1 << 30}
	for range 5 {
		runtime.GC()
		runtime.GC() // what pools kept goes with the second one
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least.heap, least.goroutines = min(least.heap, m.HeapAlloc), min(least.goroutines, runtime.NumGoroutine())
		<-time.After(20 * time.Millisecond)
	}
	return least
}

// ended has as many goroutines end as the runtime keeps the remains of, 64 for each
// processor: those that come with calls under a deadline would else add to them little by
// little, on eight processors 150 KiB within 250,000 jobs.
func ended() {
	var all sync.WaitGroup
	end := make(chan struct{})
	for range 64 * runtime.GOMAXPROCS(0) {
		all.Go(func() { <-end })
	}
	close(end)
	all.Wait()
}

// flat fails when more is held than before, by more than five in a hundred: 16 bytes a job
// are, in the short form too.
func (s size) flat(t *testing.T, was size) {
	t.Helper()
	t.Logf("at first %v, at last %v", was, s)
	if s.heap > was.heap+was.heap/20 {
		t.Errorf("the heap grew from %d to %d bytes", was.heap, s.heap)
	}
	if s.goroutines > was.goroutines {
		t.Errorf("goroutines grew from %d to %d", was.goroutines, s.goroutines)
	}
}

// What a process holds depends on its settings, not on how many jobs it has done. The
// store is a file: one in memory holds the room of the most rows that it ever had. The
// library of the database has no part in it: its statements are prepared within the first
// jobs, and the pages that SQLite caches, up to 2,000 KiB for each connection, are not on
// Go's heap.
func TestMemoryIsFlatOverManyJobs(t *testing.T) {
	first, last := int64(10_000), int64(20_000)
	if stress() {
		last = 1_000_000
	}
	q := open(t, stores(t)["sqlite"], rowlock.Migrate(), rowlock.Synchronous("NORMAL"), rowlock.Retention(domain.Retention{Done: time.Millisecond}))
	var ran atomic.Int64
	rowlock.Handle(q, func(context.Context, work.Job[welcome]) error { ran.Add(1); return nil })
	stop := background(t, q, rowlock.Concurrency(50), rowlock.PruneEvery(time.Second))
	items := make([]enqueue.Item, 500)
	for i := range items {
		items[i] = enqueue.Item{Args: welcome{int64(i)}}
	}
	ended()
	began, added := time.Now(), int64(0) //nolint:forbidigo // shown, not judged
	runTo := func(n int64) size {
		for ; added < n; added += int64(len(items)) {
			if _, err := q.EnqueueMany(t.Context(), items); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { return added-ran.Load() < 2_000 })
		}
		eventually(t, func() bool { return ran.Load() == n && removed(t, q) })
		return measure()
	}
	was := runTo(first)
	runTo(last).flat(t, was)
	t.Logf("%d jobs in %v", last, time.Since(began))
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// removed prunes and says whether nothing is left.
func removed(t *testing.T, q *rowlock.Queue) bool {
	t.Helper()
	if _, err := q.Prune(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	left, err := q.Inspect().Count(t.Context(), domain.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return left.N == 0
}

// Nor on how often work was begun and ended on a queue.
func TestMemoryIsFlatOverManyRestarts(t *testing.T) {
	restarts := 10
	if stress() {
		restarts = 100
	}
	for name, dsn := range stores(t) {
		t.Run(name, func(t *testing.T) {
			q := open(t, dsn, rowlock.Migrate(), rowlock.Retention(domain.Retention{Done: time.Millisecond}))
			ran := make(chan struct{})
			rowlock.Handle(q, func(context.Context, work.Job[welcome]) error { ran <- struct{}{}; return nil })
			again := func(n int) size {
				for range n {
					if _, _, err := q.Enqueue(t.Context(), welcome{1}); err != nil {
						t.Fatal(err)
					}
					stop := background(t, q, rowlock.Concurrency(20))
					within(t, ran, "the job")
					if err := stop(); err != nil {
						t.Fatal(err)
					}
				}
				eventually(t, func() bool { return removed(t, q) })
				return measure()
			}
			ended()
			was := again(5)
			again(restarts).flat(t, was)
			stats, err := q.Inspect().Stats(t.Context())
			if err != nil || len(stats.Runners) != 0 {
				t.Errorf("%d runners are listed when all have stopped (%v)", len(stats.Runners), err)
			}
		})
	}
}
