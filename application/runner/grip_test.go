package runner_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// sweeping does what upkeep does, now and then.
func (k *kit) sweeping(every, linger time.Duration) {
	ctx := k.t.Context()
	go func() {
		for tick := time.NewTicker(every); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := k.store.Recover(ctx, driven.RecoverRequest{Limit: 100, Stalls: domain.DefaultStalls()}); err != nil {
				return
			}
			_, _ = k.store.Reap(ctx, driven.ReapRequest{Limit: 100, Linger: linger})
			ended, _ := k.store.Store.Expire(ctx, 100)
			keys, _ := k.store.BlockedKeys(ctx, "", 100)
			woken, _ := k.store.Store.Wake(ctx, append(ended.Keys, keys...))
			k.bell.Notify(woken.Queues...)
		}
	}()
}

// held lists the slots that are taken.
func (k *kit) held() []domain.Holder {
	k.t.Helper()
	all, err := k.store.Held(context.WithoutCancel(k.t.Context()), domain.Slot{}, 100)
	must(k.t, err)
	return all
}

// stubborn heeds no context.
func stubborn(g *gauge, first, rest time.Duration) func(context.Context, driven.Task) error {
	var runs atomic.Int64
	return func(context.Context, driven.Task) error {
		g.in()
		defer g.out()
		if runs.Add(1) == 1 {
			time.Sleep(first)
		} else {
			time.Sleep(rest)
		}
		return nil
	}
}

// A handler that outlives its attempt keeps its slot for as long as it runs.
func TestAHandlerThatRunsOnKeepsItsSlot(t *testing.T) {
	for _, turn := range []domain.Turn{domain.NoTurn, domain.TurnMutex} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			var g gauge
			opts := []work.Option{work.Timeout(2 * time.Second), work.MaxAttempts(1)}
			if turn == domain.NoTurn {
				opts = append(opts, limited(1))
			}
			k.handle("k", stubborn(&g, time.Minute, time.Second), opts...)
			k.started(lease(4 * time.Second))
			k.started(lease(4 * time.Second))
			k.sweeping(2*time.Second, 4*time.Second)
			keys := func(*domain.NewJob) {}
			if turn != domain.NoTurn {
				keys = keyed(turn, "a")
			}
			ids := k.put("k", 2, keys)
			time.Sleep(59 * time.Second)
			k.wantState(domain.Dead, ids[0])
			k.wantState(domain.Blocked, ids[1])
			time.Sleep(2500 * time.Millisecond)
			k.wantState(domain.Done, ids[1])
			if g.peak() != 1 {
				t.Errorf("%d ran at once", g.peak())
			}
			synctest.Wait()
			if all := k.held(); len(all) > 0 {
				t.Errorf("%+v are held", all)
			}
		})
	}
}

// The first bounded job that a runner without limits meets is alone: nobody parks,
// so nothing else says that there is a slot to hold.
func TestALoneHandlerThatRunsOnKeepsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", stubborn(&g, time.Minute, time.Second), work.Timeout(2*time.Second), work.MaxAttempts(1))
		k.started(lease(4 * time.Second))
		k.sweeping(2*time.Second, 4*time.Second)
		first := k.put("k", 1, keyed(domain.TurnMutex, "a"))
		time.Sleep(30 * time.Second)
		k.wantState(domain.Dead, first[0])
		second := k.put("k", 1, keyed(domain.TurnMutex, "a"))
		time.Sleep(20 * time.Second)
		k.wantState(domain.Blocked, second[0])
		if g.peak() != 1 {
			t.Errorf("%d ran at once", g.peak())
		}
		time.Sleep(20 * time.Second)
		k.wantState(domain.Done, second[0])
	})
}

// A runner whose renewals fail loses its claim; its handler, which does not heed
// that, keeps the slot.
func TestALostClaimKeepsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", stubborn(&g, time.Minute, time.Second), limited(1), work.Timeout(time.Hour))
		k.started(lease(4 * time.Second))
		k.sweeping(2*time.Second, 4*time.Second)
		ids := k.put("k", 1)
		synctest.Wait()
		more := k.put("k", 3)
		fails := func(context.Context) error { return down("renew") }
		k.store.renew.Store(&fails)
		time.Sleep(6 * time.Second)
		k.store.renew.Store(nil)
		k.started(lease(4 * time.Second))
		time.Sleep(52 * time.Second)
		if k.count(domain.EventLeaseLost) != 1 || k.job(ids[0]).Stalls != 1 {
			t.Errorf("the lease was lost %d times, %+v", k.count(domain.EventLeaseLost), k.job(ids[0]))
		}
		k.wantState(domain.Blocked, more...)
		time.Sleep(20 * time.Second)
		k.wantState(domain.Done, more...)
		k.wantState(domain.Done, ids...)
		if g.peak() != 1 {
			t.Errorf("%d ran at once", g.peak())
		}
	})
}

