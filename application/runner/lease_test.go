package runner_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestLeaseIsRenewedForTenLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var runs atomic.Int64
		k.handle("k", func(ctx context.Context, _ driven.Task) error {
			runs.Add(1)
			time.Sleep(600 * time.Second)
			return ctx.Err()
		})
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		for range 60 {
			time.Sleep(10 * time.Second)
			if got, err := k.store.Recover(t.Context(), driven.RecoverRequest{Limit: 10, Stalls: domain.DefaultStalls()}); err != nil || len(got.Jobs) != 0 {
				t.Fatalf("a live claim was put back: %+v, %v", got, err)
			}
		}
		synctest.Wait()
		k.stop(r)
		k.wantState(domain.Done, id)
		if runs.Load() != 1 || k.job(id).Stalls != 0 {
			t.Fatalf("%d runs, %d stalls", runs.Load(), k.job(id).Stalls)
		}
	})
}

// Real time: a handler that never yields, with one processor.
func TestBusyHandlerKeepsItsLease(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	k := newKit(t)
	var runs atomic.Int64
	over := make(chan struct{})
	k.handle("k", func(ctx context.Context, _ driven.Task) error {
		defer close(over)
		runs.Add(1)
		for began := time.Now(); time.Since(began) < 5*time.Second; { //nolint:revive // burning processor time is the case
		}
		return ctx.Err()
	})
	r := k.running(runner.Config{Lease: 1500 * time.Millisecond})
	id := k.put("k", 1)[0]
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for busy := true; busy; {
		select {
		case <-over:
			busy = false
		case <-look.C:
		}
		if got, err := k.store.Recover(t.Context(), driven.RecoverRequest{Limit: 10, Stalls: domain.DefaultStalls()}); err != nil || len(got.Jobs) != 0 {
			t.Fatalf("a live claim was put back: %+v, %v", got, err)
		}
	}
	k.stop(r)
	k.wantState(domain.Done, id)
	if runs.Load() != 1 {
		t.Fatalf("%d runs", runs.Load())
	}
}

func TestBlockedRenewalsLoseTheLease(t *testing.T) {
	for name, door := range map[string]func(context.Context) error{
		"fail": func(context.Context) error { return down("renew") },
		"hang": func(ctx context.Context) error { <-ctx.Done(); return down("renew") },
		"deaf": func(context.Context) error { time.Sleep(5 * time.Minute); return down("renew") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var cause error
				var at time.Duration
				k.handle("k", func(ctx context.Context, _ driven.Task) error {
					<-ctx.Done()
					cause, at = context.Cause(ctx), k.since()
					return work.Bury(errors.New("must not be recorded"))
				})
				k.store.renew.Store(&door)
				r := k.started(lease(time.Minute))
				id := k.put("k", 1)[0]
				time.Sleep(59 * time.Second)
				synctest.Wait()
				if !errors.Is(cause, work.ErrLeaseLost) || at < 40*time.Second || at > 45*time.Second {
					t.Fatalf("cause %v after %v", cause, at)
				}
				j := k.job(id)
				if j.State != domain.Scheduled || j.Attempts != 0 || j.Error != "" || k.count(domain.EventDied) != 0 {
					t.Fatalf("the result was recorded: %v, %d attempts, %q", j.State, j.Attempts, j.Error)
				}
				if k.count(domain.EventLeaseLost) != 1 || k.count(domain.EventReleased) != 1 {
					t.Fatalf("%d lost, %d released", k.count(domain.EventLeaseLost), k.count(domain.EventReleased))
				}
				open := func(context.Context) error { return nil }
				k.store.renew.Store(&open)
				time.Sleep(5 * time.Minute)
				k.stop(r)
			})
		})
	}
}

// One missed renewal is not a loss.
func TestMissedRenewalIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(ctx context.Context, _ driven.Task) error { time.Sleep(5 * time.Minute); return ctx.Err() })
		door := func(context.Context) error {
			if k.store.renews.Load()%3 != 0 {
				return down("renew")
			}
			return nil
		}
		k.store.renew.Store(&door)
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		time.Sleep(6 * time.Minute)
		k.stop(r)
		k.wantState(domain.Done, id)
		if k.count(domain.EventLeaseLost) != 0 || k.count(domain.EventError) == 0 {
			t.Fatalf("%d lost, %d errors", k.count(domain.EventLeaseLost), k.count(domain.EventError))
		}
	})
}

// The store says that the claim is another's: the handler ends, and nothing
// more is written for it.
func TestTakenClaimEndsTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var cause error
		var at time.Duration
		k.handle("k", func(ctx context.Context, _ driven.Task) error {
			<-ctx.Done()
			cause, at = context.Cause(ctx), k.since()
			return nil
		})
		k.store.taken.Store(true)
		writes := new(atomic.Int64)
		k.store.settle.Store(new(func([]driven.Outcome) error { writes.Add(1); return nil }))
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if !errors.Is(cause, work.ErrLeaseLost) || at != 20*time.Second || k.count(domain.EventLeaseLost) != 1 {
			t.Fatalf("cause %v at %v, %d lost", cause, at, k.count(domain.EventLeaseLost))
		}
		k.stop(r)
		if writes.Load() != 0 {
			t.Fatalf("%d writes for a claim that is gone", writes.Load())
		}
		k.wantState(domain.Running, id)
	})
}
