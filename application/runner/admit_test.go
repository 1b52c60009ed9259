package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/domain"
)

// Where the store does not answer an admission, it is asked again for a renewal
// interval, and the claims are then given back.
func TestAnAdmissionThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(time.Second), limited(2), minute)
		fails := func(op string) error {
			if op == "admit" {
				return down(op)
			}
			return nil
		}
		k.store.bound.Store(&fails)
		k.started(runner.Config{Concurrency: 4})
		ids := k.put("k", 10)
		time.Sleep(10*time.Second + time.Second/2)
		k.wantState(domain.Running, ids[0])
		if n := k.store.claims.Load(); n > 30 {
			t.Errorf("%d claims in 10 s", n)
		}
		if n := k.store.bounds.Load(); n > 60 {
			t.Errorf("%d calls of bounds in 10 s", n)
		}
		time.Sleep(45 * time.Second)
		if n := k.count(domain.EventReleased) + k.count(domain.EventLeaseLost); n == 0 {
			t.Error("claims that nobody answers for were kept")
		}
		k.store.bound.Store(nil)
		time.Sleep(50 * time.Second)
		k.wantState(domain.Done, ids...)
		if g.peak() != 2 || k.job(ids[0]).Attempts != 1 {
			t.Errorf("%d ran at once, %d attempts", g.peak(), k.job(ids[0]).Attempts)
		}
	})
}

// An admission whose answer is lost has taken the slot: it is asked again and found,
// so that nobody waits for a sweep and its linger.
func TestAnAdmissionThatIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(time.Second), limited(1), minute)
		k.store.unheard.Store(1)
		k.started(runner.Config{Concurrency: 4})
		ids := k.put("k", 3)
		time.Sleep(8 * time.Second)
		k.wantState(domain.Done, ids...)
		if g.peak() != 1 {
			t.Errorf("%d ran at once", g.peak())
		}
		if lost, parked := k.count(domain.EventLeaseLost), k.count(domain.EventParked); lost > 0 || parked < 2 {
			t.Errorf("%d claims were called lost, %d parked", lost, parked)
		}
	})
}