// What a runner leaves behind that is gone is kept for lease and linger, and then free.
func TestADeadRunnersSlotsAreReaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", stubborn(&g, 7*time.Second, time.Second), limited(2), work.Timeout(time.Hour))
		gone := lease(4 * time.Second)
		gone.Unfinished = runner.Abandon
		first := k.started(gone)
		k.sweeping(2*time.Second, 4*time.Second)
		ids := k.put("k", 6)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantCode(t, first.Stop(ctx), domain.Canceled)
		k.started(lease(4 * time.Second))
		time.Sleep(2 * time.Minute)
		k.wantState(domain.Done, ids...)
		if g.peak() != 2 {
			t.Errorf("%d ran at once", g.peak())
		}
		if all := k.held(); len(all) > 0 {
			t.Errorf("%+v are held", all)
		}
	})
}

// An outcome that is written twice, because nobody heard of the first time, frees
// nobody else's slot.
func TestARepeatedOutcomeFreesOnlyItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(300*time.Millisecond), limited(2), minute)
		var calls atomic.Int64
		unheard := func(out []driven.Outcome) error {
			if calls.Add(1)%2 == 0 {
				return nil
			}
			_, err := k.store.Store.Settle(t.Context(), out)
			must(t, err)
			_, err = k.store.Store.Wake(t.Context(), []string{"l:k:"}) // others hear
			must(t, err)
			return down("settle")
		}
		k.store.settle.Store(&unheard)
		k.started(runner.Config{Concurrency: 4})
		k.started(runner.Config{Concurrency: 4})
		ids := k.put("k", 40)
		time.Sleep(2 * time.Minute)
		k.wantState(domain.Done, ids...)
		if g.peak() != 2 || k.count(domain.EventOutcomeDropped) > 0 {
			t.Errorf("%d ran at once, %d were dropped", g.peak(), k.count(domain.EventOutcomeDropped))
		}
	})
}

// Calls of the waker that fail are made again.
func TestTheWakerSurvivesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(time.Second), limited(1), minute)
		r := k.started(runner.Config{Concurrency: 4})
		ids := k.put("k", 3)
		synctest.Wait()
		fails := func(op string) error { return down(op) }
		k.store.bound.Store(&fails)
		time.Sleep(10 * time.Second)
		k.wantState(domain.Done, ids[0])
		k.wantState(domain.Blocked, ids[1])
		k.store.bound.Store(nil)
		time.Sleep(5 * time.Second)
		k.wantState(domain.Done, ids...)
		if n := k.count(domain.EventError); n < 5 || n > 60 {
			t.Errorf("%d errors in 10 s", n)
		}
		k.stop(r)
	})
}

// A store may give a job again before this runner has heard that its outcome was
// written: it runs at once, for its handler is gone.
func TestAJobThatComesBackBeforeTheAnswerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(_ context.Context, task driven.Task) error {
			if task.Attempt == 1 {
				return domain.RetryAfter(time.Millisecond, context.Canceled)
			}
			return nil
		})
		slow := func(out []driven.Outcome) error {
			_, err := k.store.Store.Settle(t.Context(), out)
			time.Sleep(3 * time.Second) // the answer is on its way
			return err
		}
		k.store.settle.Store(&slow)
		k.started(runner.Config{})
		ids := k.put("k", 3)
		time.Sleep(7 * time.Second)
		k.wantState(domain.Done, ids...)
		if k.count(domain.EventReleased) > 0 {
			t.Errorf("%d were given back", k.count(domain.EventReleased))
		}
	})
}

// A handler that outlives its attempt is told of whenever its job's next attempt comes to
// where it runs on.
func TestWhatRunsOnIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", stubborn(&g, time.Minute, time.Second), work.Timeout(2*time.Second), work.Backoff(func(int, error) time.Duration { return time.Second }))
		k.started(lease(4 * time.Second))
		id := k.put("k", 1)
		time.Sleep(30 * time.Second)
		k.mu.Lock()
		told := 0
		for _, e := range k.events {
			if e.Type == domain.EventReleased && e.Err != nil && strings.Contains(e.Err.Error(), "runs on in this process") {
				told++
			}
		}
		k.mu.Unlock()
		if told < 5 || told > 15 || g.peak() != 1 {
			t.Errorf("it was told of %d times in 30 s, %d ran at once", told, g.peak())
		}
		time.Sleep(time.Minute)
		k.wantState(domain.Done, id...)
	})
}
