package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

func TestDrainRunsWhatIsDue(t *testing.T) {
	for name, cfg := range map[string]runner.Config{
		"all queues": {}, "named": {Queues: runner.Queues{"default": 3, "other": 1, "empty": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				boom := errors.New("boom")
				k.handle("done", func(context.Context, driven.Task) error { time.Sleep(10 * time.Millisecond); return nil })
				k.handle("retry", func(context.Context, driven.Task) error { return work.RetryAfter(time.Hour, boom) })
				k.handle("dead", func(context.Context, driven.Task) error { return work.Bury(boom) })
				k.handle("snooze", func(context.Context, driven.Task) error { return work.Snooze(time.Hour) })
				k.handle("cancel", func(context.Context, driven.Task) error { return work.Cancel(boom) })
				k.handle("nest", func(_ context.Context, task driven.Task) error {
					time.Sleep(3 * time.Second)
					if n := task.Args[5]; n < '3' {
						k.put("nest", 1, inQueue("other"), func(j *domain.NewJob) { j.Args = []byte{'{', '"', 'n', '"', ':', n + 1, '}'} })
					}
					return nil
				})
				k.put("done", 100)
				k.put("retry", 2)
				k.put("dead", 3)
				k.put("snooze", 4)
				k.put("cancel", 5)
				k.put("nest", 1)
				late, unknown := k.put("done", 1, after(time.Hour)), k.put("unknown", 1)
				r := k.runner(cfg)
				var told []driving.Drained
				got, err := r.Drain(t.Context(), driving.DrainOptions{Limit: driving.NoLimit, Progress: func(d driving.Drained) { told = append(told, d) }})
				must(t, err)
				want := driving.Drained{Completed: 104, Retried: 2, Dead: 3, Snoozed: 4, Cancelled: 5}
				if got != want || len(told) == 0 || told[len(told)-1] != want {
					t.Fatalf("drained %+v, want %+v; told %v", got, want, told)
				}
				if k.since() > 20*time.Second {
					t.Fatalf("it took %v", k.since())
				}
				k.wantState(domain.Scheduled, late...)
				k.wantState(domain.Ready, unknown...)
				again, err := r.Drain(t.Context(), drainAll)
				must(t, err)
				if again != (driving.Drained{}) {
					t.Fatalf("the second drain: %+v", again)
				}
				must(t, r.Start(t.Context()))
				k.stop(r)
			})
		})
	}
}

func TestDrainWithoutHandlersIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.put("k", 1)
		got, err := k.runner(runner.Config{}).Drain(t.Context(), drainAll)
		if err != nil || got != (driving.Drained{}) || k.since() != 0 {
			t.Fatalf("%+v, %v after %v", got, err, k.since())
		}
	})
}

func TestDrainEndsAtItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(ctx context.Context, _ driven.Task) error {
			select {
			case <-time.After(3 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ids := k.put("k", 10)
		got, err := k.runner(runner.Config{Concurrency: 2}).Drain(t.Context(), driving.DrainOptions{Limit: 7 * time.Second})
		wantCode(t, err, domain.Canceled)
		if took := k.since(); took < 7*time.Second || took > 9*time.Second || got.Completed < 4 || got.Completed > 6 {
			t.Fatalf("%+v after %v", got, took)
		}
		for _, id := range ids {
			if j := k.job(id); j.State != domain.Done && (j.State != domain.Ready || j.Attempts != 0) {
				t.Fatalf("%v, %d attempts", j.State, j.Attempts)
			}
		}
	})
}

func TestDrainThatIsCancelledLetsHandlersFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(ctx context.Context, _ driven.Task) error { time.Sleep(10 * time.Second); return ctx.Err() })
		k.put("k", 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := k.runner(runner.Config{Concurrency: 2}).Drain(ctx, drainAll)
		wantCode(t, err, domain.Canceled)
		if got.Completed != 2 || k.since() != 10*time.Second {
			t.Fatalf("%+v after %v", got, k.since())
		}
	})
}

func TestDrainSurvivesAStoreThatFailsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var tries atomic.Int64
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		k.put("k", 10)
		k.store.claim.Store(new(func(driven.ClaimRequest) error {
			if tries.Add(1) < 5 {
				return down("claim")
			}
			return nil
		}))
		got, err := k.runner(runner.Config{}).Drain(t.Context(), drainAll)
		if err != nil || got.Completed != 10 {
			t.Fatalf("%+v, %v", got, err)
		}
		k.put("k", 1)
		k.store.claim.Store(new(func(driven.ClaimRequest) error { return down("claim") }))
		_, err = k.runner(runner.Config{}).Drain(t.Context(), drainAll)
		wantCode(t, err, domain.Unavailable)
	})
}

func TestStopEndsADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { time.Sleep(time.Minute); return nil })
		k.put("k", 100)
		r := k.runner(runner.Config{Concurrency: 1})
		time.AfterFunc(90*time.Second, func() { k.stop(r) })
		got, err := r.Drain(t.Context(), drainAll)
		wantCode(t, err, domain.Canceled)
		if got.Completed != 2 {
			t.Fatalf("%+v", got)
		}
		wantCode(t, r.Start(t.Context()), domain.Conflict)
	})
}

func TestSettings(t *testing.T) {
	k := newKit(t)
	deps := runner.Deps{Store: k.store, Registry: k.reg, IDs: k.ids, Clock: wall{}}
	for name, cfg := range map[string]runner.Config{
		"lease under 3 renewals": {Lease: time.Minute, Renew: 21 * time.Second},
		"renewals":               {Renew: -1}, "lease": {Lease: -time.Second}, "tiny lease": {Lease: time.Millisecond},
		"poll": {Poll: -1}, "poll over the lease": {Poll: time.Minute, Lease: time.Minute}, "concurrency": {Concurrency: -1},
		"workers": {Queues: runner.Queues{"a": 0}}, "queue": {Queues: runner.Queues{"": 1}}, "stop": {StopTimeout: -1},
		"fair":    {Queues: runner.Queues{"a": 1}, Fair: []string{"b"}},
		"timeout": {Timeout: -1}, "retry": {Retry: domain.RetryPolicy{Base: 1}}, "keep": {Keep: domain.Retention{Dead: 1}},
	} {
		if _, err := runner.New(cfg, deps); domain.CodeOf(err) != domain.Invalid || domain.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := runner.New(runner.Config{}, runner.Deps{}); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("no store: %v", err)
	}
	for name, cfg := range map[string]runner.Config{"none": {}, "short lease": {Lease: 300 * time.Millisecond}} {
		if _, err := runner.New(cfg, deps); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Queues whose jobs are all due later are quiet, however many they are.
func TestDrainEndsBesideQueuesOfDelayedJobs(t *testing.T) {
	for _, queues := range []int{2, 250} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			k.handle("k", func(context.Context, driven.Task) error { return nil })
			for i := range queues {
				k.put("k", 1, inQueue(fmt.Sprint("queue ", i)), after(time.Hour))
			}
			ids := k.put("k", 3, inQueue("due"))
			_, err := k.runner(runner.Config{}).Drain(t.Context(), driving.DrainOptions{Limit: time.Minute})
			must(t, err)
			k.wantState(domain.Done, ids...)
		})
	}
}

// A drain that names no limit has ten seconds.
func TestDrainHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(ctx context.Context, _ driven.Task) error { <-ctx.Done(); return ctx.Err() })
		k.put("k", 1)
		_, err := k.runner(runner.Config{}).Drain(t.Context(), driving.DrainOptions{})
		wantCode(t, err, domain.Canceled)
		if took := k.since(); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
