package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func done(context.Context, driven.Task) error { return nil }

func (s *store) Paused(ctx context.Context, limit int) ([]domain.Paused, error) {
	if fault := s.mute.Load(); fault != nil {
		return nil, fault
	}
	return s.Store.Paused(ctx, limit)
}

// TestPausedKindsAndQueuesWait: nothing of them starts, the others do, and they start
// within a second of being resumed.
func TestPausedKindsAndQueuesWait(t *testing.T) {
	for name, off := range map[string]domain.Switch{
		"kind":  {Sort: domain.SwitchKind, Name: "k"},
		"queue": {Sort: domain.SwitchQueue, Name: "q"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("k", done)
				k.handle("other", done)
				must(t, k.store.Pause(t.Context(), off))
				held := k.put("k", 3, func(n *domain.NewJob) { n.Queue = "q" })
				free := k.put("other", 3)
				both := lease(time.Minute)
				both.Queues["q"] = 2
				k.started(both)
				time.Sleep(time.Hour)
				k.wantState(domain.Ready, held...)
				k.wantState(domain.Done, free...)
				must(t, k.store.Resume(t.Context(), off))
				time.Sleep(2 * time.Second)
				k.wantState(domain.Done, held...)
			})
		})
	}
}

// TestPausedWhileItWorks: a runner learns of it within a second; a drain leaves it out
// and ends.
func TestPausedWhileItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", done)
		k.started(lease(time.Minute))
		first := k.put("k", 1)
		time.Sleep(2 * time.Second)
		k.wantState(domain.Done, first...)
		must(t, k.store.Pause(t.Context(), domain.Switch{Sort: domain.SwitchQueue, Name: "default"}))
		time.Sleep(2 * time.Second)
		later := k.put("k", 1)
		time.Sleep(time.Minute)
		k.wantState(domain.Ready, later...)
	})
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", done)
		must(t, k.store.Pause(t.Context(), domain.Switch{Sort: domain.SwitchKind, Name: "k"}))
		ids := k.put("k", 2)
		got, err := k.runner(lease(time.Minute)).Drain(t.Context(), drainAll)
		must(t, err)
		if got.Completed != 0 {
			t.Errorf("drained %+v", got)
		}
		k.wantState(domain.Ready, ids...)
	})
}

// TestPausesThatCannotBeTold: what was paused stays so while the store cannot tell, and
// before it told once nothing is claimed.
func TestPausesThatCannotBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", done)
		k.handle("other", done)
		must(t, k.store.Pause(t.Context(), domain.Switch{Sort: domain.SwitchKind, Name: "k"}))
		gone := &domain.Fault{Code: domain.Unavailable, Op: "list paused"}
		k.store.mute.Store(gone)
		held, free := k.put("k", 2), k.put("other", 2)
		k.started(lease(time.Minute))
		time.Sleep(time.Minute)
		k.wantState(domain.Ready, held...)
		k.wantState(domain.Ready, free...)
		k.store.mute.Store(nil)
		time.Sleep(2 * time.Second)
		k.wantState(domain.Done, free...)
		k.store.mute.Store(gone)
		later := k.put("other", 1)
		time.Sleep(time.Minute)
		k.wantState(domain.Ready, held...)
		k.wantState(domain.Done, later...)
	})
}

// TestPausesThatCannotBeRead: a store that has no place for them, or shows them to
// others alone, has jobs run, and it is said, once.
func TestPausesThatCannotBeRead(t *testing.T) {
	for _, code := range []domain.Code{domain.Unsupported, domain.Denied} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			k.handle("k", done)
			k.store.mute.Store(&domain.Fault{Code: code, Op: "list paused"})
			ids := k.put("k", 2)
			k.started(lease(time.Minute))
			time.Sleep(time.Hour)
			k.wantState(domain.Done, ids...)
			if n := k.count(domain.EventError); n != 1 {
				t.Errorf("%d errors were told of what is %s, want one", n, code)
			}
		})
	}
}
