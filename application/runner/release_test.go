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

// What a handler holds that outlasts a stop is due when the process must be gone, and
// not before: neither the job nor another of its limit runs beside it. The attempt is
// unused, and no sweep has anything to do with it.
func TestAnUnfinishedJobIsReleased(t *testing.T) {
	for name, c := range map[string]struct{ exits, due time.Duration }{
		"the lease": {0, 10*time.Second + time.Minute + 2*time.Second}, "as set": {20 * time.Second, 32 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, g := newKit(t), &gauge{}
				k.handle("k", stubborn(g, 25*time.Second, time.Second), work.Timeout(time.Hour), limited(1))
				cfg := lease(time.Minute)
				cfg.ExitsWithin = c.exits
				r := k.started(cfg)
				id := k.put("k", 1)[0]
				synctest.Wait()
				other := k.put("k", 1)[0]
				k.started(lease(time.Minute))
				took, err := k.stopIn(r, 10*time.Second)
				wantCode(t, err, domain.Canceled)
				j := k.job(id)
				if took != 10*time.Second || j.State != domain.Scheduled || j.Attempts != 0 || len(j.History) != 0 || j.Error != "" {
					t.Fatalf("stop took %v, the job is %+v", took, j)
				}
				if due := j.RunAt.Sub(k.start); due != c.due {
					t.Errorf("it is due after %v, want %v", due, c.due)
				}
				time.Sleep(c.due - k.since() - time.Millisecond)
				if n := len(g.starts()); n != 1 {
					t.Fatalf("%d started before the process was gone", n)
				}
				time.Sleep(10 * time.Second)
				k.wantState(domain.Done, id, other)
				if j := k.job(id); j.Attempts != 1 || j.Stalls != 0 || g.peak() != 1 || len(g.starts()) != 3 {
					t.Errorf("%d attempts, %d stalls, %d at once, %d runs", j.Attempts, j.Stalls, g.peak(), len(g.starts()))
				}
				if k.count(domain.EventReleased) != 1 || k.count(domain.EventOutcomeDropped) != 1 || k.count(domain.EventLeaseLost) != 0 {
					t.Errorf("%d released, %d dropped, %d lost", k.count(domain.EventReleased), k.count(domain.EventOutcomeDropped), k.count(domain.EventLeaseLost))
				}
			})
		})
	}
}

// A handler that is past its timeout when its process stops has used the attempt; the
// next one waits until that process is gone, and so does whoever wants its slot.
func TestAStuckJobsNextAttemptWaitsForTheExit(t *testing.T) {
	for name, c := range map[string]struct {
		jobs int
		more []work.Option
	}{"alone": {1, nil}, "under a limit": {2, []work.Option{limited(1)}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, g := newKit(t), &gauge{}
				soon := work.Backoff(func(int, error) time.Duration { return time.Second })
				k.handle("k", stubborn(g, 6*time.Minute, time.Second), append(c.more, work.Timeout(5*time.Second), soon)...)
				cfg := lease(time.Minute)
				cfg.ExitsWithin = 5 * time.Minute
				r := k.started(cfg)
				k.sweeping(10*time.Second, time.Minute)
				ids := k.put("k", c.jobs)
				time.Sleep(6 * time.Second)
				k.started(lease(time.Minute))
				_, err := k.stopIn(r, 10*time.Second)
				wantCode(t, err, domain.Canceled)
				time.Sleep(5 * time.Minute)
				if n := len(g.starts()); n != 1 {
					t.Fatalf("%d started before the process was gone", n)
				}
				time.Sleep(10 * time.Minute)
				k.wantState(domain.Done, ids...)
				attempts := 0
				for _, id := range ids {
					attempts += k.job(id).Attempts
				}
				if attempts != c.jobs+1 || k.count(domain.EventReleased) != 0 {
					t.Errorf("%d attempts, %d released", attempts, k.count(domain.EventReleased))
				}
			})
		})
	}
}

// A store that is away when jobs are to be given back leaves them to their leases, and
// the stop still ends by its deadline.
func TestAReleaseThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { time.Sleep(time.Hour); return nil })
		var tries atomic.Int64
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		synctest.Wait()
		k.store.settle.Store(new(func([]driven.Outcome) error { tries.Add(1); return down("settle") }))
		took, err := k.stopIn(r, 10*time.Second)
		wantCode(t, err, domain.Canceled)
		if took != 10*time.Second || tries.Load() < 2 {
			t.Errorf("stop took %v, %d tries", took, tries.Load())
		}
		k.wantState(domain.Running, id)
		time.Sleep(2 * time.Hour)
		k.wantState(domain.Running, id)
	})
}

// A stop whose context is cancelled gives back in the moment that it takes.
func TestACancelledStopReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { time.Sleep(10 * time.Minute); return nil })
		r := k.started(runner.Config{})
		id := k.put("k", 1)[0]
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantCode(t, r.Stop(ctx), domain.Canceled)
		if j := k.job(id); k.since() != time.Second || j.State != domain.Scheduled || j.RunAt.Sub(k.start) != 63*time.Second {
			t.Errorf("after %v it is %v, due after %v", k.since(), j.State, j.RunAt.Sub(k.start))
		}
		time.Sleep(10 * time.Minute)
	})
}
