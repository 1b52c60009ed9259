package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
)

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
