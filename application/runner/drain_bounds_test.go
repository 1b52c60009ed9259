package runner_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// A drain does not wait for polls to find out that nobody of a backlog can start.
func TestADrainOfALimitAndARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		run := func(context.Context, driven.Task) error { time.Sleep(100 * time.Millisecond); return nil }
		k.handle("k", run, limited(1), work.Rated(work.Rate{N: 1, Window: time.Hour}), minute)
		k.put("k", 300)
		began := k.since()
		got, err := k.runner(runner.Config{Concurrency: 20}).Drain(t.Context(), driving.DrainOptions{})
		if took := k.since() - began; err != nil || got.Completed != 1 || took > time.Second {
			t.Errorf("%+v, %v after %v", got, err, took)
		}
	})
}

// pausing holds its slot while others are parked, and then pauses their kind.
func (k *kit) pausing(kind string) func(context.Context, driven.Task) error {
	return func(context.Context, driven.Task) error {
		time.Sleep(time.Second)
		must(k.t, k.store.Pause(k.t.Context(), domain.Switch{Sort: domain.SwitchKind, Name: kind}))
		time.Sleep(3 * time.Second)
		return nil
	}
}

// A drain goes on while somebody is left who can have the slot of one who is paused.
func TestADrainPassesThePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		shared := work.Limited(work.Limit{N: 1, Group: "g"})
		nothing := func(context.Context, driven.Task) error { return nil }
		k.handle("off", nothing, shared, minute)
		k.handle("on", nothing, shared, minute)
		k.handle("first", k.pausing("off"), shared, minute)
		k.put("first", 1)
		k.put("off", 3)
		on := k.put("on", 3)
		if _, err := k.runner(runner.Config{Concurrency: 8}).Drain(t.Context(), driving.DrainOptions{}); err != nil {
			t.Error(err)
		}
		k.wantState(domain.Done, on...)
	})
}

// A drain that makes more due than one call wakes ends, though others were faster.
func TestADrainThatHastensManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { return nil }, minute)
		for i := range 450 {
			k.put("k", 1, keyed(domain.TurnMutex, strconv.Itoa(i)), func(j *domain.NewJob) { j.Due = domain.Due{After: time.Hour} })
		}
		others := func(r driven.ClaimRequest) error {
			r.Token, r.Runner, r.Lease, r.N = k.ids.NewToken(), "other", time.Hour, 1000
			_, err := k.store.Store.Claim(t.Context(), r)
			return err
		}
		k.store.claim.Store(&others)
		began := k.since()
		_, err := k.runner(runner.Config{Concurrency: 20}).Drain(t.Context(), driving.DrainOptions{IncludeDelayed: true, Limit: time.Hour})
		if took := k.since() - began; err != nil || took > time.Minute {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// A drain does not go along a whole line of those whom nobody claims.
func TestADrainLeavesALineThatNobodyClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		shared := work.Limited(work.Limit{N: 1, Group: "g"})
		nothing := func(context.Context, driven.Task) error { return nil }
		k.handle("off", nothing, shared, minute)
		k.handle("first", k.pausing("off"), shared, minute)
		slow := func(op string) error {
			if op == "wake" {
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		}
		k.store.bound.Store(&slow)
		k.put("first", 1)
		k.put("off", 3000)
		began := k.since()
		_, err := k.runner(runner.Config{Concurrency: 8}).Drain(t.Context(), driving.DrainOptions{})
		if took := k.since() - began; err != nil || took > 8*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}
