package rowlocktest

import (
	"context"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
)

// Open opens an empty queue in memory, closed when the test ends.
func Open(t testing.TB, opts ...rowlock.Option) *rowlock.Queue {
	t.Helper()
	backend, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	if err != nil {
		t.Fatal(err)
	}
	q, err := rowlock.New(backend, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Errorf("close the queue: %v", err)
		}
	})
	return q
}

// Drain runs all that is due of the handled kinds, what the handlers enqueue too, and
// says what became of it. It does not wait for back-offs; see DrainDelayed and Pass.
func Drain(t testing.TB, q *rowlock.Queue, opts ...rowlock.WorkOption) rowlock.Drained {
	t.Helper()
	return drain(t, q, rowlock.DrainOptions{}, opts)
}

// DrainDelayed is Drain that runs also what is due later, now: delayed jobs, and
// retries until their job is done or dead. Due times are changed by it; Pass keeps them.
func DrainDelayed(t testing.TB, q *rowlock.Queue, opts ...rowlock.WorkOption) rowlock.Drained {
	t.Helper()
	return drain(t, q, rowlock.DrainOptions{IncludeDelayed: true}, opts)
}

func drain(t testing.TB, q *rowlock.Queue, o rowlock.DrainOptions, opts []rowlock.WorkOption) rowlock.Drained {
	t.Helper()
	done, err := q.Drain(t.Context(), o, opts...)
	if err != nil {
		t.Fatalf("drain: %v", err)
	}
	return done
}

// The settings of Pass: whoever has the store to himself need not look often, for it
// says when the next job is due.
const (
	passPoll  = time.Hour
	passLease = 4 * passPoll
)

// Pass works for so long, delayed jobs, retries and schedules included. It is meant
// for a bubble of testing/synctest, where time passes at once; elsewhere it takes as
// long as it says.
func Pass(t testing.TB, q *rowlock.Queue, span time.Duration, opts ...rowlock.WorkOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	own := []rowlock.WorkOption{rowlock.Poll(passPoll), rowlock.Lease(passLease), rowlock.Upkeep(passPoll)}
	if err := q.Work(ctx, append(own, opts...)...); err != nil {
		t.Fatalf("work: %v", err)
	}
}

// Work runs one job here and now through a handler, as a queue would: its args are
// written and read, the options of both are checked, and the handler's error or its
// outcome (work.Bury, work.Snooze, ...) is returned. Nothing is stored.
func Work[T work.Args](t testing.TB, fn func(context.Context, work.Job[T]) error, args T, opts ...enqueue.Option) error {
	t.Helper()
	registry := work.NewRegistry()
	if err := work.Handle(registry, fn); err != nil {
		t.Fatal(err)
	}
	client := enqueue.New(enqueue.Config{IDs: system.IDs(), Clock: system.Clock(), Registry: registry})
	return client.Inline(t.Context(), args, opts...)
}
