package runner_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// What is held is kept also while there is always somebody to wake.
func TestAHandlerThatRunsOnKeepsItsSlotBesideMuchToWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", stubborn(&g, time.Minute, time.Second), work.Timeout(2*time.Second), work.MaxAttempts(1), limited(1))
		k.handle("turn", func(context.Context, driven.Task) error { time.Sleep(10 * time.Millisecond); return nil }, minute)
		slow := func(op string) error {
			if op == "wake" {
				time.Sleep(30 * time.Millisecond) // in which others end
			}
			return nil
		}
		k.store.bound.Store(&slow)
		cfg := lease(4 * time.Second)
		cfg.Concurrency = 4
		k.started(cfg)
		k.sweeping(2*time.Second, 4*time.Second)
		ids := k.put("k", 2)
		for i := range 50 {
			for j := range 240 {
				k.put("turn", 1, keyed(domain.TurnMutex, strconv.Itoa(240*i+j)))
			}
			time.Sleep(500 * time.Millisecond)
		}
		k.wantState(domain.Dead, ids[0])
		k.wantState(domain.Blocked, ids[1])
		if g.peak() != 1 {
			t.Errorf("%d ran at once", g.peak())
		}
	})
}
