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

// The backlog of a kind that has both a limit and a rate does not go from one line to
// the other with each slot that is free; who lacks only one of the two is found behind it.
func TestABacklogStaysInItsLine(t *testing.T) {
	const backlog = 1000
	limit, rate := work.Limit{N: 1, Group: "g"}, work.Rate{N: 10, Window: time.Second, Group: "g"}
	for name, run := range map[string]func(i int) time.Duration{
		"the limit is full": func(int) time.Duration { return 50 * time.Second },
		"the rate is full":  func(int) time.Duration { return time.Millisecond },
		"now one, now the other": func(i int) time.Duration {
			if i%20 == 0 {
				return 2 * time.Second
			}
			return time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				started := 0
				k.handle("both", func(context.Context, driven.Task) error { started++; time.Sleep(run(started)); return nil }, work.Limited(limit), work.Rated(rate), minute)
				k.handle("one", func(context.Context, driven.Task) error { return nil }, work.Rated(rate), minute)
				k.started(runner.Config{Concurrency: 4})
				k.put("both", backlog)
				time.Sleep(time.Second)
				behind := k.put("one", 1)
				time.Sleep(10 * time.Second)
				if run(1) > time.Minute/2 { // else the backlog needs the rate before it
					k.wantState(domain.Done, behind...)
				}
				time.Sleep(20 * time.Second)
				starts, parked := k.count(domain.EventCompleted), k.count(domain.EventParked)
				if starts < 150 && run(1) < time.Minute/2 {
					t.Errorf("%d starts in 30 s", starts)
				}
				if parked > backlog+2*starts+2*128*31 { // in each line 128 are tried in a second
					t.Errorf("%d jobs were parked %d times, and %d started", backlog, parked, starts)
				}
			})
		})
	}
}
