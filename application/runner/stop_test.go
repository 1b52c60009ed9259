package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// stopIn stops within a time and says how long it took.
func (k *kit) stopIn(r *runner.Runner, limit time.Duration) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.t.Context()), limit)
	defer cancel()
	began := time.Now()
	err = r.Stop(ctx)
	return time.Since(began), err
}

func TestCancelledStartContextLosesNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		ctx, cancel := context.WithCancel(t.Context())
		k.handle("k", func(ctx context.Context, _ driven.Task) error { time.Sleep(time.Second); return ctx.Err() })
		r := k.runner(runner.Config{Concurrency: 50})
		must(t, r.Start(ctx))
		synctest.Wait()
		ids := k.put("k", 50)
		time.Sleep(time.Second) // all are finishing now
		cancel()
		time.Sleep(time.Second)
		k.wantState(domain.Done, ids...)
		more := k.put("k", 1)
		time.Sleep(2 * time.Second)
		k.wantState(domain.Done, more...)
		k.stop(r)
		if k.count(domain.EventCompleted) != 51 {
			t.Fatalf("%d completed", k.count(domain.EventCompleted))
		}
	})
}

func TestStopWaitsForHandlersAndGivesTheRestBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var runs atomic.Int64
		long := new(atomic.Bool)
		k.handle("k", func(ctx context.Context, _ driven.Task) error {
			runs.Add(1)
			if long.Load() {
				time.Sleep(5 * time.Minute) // the lease is one: it is renewed while the runner stops
			}
			return ctx.Err()
		})
		r := k.started(runner.Config{Queues: runner.Queues{"default": 2}})
		warm := k.put("k", 50) // short runs, so that the lane prefetches
		synctest.Wait()
		long.Store(true)
		ids := k.put("k", 10)
		synctest.Wait()
		claimed := 0
		for _, id := range ids {
			if k.job(id).State == domain.Running {
				claimed++
			}
		}
		if claimed != 6 {
			t.Fatalf("%d are claimed, want 2 running and 4 prefetched", claimed)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			k.stop(r)
		}()
		synctest.Wait()
		ready := 0
		for _, id := range ids {
			if j := k.job(id); j.State == domain.Ready && j.Attempts == 0 {
				ready++
			}
		}
		if ready != 8 || k.count(domain.EventReleased) != 4 {
			t.Fatalf("%d ready, %d released at once", ready, k.count(domain.EventReleased))
		}
		<-ended
		if took := k.since(); took != 5*time.Minute {
			t.Fatalf("stop took %v", took)
		}
		k.wantState(domain.Done, warm...)
		if runs.Load() != 52 || k.count(domain.EventCompleted) != 52 || k.count(domain.EventLeaseLost) != 0 {
			t.Fatalf("%d runs, %d completed, %d leases lost", runs.Load(), k.count(domain.EventCompleted), k.count(domain.EventLeaseLost))
		}
	})
}

func TestStopAtItsDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		run      func(ctx context.Context) error
		state    domain.State
		attempts int
		code     domain.Code
	}{
		"heeds":    {func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("gave up: %w", ctx.Err()) }, domain.Ready, 0, ""},
		"cause":    {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, domain.Ready, 0, ""},
		"finishes": {func(ctx context.Context) error { <-ctx.Done(); return nil }, domain.Done, 1, ""},
		"fails":    {func(ctx context.Context) error { <-ctx.Done(); return errors.New("disk full") }, domain.Scheduled, 1, ""},
		"buries":   {func(ctx context.Context) error { <-ctx.Done(); return work.Bury(errors.New("x")) }, domain.Dead, 1, ""},
		"deaf":     {func(context.Context) error { time.Sleep(time.Hour); return nil }, domain.Running, 0, domain.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var cause error
				k.handle("k", func(ctx context.Context, _ driven.Task) error {
					err := c.run(ctx)
					cause = context.Cause(ctx)
					return err
				})
				cfg := lease(time.Minute)
				cfg.Unfinished = runner.Abandon
				r := k.started(cfg)
				id := k.put("k", 1)[0]
				synctest.Wait()
				took, err := k.stopIn(r, 10*time.Second)
				if domain.CodeOf(err) != c.code || took > 10*time.Second || took < 9*time.Second {
					t.Fatalf("stop took %v: %v", took, err)
				}
				if j := k.job(id); j.State != c.state || j.Attempts != c.attempts {
					t.Fatalf("%v, %d attempts", j.State, j.Attempts)
				}
				if c.code == domain.Canceled {
					time.Sleep(2 * time.Hour) // let the deaf one end
					k.wantState(domain.Running, id)
				} else if !errors.Is(cause, work.ErrShutdown) {
					t.Fatalf("cause %v", cause)
				}
			})
		})
	}
}

// A handler that is past its timeout when the deadline comes has used its attempt.
func TestStuckAtStopHasUsedItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { time.Sleep(time.Hour); return nil }, work.Timeout(time.Second))
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		time.Sleep(2 * time.Second)
		_, err := k.stopIn(r, 10*time.Second)
		wantCode(t, err, domain.Canceled)
		if j := k.job(id); j.State != domain.Scheduled || j.Attempts != 1 {
			t.Fatalf("%v, %d attempts", j.State, j.Attempts)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestStopThatIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(ctx context.Context, _ driven.Task) error { <-ctx.Done(); return ctx.Err() })
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		must(t, r.Stop(ctx))
		k.wantState(domain.Ready, id)
		must(t, r.Stop(ctx)) // it is over: no deadline matters
	})
}

func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		fresh := k.runner(runner.Config{})
		must(t, fresh.Stop(t.Context()))
		wantCode(t, fresh.Start(t.Context()), domain.Conflict)
		_, err := fresh.Drain(t.Context(), drainAll)
		wantCode(t, err, domain.Conflict)
		wantCode(t, fresh.Work(t.Context()), domain.Conflict)

		r := k.started(runner.Config{})
		must(t, r.Start(t.Context()))
		_, err = r.Drain(t.Context(), drainAll)
		wantCode(t, err, domain.Conflict)
		wantCode(t, work.Handle(k.reg, func(context.Context, work.Job[late]) error { return nil }), domain.Conflict)
		k.stop(r)
		k.stop(r)

		over, cancel := context.WithCancel(t.Context())
		cancel()
		wantCode(t, k.runner(runner.Config{}).Start(over), domain.Canceled)
	})
}

type late struct{}

func (late) Kind() string { return "late" }

func TestWorkEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(ctx context.Context, _ driven.Task) error { time.Sleep(10 * time.Second); return ctx.Err() })
		r := k.runner(lease(time.Minute))
		ids := k.put("k", 4)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		must(t, r.Work(ctx))
		if k.since() != 10*time.Second {
			t.Fatalf("it worked for %v", k.since())
		}
		k.wantState(domain.Done, ids...)
	})
}

func TestRunnerIsListedWhileItLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		r := k.started(runner.Config{Queues: runner.Queues{"b": 1, "a": 2}})
		time.Sleep(10 * time.Minute)
		list, err := k.store.ListRunners(t.Context(), 10)
		must(t, err)
		if len(list) != 1 || list[0].ID != r.ID() || fmt.Sprint(list[0].Kinds, list[0].Queues) != "[k] [a b]" {
			t.Fatalf("listed %+v", list)
		}
		k.stop(r)
		list, err = k.store.ListRunners(t.Context(), 10)
		must(t, err)
		if len(list) != 0 {
			t.Fatalf("a stopped runner is listed: %+v", list)
		}
	})
}
