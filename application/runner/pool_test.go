package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// A pool that is smaller than the need is told of once, when the work begins; one that
// is large enough, has no bound or is not known is not.
func TestASmallPoolIsTold(t *testing.T) {
	two := runner.Queues{"a": 50, "b": 1}
	for name, c := range map[string]struct {
		cfg  runner.Config
		pool func() int
		told int
	}{
		"one":         {runner.Config{}, func() int { return 1 }, 1},
		"three":       {runner.Config{}, func() int { return 3 }, 1},
		"four":        {runner.Config{}, func() int { return 4 }, 0},
		"two queues":  {runner.Config{Queues: two}, func() int { return 4 }, 1},
		"many queues": {runner.Config{Queues: runner.Queues{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}}, func() int { return 7 }, 0},
		"no bound":    {runner.Config{}, func() int { return 0 }, 0},
		"not known":   {runner.Config{}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("k", func(context.Context, driven.Task) error { return nil })
				r, err := runner.New(c.cfg, runner.Deps{
					Store: k.store, Registry: k.reg, IDs: k.ids, Clock: system.Clock(), Observer: k, Wake: k.bell, Pool: c.pool,
				})
				must(t, err)
				must(t, r.Start(t.Context()))
				time.Sleep(time.Hour)
				k.stop(r)
				if n := k.count(domain.EventPoolSmall); n != c.told {
					t.Fatalf("told %d times, want %d", n, c.told)
				}
				for _, e := range k.events {
					if e.Type == domain.EventPoolSmall && (e.Count != c.pool() || e.Err == nil) {
						t.Errorf("told %+v", e)
					}
				}
			})
		})
	}
}
