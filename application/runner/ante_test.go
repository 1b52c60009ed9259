package runner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// A newer program raises the limit beside one that is still there: the store gives the
// older one more slots than it thinks there are.
func TestARunnerHoldsMoreThanItDeclared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, newer := newKit(t), newKit(t)
		newer.store.Store, newer.bell = k.store.Store, k.bell
		var g gauge
		k.handle("k", g.run(5*time.Millisecond), limited(2), minute)
		newer.handle("k", g.run(5*time.Millisecond), limited(10), minute)
		k.started(runner.Config{Concurrency: 10})
		ids := k.put("k", 3)
		time.Sleep(time.Second)
		newer.started(runner.Config{Concurrency: 10})
		for range 50 {
			ids = append(ids, k.put("k", 40)...)
			time.Sleep(400 * time.Millisecond)
		}
		k.wantState(domain.Done, ids...)
		if g.peak() > 10 {
			t.Errorf("%d ran at once under a limit of 10", g.peak())
		}
		k.wantNothingHeld()
	})
}

// A runner that lost the slots of handlers which heed nothing takes others beside them.
func TestARunnerHoldsMoreThanThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var stubborn atomic.Int64
		k.handle("k", func(context.Context, driven.Task) error {
			if stubborn.Add(-1) >= 0 {
				time.Sleep(100 * time.Second)
			}
			time.Sleep(3 * time.Millisecond)
			return nil
		}, limited(3), work.Timeout(10*time.Minute))
		k.started(lease(3 * time.Second))
		k.put("k", 30)
		time.Sleep(time.Second)
		stubborn.Store(3)
		k.put("k", 3)
		time.Sleep(time.Second)
		cut := func(context.Context) error { return down("renew") }
		k.store.renew.Store(&cut)
		held := func(op string) error {
			if op == "hold" {
				return down(op)
			}
			return nil
		}
		k.store.bound.Store(&held)
		for range 15 { // another runner sweeps
			time.Sleep(time.Second)
			_, err := k.store.Recover(t.Context(), driven.RecoverRequest{Limit: 100, Except: "sweeper", Stalls: domain.DefaultStalls()})
			must(t, err)
			_, err = k.store.Reap(t.Context(), driven.ReapRequest{Limit: 100, Linger: time.Second})
			must(t, err)
			_, err = k.store.Store.Expire(t.Context(), 100)
			must(t, err)
		}
		k.store.renew.Store(nil)
		k.store.bound.Store(nil)
		k.wantNothingHeld()
		var ids []domain.JobID
		for range 100 {
			ids = append(ids, k.put("k", 20)...)
			time.Sleep(400 * time.Millisecond)
		}
		k.wantState(domain.Done, ids...)
	})
}
