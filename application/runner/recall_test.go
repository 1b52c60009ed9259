package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// A freed slot that goes to a job which nobody takes reaches one that somebody can, at the
// next polls.
func TestAFreedSlotReachesWhoCanTakeIt(t *testing.T) {
	short := func(context.Context, driven.Task) error { time.Sleep(10 * time.Millisecond); return nil }
	shared := work.Limited(work.Limit{N: 1, Group: "g"})
	t.Run("paused kind", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			k.handle("hold", func(context.Context, driven.Task) error { time.Sleep(2 * time.Second); return nil }, shared, minute)
			k.handle("first", short, shared, minute)
			k.handle("second", short, shared, minute)
			k.started(runner.Config{Concurrency: 10})
			k.put("hold", 1)
			time.Sleep(100 * time.Millisecond)
			first := k.put("first", 2)
			time.Sleep(300 * time.Millisecond)
			second := k.put("second", 3)
			time.Sleep(300 * time.Millisecond)
			k.wantState(domain.Blocked, append(first, second...)...)
			must(t, k.store.Pause(t.Context(), domain.Switch{Sort: domain.SwitchKind, Name: "first"}))
			time.Sleep(4500 * time.Millisecond) // of which 1.3 s until the slot is free
			k.wantState(domain.Ready, first...)
			k.wantState(domain.Done, second...)
		})
	})
	t.Run("busy queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			k.handle("hold", func(context.Context, driven.Task) error { time.Sleep(2 * time.Second); return nil }, shared, minute)
			k.handle("k", short, shared, minute)
			k.handle("long", func(ctx context.Context, _ driven.Task) error { <-ctx.Done(); return ctx.Err() })
			k.started(runner.Config{Queues: runner.Queues{"a": 1, "b": 1, "c": 1}})
			k.put("hold", 1, inQueue("c"))
			time.Sleep(100 * time.Millisecond)
			first := k.put("k", 1, inQueue("a"))
			time.Sleep(300 * time.Millisecond)
			second := k.put("k", 3, inQueue("b"))
			k.put("long", 1, inQueue("a"))
			time.Sleep(300 * time.Millisecond)
			k.wantState(domain.Blocked, append(first, second...)...)
			time.Sleep(3500 * time.Millisecond)
			k.wantState(domain.Ready, first...)
			k.wantState(domain.Done, second...)
		})
	})
}

// Where nobody is made ready any more the waker rests.
func TestTheWakerRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		wakes := 0
		door := func(op string) error {
			if op == "wake" {
				wakes++
			}
			return nil
		}
		k.store.bound.Store(&door)
		k.handle("k", func(context.Context, driven.Task) error { time.Sleep(300 * time.Millisecond); return nil }, limited(1), minute)
		k.started(runner.Config{Concurrency: 4})
		ids := k.put("k", 5)
		time.Sleep(10 * time.Second)
		k.wantState(domain.Done, ids...)
		was := wakes
		time.Sleep(2 * time.Hour)
		if wakes != was || was > 20 {
			t.Errorf("%d calls for 5 jobs, %d after them", was, wakes-was)
		}
	})
}

// A runner that stops before its next poll wakes at once who was to be woken then.
func TestAStopRecallsAtOnce(t *testing.T) {
	for _, early := range []bool{false, true} { // before the slot is free
		stopRecalls(t, early)
	}
}

func stopRecalls(t *testing.T, early bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		shared := work.Limited(work.Limit{N: 1, Group: "g"})
		k.handle("hold", func(context.Context, driven.Task) error { time.Sleep(time.Second); return nil }, shared, minute)
		k.handle("off", func(context.Context, driven.Task) error { return nil }, shared, minute)
		k.handle("on", func(context.Context, driven.Task) error { return nil }, shared, minute)
		first := k.started(runner.Config{Concurrency: 4})
		k.put("hold", 1)
		time.Sleep(50 * time.Millisecond)
		k.put("off", 1)
		time.Sleep(50 * time.Millisecond)
		on := k.put("on", 1)
		time.Sleep(50 * time.Millisecond)
		must(t, k.store.Pause(t.Context(), domain.Switch{Sort: domain.SwitchKind, Name: "off"}))
		k.started(runner.Config{Concurrency: 4})
		if !early {
			time.Sleep(900 * time.Millisecond) // the slot is free
		}
		k.wantState(domain.Blocked, on...)
		k.stop(first)
		time.Sleep(2 * time.Second)
		k.wantState(domain.Done, on...)
	})
}

// So does one that starts where others left a slot free.
func TestAStartReachesWhoCanTakeASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		shared := work.Limited(work.Limit{N: 1, Group: "g"})
		nothing := func(context.Context, driven.Task) error { return nil }
		k.handle("hold", func(context.Context, driven.Task) error { time.Sleep(time.Second); return nil }, shared, minute)
		k.handle("off", nothing, shared, minute)
		k.handle("on", nothing, shared, minute)
		deaf := func(op string) error {
			if op == "wake" {
				return &domain.Fault{Code: domain.Internal, Op: op}
			}
			return nil
		}
		k.store.bound.Store(&deaf)
		first := k.started(runner.Config{Concurrency: 4})
		k.put("hold", 1)
		time.Sleep(50 * time.Millisecond)
		k.put("off", 2)
		time.Sleep(50 * time.Millisecond)
		on := k.put("on", 2)
		time.Sleep(2 * time.Second)
		k.stop(first)
		k.wantState(domain.Blocked, on...)
		k.store.bound.Store(nil)
		must(t, k.store.Pause(t.Context(), domain.Switch{Sort: domain.SwitchKind, Name: "off"}))
		k.started(runner.Config{Concurrency: 4})
		time.Sleep(6 * time.Second)
		k.wantState(domain.Done, on...)
	})
}
