package runner_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		run   func(ctx context.Context) error
		state domain.State
	}{
		"heeds":        {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, domain.Scheduled},
		"returns nil":  {func(ctx context.Context) error { <-ctx.Done(); return nil }, domain.Scheduled},
		"deaf, nil":    {func(context.Context) error { time.Sleep(20 * time.Second); return nil }, domain.Scheduled},
		"deaf, bury":   {func(context.Context) error { time.Sleep(20 * time.Second); return work.Bury(errors.New("x")) }, domain.Dead},
		"just in time": {func(context.Context) error { time.Sleep(10*time.Second - 1); return nil }, domain.Done},
		"child": {func(ctx context.Context) error {
			c, stop := context.WithCancel(ctx)
			defer stop()
			<-c.Done()
			return c.Err()
		}, domain.Scheduled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("k", func(ctx context.Context, _ driven.Task) error { return c.run(ctx) },
					work.Timeout(10*time.Second), work.Backoff(func(int, error) time.Duration { return time.Hour }))
				r := k.started(lease(time.Minute))
				id := k.put("k", 1)[0]
				time.Sleep(20 * time.Second)
				synctest.Wait()
				k.stop(r)
				j := k.job(id)
				if j.State != c.state || j.Attempts != 1 {
					t.Fatalf("%v, %d attempts, error %q", j.State, j.Attempts, j.Error)
				}
				timedOut := 1
				if c.state == domain.Done {
					timedOut = 0
				}
				if k.count(domain.EventTimedOut) != timedOut {
					t.Fatalf("%d timed out", k.count(domain.EventTimedOut))
				}
			})
		})
	}
}

func TestContextOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		type key struct{}
		var after atomic.Bool
		var leaked context.Context
		k.handle("k", func(ctx context.Context, _ driven.Task) error {
			began := time.Now()
			if at, ok := ctx.Deadline(); !ok || at.Sub(began) != 10*time.Second {
				t.Errorf("deadline in %v, %v", at.Sub(began), ok)
			}
			if ctx.Err() != nil || ctx.Value(key{}) != "host" || ctx.Value("none") != nil {
				t.Errorf("err %v, value %v", ctx.Err(), ctx.Value(key{}))
			}
			context.AfterFunc(ctx, func() { after.Store(true) })
			short, stop := context.WithTimeoutCause(ctx, time.Second, errors.New("short"))
			defer stop()
			<-short.Done()
			if ctx.Err() != nil || context.Cause(short).Error() != "short" {
				t.Errorf("a child's end: %v, %v", ctx.Err(), context.Cause(short))
			}
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(ctx), work.ErrTimeout) {
				t.Errorf("err %v, cause %v", ctx.Err(), context.Cause(ctx))
			}
			if time.Since(began) != 10*time.Second {
				t.Errorf("ended after %v", time.Since(began))
			}
			return nil
		}, work.Timeout(10*time.Second))
		k.handle("quick", func(ctx context.Context, _ driven.Task) error { leaked = ctx; return nil })
		r := k.runner(lease(time.Minute))
		must(t, r.Start(context.WithValue(t.Context(), key{}, "host")))
		synctest.Wait()
		k.put("k", 1)
		k.put("quick", 1)
		time.Sleep(11 * time.Second)
		k.stop(r)
		if !after.Load() {
			t.Error("AfterFunc was not called")
		}
		select {
		case <-leaked.Done():
		default:
			t.Error("the context of an attempt that is over has not ended")
		}
		if !errors.Is(leaked.Err(), context.Canceled) {
			t.Errorf("it says %v", leaked.Err())
		}
	})
}

// A handler that does not heed its timeout is shown as stuck, keeps its worker,
// and has used its attempt one lease later; the retry is not run beside it.
func TestStuckHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var live, runs atomic.Int64
		k.handle("k", func(context.Context, driven.Task) error {
			if live.Add(1) > 1 {
				t.Error("the job runs beside its own stuck attempt")
			}
			defer live.Add(-1)
			if runs.Add(1) == 1 {
				time.Sleep(30 * time.Minute)
			}
			return nil
		}, work.Timeout(10*time.Second))
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		time.Sleep(45 * time.Second)
		if j := k.job(id); j.State != domain.Running || !j.Stuck {
			t.Fatalf("after its timeout: %v, stuck %v", j.State, j.Stuck)
		}
		time.Sleep(35 * time.Second)
		if j := k.job(id); j.State.Terminal() || j.Attempts != 1 || j.Stuck {
			t.Fatalf("one lease later: %v, %d attempts, stuck %v", j.State, j.Attempts, j.Stuck)
		}
		time.Sleep(40 * time.Minute)
		k.stop(r)
		if j := k.job(id); j.State != domain.Done || j.Attempts != 2 || runs.Load() != 2 {
			t.Fatalf("in the end: %v, %d attempts, %d runs", j.State, j.Attempts, runs.Load())
		}
		if k.count(domain.EventTimedOut) != 1 {
			t.Fatalf("%d timed out", k.count(domain.EventTimedOut))
		}
	})
}
