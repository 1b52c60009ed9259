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

// distant makes each claim, and each call that has to do with bounds, take a millisecond.
func (k *kit) distant() {
	trip := func(string) error { time.Sleep(time.Millisecond); return nil }
	claim := func(driven.ClaimRequest) error { return trip("claim") }
	k.store.bound.Store(&trip)
	k.store.claim.Store(&claim)
}

// Who was parked before a slot was laid by is run by a drain too.
func TestADrainRunsWhoIsParked(t *testing.T) {
	for _, run := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			var g gauge
			k.handle("k", g.run(run), limited(1), minute)
			ids := k.put("k", 4)
			if got, err := k.runner(runner.Config{Queues: runner.Queues{"default": 4}}).Drain(t.Context(), drainAll); err != nil || got.Completed != len(ids) {
				t.Errorf("jobs of %v: %+v, %v", run, got, err)
			}
			k.wantNothingHeld()
		})
	}
}

// Where no claimed job may wait for a slot, none is laid by for the claim: that would be parked.
func TestNoSlotIsLaidByForWhoIsParked(t *testing.T) {
	for _, cfg := range []runner.Config{{NoPrefetch: true}, {}} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			k.distant()
			var g gauge
			run := 60 * time.Millisecond // too long for a prefetch
			if cfg.NoPrefetch {
				run = 5 * time.Millisecond
			}
			k.handle("k", g.run(run), limited(4), minute)
			cfg.Queues = runner.Queues{"default": 4}
			k.started(cfg)
			k.put("k", 5000)
			time.Sleep(3 * time.Second)
			if n, least := len(g.starts()), int(4*3*time.Second/run)/2; n < least {
				t.Errorf("%d jobs of %v started in 3 s, want %d", n, run, least)
			}
			if n := k.count(domain.EventParked); n > 10 {
				t.Errorf("%d were parked", n)
			}
		})
	}
}

// Several limited kinds with a long backlog of short jobs leave room for the others of the lane.
func TestLimitedKindsLeaveRoomForOthers(t *testing.T) {
	kinds := []string{"a", "b", "c", "d"}
	for _, n := range []int{2, 4} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			k.distant()
			var wide gauge
			narrow := make([]gauge, n)
			for i := range narrow {
				k.handle(kinds[i], narrow[i].run(2*time.Millisecond), limited(1), minute)
				k.put(kinds[i], 2000)
			}
			k.handle("wide", wide.run(2*time.Millisecond))
			k.put("wide", 8000)
			k.started(runner.Config{Concurrency: 10})
			time.Sleep(1500 * time.Millisecond)
			if got := len(wide.starts()); got < 3000 {
				t.Errorf("beside %d limited kinds %d jobs of 2 ms started in 1.5 s", n, got)
			}
			for i := range narrow {
				if got := len(narrow[i].starts()); got < 40 {
					t.Errorf("%d of %s started in 1.5 s", got, kinds[i])
				}
			}
		})
	}
}

// A drain that is stopped while a claim is in flight gives back what that gives, also
// while a handler runs on for a moment.
func TestADrainThatIsStoppedGivesBackItsLastClaim(t *testing.T) {
	for _, opts := range [][]work.Option{{minute}, {minute, limited(2)}} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			var g gauge
			k.handle("k", g.run(300*time.Millisecond), opts...)
			trip := func(driven.ClaimRequest) error {
				if k.store.claims.Load() == 2 {
					time.Sleep(200 * time.Millisecond)
				}
				return nil
			}
			k.store.claim.Store(&trip)
			first, drained := k.put("k", 1), make(chan error, 1)
			r := k.runner(runner.Config{Queues: runner.Queues{"default": 4}})
			go func() {
				_, err := r.Drain(t.Context(), drainAll)
				drained <- err
			}()
			time.Sleep(50 * time.Millisecond)
			more := k.put("k", 3)
			time.Sleep(50 * time.Millisecond)
			k.stop(r)
			wantCode(t, <-drained, domain.Canceled)
			k.wantState(domain.Done, first...)
			k.wantState(domain.Ready, more...)
			k.wantNothingHeld()
		})
	}
}

