package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
)

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
