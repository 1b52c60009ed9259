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
)

// listenPoll is so long that a job which starts soon was heard of.
const listenPoll = 4 * time.Second

// TestListener: hints reach a runner of another process. A listener that is killed, or
// that hears nothing any more, costs one poll and is soon there again.
func TestListener(t *testing.T) {
	t.Parallel()
	dsn := servers.Postgres(t)
	way, through := throughProxy(t, dsn)
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
	servers.Exec(t, dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query ~ '^(LISTEN|-- ping)'")
	if late := delay(); late > 2*listenPoll {
		t.Errorf("the listener was killed: a job started after %v", late)
	}
	eventually(t, "another listener hears", heard)
	if !stress() {
		return
	}
	way.Set(faults.Swallowing) // found by asking, after a while
	way.Set(faults.Fair)
	if late := delay(); late > 3*listenPoll {
		t.Errorf("every connection died without a word: a job started after %v", late)
	}
	eventually(t, "a third listener hears", heard)
}