// once is a store that counts the slots which one call both prolongs and gives back: the
// order of the two in a database's statement is nobody's choice.
type once struct {
	driven.Store
	both atomic.Int64
}

func (s *once) Hold(ctx context.Context, all []driven.Holding) error {
	ends := make(map[domain.Slot]bool, len(all))
	for _, h := range all {
		if end, seen := ends[h.Slot]; seen && end != h.End {
			s.both.Add(1)
		}
		ends[h.Slot] = h.End
	}
	return s.Store.Hold(ctx, all)
}

// A slot is with one attempt at a time, in the moment it is passed on too.
func TestAPassedSlotIsWithOneAttempt(t *testing.T) {
	k := newKit(t)
	store := &once{Store: k.store.Store}
	k.store.Store = store
	var g gauge
	k.handle("k", g.run(0), limited(2), minute)
	r := k.running(runner.Config{Queues: runner.Queues{"default": 8}, Renew: time.Millisecond})
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		want := len(g.starts()) + len(k.put("k", 100))
		for len(g.starts()) < want && time.Now().Before(end) {
			time.Sleep(100 * time.Microsecond)
		}
	}
	k.stop(r)
	if n := store.both.Load(); n > 0 {
		t.Errorf("%d slots were prolonged in the call that gave them back", n)
	}
	k.wantNothingHeld()
}

// A kind of the same group that another runner handles gets slots too, beside a long
// backlog whose jobs could pass them on for ever.
func TestPassedSlotsReachAnotherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, other := newKit(t), newKit(t)
		other.store.Store, other.bell = k.store.Store, k.bell
		k.distant()
		other.distant()
		var x, y gauge
		group := work.Limited(work.Limit{N: 1, Group: "g"})
		k.handle("x", x.run(5*time.Millisecond), group, minute)
		other.handle("y", y.run(5*time.Millisecond), group, minute)
		k.started(runner.Config{Concurrency: 4})
		other.started(runner.Config{Concurrency: 4})
		k.put("x", 3000)
		time.Sleep(300 * time.Millisecond)
		k.put("y", 50)
		time.Sleep(10 * time.Second)
		if n := len(y.starts()); n < 15 { // one in 650 ms, a poll is a second
			t.Errorf("%d jobs started in 10 s beside %d of the other kind", n, len(x.starts()))
		}
	})
}

// A kind that was declared out of the group gets no slot of it from the jobs of another.
func TestPassedSlotsHeedAMovedKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		group := work.Limited(work.Limit{N: 5, Group: "g"})
		k.handle("a", (&gauge{}).run(5*time.Millisecond), group, minute)
		k.handle("b", g.run(5*time.Millisecond), group, minute)
		for range 4000 {
			k.put("a", 1)
			k.put("b", 1)
		}
		k.started(runner.Config{Concurrency: 10})
		time.Sleep(500 * time.Millisecond)
		must(t, k.store.Store.Declare(t.Context(), []string{"b"}, []domain.Declaration{{Kind: "b", Sort: domain.BoundLimit, Group: "h", N: 1}}))
		time.Sleep(110 * time.Millisecond)
		g.mu.Lock()
		g.most = g.now
		g.mu.Unlock()
		if time.Sleep(2 * time.Second); g.peak() != 1 {
			t.Errorf("%d of b ran at once under its new limit of 1", g.peak())
		}
	})
}

// In a group of several kinds a slot goes to the first of its kind, behind others.
func TestASlotIsPassedOnPastOtherKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		admits := k.countAdmits(time.Millisecond)
		group := work.Limited(work.Limit{N: 3, Group: "g"})
		k.handle("a", g.run(5*time.Millisecond), group, minute)
		k.handle("b", g.run(5*time.Millisecond), group, minute)
		var ids []domain.JobID
		for range 300 {
			ids = append(append(ids, k.put("a", 1)...), k.put("b", 1)...)
		}
		k.started(runner.Config{Queues: runner.Queues{"default": 3}})
		time.Sleep(4 * time.Second)
		k.wantState(domain.Done, ids...)
		k.wantNothingHeld()
		if n := admits.Load(); n > 200 || g.peak() != 3 {
			t.Errorf("the store was asked %d times for 600 jobs, of which %d ran at once under a limit of 3", n, g.peak())
		}
	})
}
