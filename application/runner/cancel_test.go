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

// cancel is an operator's.
func (k *kit) cancel(ids ...domain.JobID) {
	k.t.Helper()
	edited, err := k.store.Cancel(k.t.Context(), driven.EditRequest{IDs: ids, Keep: domain.KeepForever})
	must(k.t, err)
	for _, e := range edited {
		must(k.t, e.Err)
	}
}

// told checks what was observed of jobs that were cancelled.
func (k *kit) told(cancelled, dropped int) {
	k.t.Helper()
	for what, want := range map[domain.EventType]int{
		domain.EventCancelled: cancelled, domain.EventOutcomeDropped: dropped, domain.EventLeaseLost: 0,
		domain.EventRetried: 0, domain.EventDied: 0, domain.EventReleased: 0,
	} {
		if n := k.count(what); n != want {
			k.t.Errorf("%d times %v, want %d", n, what, want)
		}
	}
}

// An operator's cancel reaches the handler by the next renewal. Nothing is written
// for it, whatever it answers.
func TestCancelReachesTheHandler(t *testing.T) {
	for name, answer := range map[string]error{
		"nil": nil, "fails": errors.New("no"), "its context": context.Canceled, "buries": work.Bury(errors.New("no")), "snoozes": work.Snooze(time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var cause error
				var at time.Duration
				k.handle("k", func(ctx context.Context, _ driven.Task) error {
					<-ctx.Done()
					cause, at = context.Cause(ctx), k.since()
					time.Sleep(30 * time.Second) // it tidies up
					return answer
				})
				writes := new(atomic.Int64)
				k.store.settle.Store(new(func([]driven.Outcome) error { writes.Add(1); return nil }))
				r := k.started(lease(time.Minute))
				id := k.put("k", 1)[0]
				time.Sleep(5 * time.Second)
				k.cancel(id)
				was := k.job(id)
				time.Sleep(54 * time.Second)
				synctest.Wait()
				if !errors.Is(cause, work.ErrCancelled) || at != 20*time.Second {
					t.Fatalf("cause %v at %v", cause, at)
				}
				k.told(1, 0)
				k.stop(r)
				k.told(1, 0)
				if writes.Load() != 0 {
					t.Fatalf("%d writes for a job that is cancelled", writes.Load())
				}
				if now := k.job(id); now.State != domain.Cancelled || now.Attempts != 0 || now.FinishedAt != was.FinishedAt || now.Error != "" {
					t.Fatalf("the row became %+v", now)
				}
			})
		})
	}
}

// A handler that ends before its runner knows: the store drops the outcome, and
// that is all that is told.
func TestCancelBeforeTheHandlerEnds(t *testing.T) {
	for name, answer := range map[string]error{"nil": nil, "fails": errors.New("no"), "buries": work.Bury(errors.New("no"))} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var runs atomic.Int64
				k.handle("k", func(context.Context, driven.Task) error {
					runs.Add(1)
					time.Sleep(10 * time.Second)
					return answer
				}, work.MaxAttempts(5))
				r := k.started(lease(time.Minute))
				id := k.put("k", 1)[0]
				time.Sleep(5 * time.Second)
				k.cancel(id)
				time.Sleep(time.Hour)
				k.told(0, 1)
				k.stop(r)
				k.wantState(domain.Cancelled, id)
				if runs.Load() != 1 || k.count(domain.EventCompleted) != 0 {
					t.Errorf("it ran %d times", runs.Load())
				}
			})
		})
	}
}

// A job that waits for a worker when it is cancelled never runs.
func TestCancelOfAPrefetchedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("quick", func(context.Context, driven.Task) error { time.Sleep(time.Millisecond); return nil })
		k.handle("slow", func(context.Context, driven.Task) error { time.Sleep(900 * time.Millisecond); return nil })
		cfg := lease(600 * time.Millisecond) // renewed before a prefetched job is given back
		cfg.Queues["default"] = 2
		r := k.started(cfg)
		k.put("quick", 50) // short runs, so that the lane prefetches
		time.Sleep(time.Second)
		ids := k.put("slow", 4)
		time.Sleep(10 * time.Millisecond)
		k.wantState(domain.Running, ids...)
		k.cancel(ids[2:]...)
		time.Sleep(10 * time.Second)
		k.stop(r)
		k.wantState(domain.Done, ids[:2]...)
		k.wantState(domain.Cancelled, ids[2:]...)
		if n := k.count(domain.EventCompleted); n != 52 {
			t.Errorf("%d ran", n)
		}
		k.told(2, 0)
	})
}

// One that an operator cancels between its claim and its admission.
func TestCancelBeforeTheAdmission(t *testing.T) {
	for name, renewal := range map[string]func(context.Context) error{"": nil, "and no renewal": func(context.Context) error { return down("renew") }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("k", func(context.Context, driven.Task) error { return nil }, limited(1), work.Timeout(time.Minute))
				r := k.started(lease(time.Minute))
				if renewal != nil {
					k.store.renew.Store(&renewal)
				}
				id := k.ids.NewJobID()
				var once atomic.Bool
				k.store.bound.Store(new(func(op string) error {
					if op == "admit" && !once.Swap(true) {
						k.cancel(id)
					}
					return nil
				}))
				k.put("k", 1, func(n *domain.NewJob) { n.ID = id })
				time.Sleep(time.Second)
				k.stop(r)
				k.wantState(domain.Cancelled, id)
				lost := k.count(domain.EventLeaseLost)
				if n := k.count(domain.EventCancelled); n+lost != 1 || lost == 1 != (renewal != nil) || k.count(domain.EventClaimed) != 0 {
					t.Errorf("%d cancelled, %d lost, %d claimed", n, lost, k.count(domain.EventClaimed))
				}
			})
		})
	}
}

// A cancelled handler that does not heed its context keeps what it holds, and its
// runner gives that back when it ends.
func TestACancelledJobKeepsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", stubborn(&g, time.Minute, time.Second), limited(1), work.Timeout(time.Hour))
		r := k.started(lease(4 * time.Second))
		k.sweeping(2*time.Second, 4*time.Second)
		ids := k.put("k", 1)
		synctest.Wait()
		more := k.put("k", 3)
		time.Sleep(time.Second)
		k.cancel(ids[0])
		time.Sleep(58 * time.Second)
		k.told(1, 0)
		k.wantState(domain.Blocked, more...)
		time.Sleep(5 * time.Second)
		k.wantState(domain.Done, more...)
		k.wantState(domain.Cancelled, ids...)
		k.stop(r)
		if k.told(1, 0); g.peak() != 1 {
			t.Errorf("%d ran at once", g.peak())
		}
	})
}
