package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

// listenPoll is so long that a job which starts soon was heard of.
const listenPoll = 4 * time.Second

// TestSilentListener: a listener that hears nothing any more, for its connection died
// without a word, costs a few polls and is found by asking. One whose session is ended is
// in TestWakeUpsAcrossProcesses.
func TestSilentListener(t *testing.T) {
	t.Parallel()
	dsn := servers.Postgres(t)
	way, through := storekit.Through(t, dsn)
	client, err := rowlock.Open(t.Context(), dsn, rowlock.Migrate())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	worker, err := rowlock.Open(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	began := make(chan struct{}, 100)
	rowlock.Handle(worker, func(context.Context, work.Job[Toil]) error { began <- struct{}{}; return nil })
	ctx, end := context.WithCancel(t.Context())
	var works sync.WaitGroup
	works.Go(func() {
		if err := worker.Work(ctx, rowlock.Poll(listenPoll)); err != nil {
			t.Error(err)
		}
	})
	defer works.Wait()
	defer end()
	delay := func() time.Duration {
		at := time.Now()
		if _, _, err := client.Enqueue(t.Context(), Toil{}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-began:
		case <-time.After(patience):
			t.Fatal("a job does not start")
		}
		return time.Since(at)
	}
	heard := func() bool { return delay() < listenPoll/4 }
	eventually(t, "the listener hears", heard)
	way.Set(faults.Swallowing) // found by asking, after a while
	way.Set(faults.Fair)
	if late := delay(); late > 3*listenPoll {
		t.Errorf("every connection died without a word: a job started after %v", late)
	}
	eventually(t, "another listener hears", heard)
}
