package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

var withDelayed = driving.DrainOptions{IncludeDelayed: true}

// Each round takes in what is delayed: a retry until it is done or dead, a snooze, and
// what handlers delay themselves; in every queue that is worked, and no kind that is
// not handled.
func TestDrainIncludesTheDelayed(t *testing.T) {
	for name, cfg := range map[string]runner.Config{
		"all queues": {}, "named": {Queues: runner.Queues{"default": 3, "other": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("fails", func(context.Context, driven.Task) error { return errors.New("boom") })
				k.handle("third", func(_ context.Context, task driven.Task) error {
					if task.Attempt < 3 {
						return work.RetryAfter(time.Hour, errors.New("not yet"))
					}
					return nil
				})
				naps := 0
				k.handle("snoozes", func(context.Context, driven.Task) error {
					if naps++; naps < 5 {
						return work.Snooze(24 * time.Hour)
					}
					return nil
				})
				k.handle("nests", func(_ context.Context, task driven.Task) error {
					if n := task.Args[5]; n < '3' {
						k.put("nests", 1, inQueue("other"), after(time.Hour), func(j *domain.NewJob) { j.Args = fmt.Appendf(nil, `{"n":%c}`, n+1) })
					}
					return nil
				})
				done := append(k.put("third", 2), k.put("snoozes", 1)...)
				done = append(done, k.put("nests", 600, after(30*24*time.Hour), func(j *domain.NewJob) { j.Args = []byte(`{"n":3}`) })...) // more than a page
				done = append(done, k.put("nests", 1, after(time.Hour))...)
				dead, unknown := k.put("fails", 2), k.put("unknown", 1, after(time.Hour))
				got, err := k.runner(cfg).Drain(t.Context(), withDelayed)
				must(t, err)
				if want := (driving.Drained{Completed: 607, Retried: 2*2 + 2*4, Snoozed: 4, Dead: 2}); got != want {
					t.Errorf("drained %+v, want %+v", got, want)
				}
				k.wantState(domain.Done, done...)
				k.wantState(domain.Dead, dead...)
				k.wantState(domain.Scheduled, unknown...)
			})
		})
	}
}

// What is paused, and what is in a queue that is not worked, keeps its time.
func TestDrainLeavesThePausedDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		k.handle("off", func(context.Context, driven.Task) error { return nil })
		kept := append(k.put("off", 1, after(time.Hour)), k.put("k", 1, inQueue("off"), after(time.Hour))...)
		kept = append(kept, k.put("k", 1, inQueue("another"), after(time.Hour))...)
		must(t, k.store.Pause(t.Context(), domain.Switch{Sort: domain.SwitchKind, Name: "off"}))
		must(t, k.store.Pause(t.Context(), domain.Switch{Sort: domain.SwitchQueue, Name: "off"}))
		ids := k.put("k", 2, after(time.Hour))
		_, err := k.runner(runner.Config{Queues: runner.Queues{"default": 1, "off": 1}}).Drain(t.Context(), withDelayed)
		must(t, err)
		k.wantState(domain.Done, ids...)
		k.wantState(domain.Scheduled, kept...)
		for _, id := range kept {
			if due := k.job(id).RunAt.Sub(k.start); due != time.Hour {
				t.Errorf("it is due after %v now", due)
			}
		}
	})
}

// A job that never ends is no reason to drain for ever.
func TestDrainOfEndlessSnoozesEndsAtItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { time.Sleep(time.Second); return work.Snooze(time.Hour) })
		k.put("k", 1)
		got, err := k.runner(runner.Config{}).Drain(t.Context(), driving.DrainOptions{IncludeDelayed: true, Limit: 5 * time.Second})
		wantCode(t, err, domain.Canceled)
		if got.Snoozed < 4 || got.Snoozed > 6 || k.since() > 7*time.Second {
			t.Errorf("%+v after %v", got, k.since())
		}
	})
}
