package rowlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// moody works well or badly, by its number.
type moody struct{ N int }

func (moody) Kind() string { return "moody" }

func (m moody) work(ctx context.Context) error {
	switch m.N % 6 {
	case 0:
		panic("no")
	case 1:
		runtime.Goexit()
	case 2:
		return work.RetryAfter(time.Millisecond, errors.New("again"))
	case 3:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// Workers that come and go, drains beside them, operators and enqueues, and a
// Close in the middle of it all: every job that was enqueued is there afterwards,
// in one state, and nobody is left who works.
func TestCloseInTheMiddleOfEverything(t *testing.T) {
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "q.db")
	q := open(t, dsn, rowlock.Migrate(), rowlock.Synchronous("NORMAL"))
	var ran, added atomic.Int64
	rowlock.Handle(q, func(ctx context.Context, j work.Job[moody]) error {
		ran.Add(1)
		return j.Args.work(ctx)
	}, work.Timeout(30*time.Millisecond), work.Backoff(func(int, error) time.Duration { return time.Millisecond }))
	crowd := crowd{t: t, closed: make(chan struct{})}
	for range 2 {
		crowd.again("work", func(ctx context.Context) error {
			some, stop := context.WithTimeout(ctx, time.Duration(rand.IntN(60))*time.Millisecond)
			defer stop()
			return q.Work(some, rowlock.Concurrency(1+rand.IntN(8)), rowlock.Lease(time.Second), rowlock.StopTimeout(time.Duration(rand.IntN(100))*time.Millisecond))
		})
	}
	crowd.again("drain", func(ctx context.Context) error {
		_, err := q.Drain(ctx, rowlock.DrainOptions{Limit: 30 * time.Millisecond}, rowlock.Lease(time.Second))
		return err
	})
	crowd.again("operate", func(ctx context.Context) error {
		_, err := q.Operate().RetryAll(ctx, driving.Bulk{}, domain.Due{})
		return err
	})
	crowd.again("enqueue", func(ctx context.Context) error {
		_, _, err := q.Enqueue(ctx, moody{int(added.Load())})
		if err == nil {
			added.Add(1)
		}
		return err
	})
	eventually(t, func() bool { return ran.Load() > 200 })
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	close(crowd.closed)
	crowd.wait.Wait()
	stats, err := open(t, dsn).Inspect().Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := stats.Totals()
	if all := sum.Pending() + sum.Running + sum.Done + sum.Dead + sum.Cancelled; all != added.Load() || len(stats.Runners) > 0 {
		t.Errorf("%d jobs were enqueued, there are %+v and the runners %v", added.Load(), sum, stats.Runners)
	}
}

// crowd is people who do one thing again and again until the queue is closed.
type crowd struct {
	t      *testing.T
	closed chan struct{}
	wait   sync.WaitGroup
}

func (c *crowd) again(what string, do func(context.Context) error) {
	fair := []domain.Code{"", domain.Canceled, domain.Conflict, domain.Unavailable}
	c.wait.Go(func() {
		for {
			select {
			case <-c.closed:
				return
			default:
			}
			if err := do(c.t.Context()); !slices.Contains(fair, domain.CodeOf(err)) {
				c.t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for end := time.After(20 * time.Second); !done(); {
		select {
		case <-ticker.C:
		case <-end:
			t.Fatal("waited too long")
		}
	}
}
