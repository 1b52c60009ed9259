package runner_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// sweep reaps and expires what it finds over and over, and says how many slots were
// taken at most.
func (k *kit) sweep(done <-chan struct{}) (most int) {
	for {
		held, err := k.store.Held(k.t.Context(), domain.Slot{}, 100)
		must(k.t, err)
		most = max(most, len(held))
		_, err = k.store.Store.Reap(k.t.Context(), driven.ReapRequest{Limit: 100, Linger: time.Millisecond})
		must(k.t, err)
		_, err = k.store.Store.Expire(k.t.Context(), 100)
		must(k.t, err)
		select {
		case <-done:
			return most
		case <-time.After(500 * time.Microsecond):
		}
	}
}

func (k *kit) wantNothingHeld() {
	k.t.Helper()
	held, err := k.store.Held(k.t.Context(), domain.Slot{}, 100)
	must(k.t, err)
	if len(held) > 0 {
		k.t.Errorf("held at the end: %+v", held)
	}
}

// countAdmits counts admissions; every call that has to do with bounds takes so long.
func (k *kit) countAdmits(trip time.Duration) *atomic.Int64 {
	var n atomic.Int64
	door := func(op string) error {
		if time.Sleep(trip); op == "admit" {
			n.Add(1)
		}
		return nil
	}
	k.store.bound.Store(&door)
	return &n
}

// A slot goes from short job to short job without a word to the store.
func TestASlotIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		admits := k.countAdmits(time.Millisecond)
		k.handle("k", g.run(5*time.Millisecond), limited(3), minute)
		k.started(runner.Config{Queues: runner.Queues{"default": 3}})
		ids := k.put("k", 600)
		time.Sleep(1300 * time.Millisecond)
		k.wantState(domain.Done, ids...)
		k.wantNothingHeld()
		if n := admits.Load(); n > 120 || g.peak() != 3 {
			t.Errorf("the store was asked %d times for 600 jobs, of which %d ran at once under a limit of 3", n, g.peak())
		}
	})
}

// Another runner does not get what is passed on, whatever a sweep makes of the rows.
func TestAPassedSlotIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(5*time.Millisecond), limited(3), minute)
		for range 2 {
			k.started(runner.Config{Queues: runner.Queues{"default": 3}})
		}
		done, swept := make(chan struct{}), make(chan int)
		go func() { swept <- k.sweep(done) }()
		ids := k.put("k", 600)
		time.Sleep(3 * time.Second)
		close(done)
		if most := <-swept; most != 3 || g.peak() != 3 {
			t.Errorf("%d slots were taken and %d handlers ran at once, the limit is 3", most, g.peak())
		}
		k.wantState(domain.Done, ids...)
		k.wantNothingHeld()
	})
}

// A limit that is lowered reaches a runner that passes its slots on.
func TestPassedSlotsHeedALoweredLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(5*time.Millisecond), limited(4), minute)
		k.started(runner.Config{Queues: runner.Queues{"default": 4}})
		k.put("k", 2000)
		time.Sleep(time.Second)
		lowered, err := k.reg.Bounds()
		must(t, err)
		lowered[0].N = 1
		must(t, k.store.Store.Declare(t.Context(), []string{"k"}, lowered))
		before := len(g.starts())
		time.Sleep(110 * time.Millisecond)
		after := len(g.starts())
		time.Sleep(500 * time.Millisecond)
		if n := after - before; n > 4*25 {
			t.Errorf("%d jobs started in the 110 ms after the limit was lowered", n)
		}
		if n := len(g.starts()) - after; n < 20 || n > 101 {
			t.Errorf("%d jobs of 5 ms started in 500 ms under a limit of 1", n)
		}
	})
}

// Stopped at any moment, what was passed on is run or given back, and its slot too.
func TestStopInTheMiddleOfPasses(t *testing.T) {
	for range 20 {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(200*time.Microsecond), limited(4), minute)
		r := k.runner(runner.Config{Queues: runner.Queues{"default": 4}, Poll: 10 * time.Millisecond})
		must(t, r.Start(t.Context()))
		ids := k.put("k", 3000)
		for len(g.starts()) < 200 {
			time.Sleep(100 * time.Microsecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := r.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		states := map[domain.State]int{}
		for _, id := range ids {
			states[k.job(id).State]++
		}
		if n := states[domain.Done] + states[domain.Ready] + states[domain.Blocked]; n != len(ids) || states[domain.Done] != len(g.starts()) {
			t.Fatalf("%d ran; after the stop the jobs are %v", len(g.starts()), states)
		}
		k.wantNothingHeld()
		if g.peak() > 4 {
			t.Fatalf("%d ran at once", g.peak())
		}
	}
}

// A job keeps its slot while its handler runs, past its timeout too, also where another
// took it, whose row is over.
func TestWhoHasASlotKeepsIt(t *testing.T) {
	for _, c := range []struct {
		timeout time.Duration
		borrows bool
	}{{time.Minute, true}, {2 * time.Second, true}, {2 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			var g gauge
			var hangs atomic.Bool
			long := make(chan struct{})
			k.handle("k", func(_ context.Context, task driven.Task) error {
				g.in()
				defer g.out()
				if time.Sleep(5 * time.Millisecond); k.borrows(task.ID) == c.borrows && hangs.CompareAndSwap(false, true) {
					<-long
				}
				return nil
			}, limited(3), work.Timeout(c.timeout))
			for range 2 {
				k.started(runner.Config{Queues: runner.Queues{"default": 3}, Lease: time.Second})
			}
			k.put("k", 3000)
			done, swept := make(chan struct{}), make(chan int)
			go func() { swept <- k.sweep(done) }()
			time.Sleep(5 * time.Second)
			if !hangs.Load() || g.peak() != 3 || len(g.starts()) < 1000 {
				t.Errorf("%+v: one hangs: %v; of %d jobs %d ran at once", c, hangs.Load(), len(g.starts()), g.peak())
			}
			close(long)
			time.Sleep(5 * time.Second)
			close(done)
			<-swept
			k.wantNothingHeld()
		})
	}
}

// borrows says that no slot was taken by this job, which runs.
func (k *kit) borrows(id domain.JobID) bool {
	held, err := k.store.Held(k.t.Context(), domain.Slot{}, 10)
	must(k.t, err)
	return !slices.ContainsFunc(held, func(h domain.Holder) bool { return h.Job == id })
}
