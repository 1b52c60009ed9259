package main

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// heartbeat is the kind of the demo's schedule.
type heartbeat struct{}

func (heartbeat) Kind() string { return "demo/heartbeat" }

// beats is how often the schedule is seen to run.
const beats = 2

func (t *tour) scheduleHandlers() {
	rowlock.Handle(t.queue, func(context.Context, work.Job[heartbeat]) error {
		t.beats.Add(1)
		return nil
	})
}

// clockwork adds a schedule, as an operator does, and deletes it when it has run.
func (t *tour) clockwork(ctx context.Context) error {
	const name = "heartbeat"
	template, err := t.queue.Template(ctx, heartbeat{})
	if err != nil {
		return err
	}
	s, err := schedules.Every(time.Second).Schedule(name, template)
	if err != nil {
		return err
	}
	ops := t.queue.Schedules()
	if err := ops.Add(ctx, s); err != nil {
		return err
	}
	if err := t.until(ctx, func(domain.Tally) bool { return t.beats.Load() >= beats }); err != nil {
		return err
	}
	if err := ops.Delete(ctx, name); err != nil {
		return err
	}
	made, err := t.queue.Inspect().Count(ctx, domain.Filter{Kind: heartbeat{}.Kind()})
	if err != nil {
		return err
	}
	t.ticks = made.N
	t.enqueued.Add(int64(made.N))
	t.say("11. Added a schedule of every second and deleted it when it had run: %d ticks, one job each.", made.N)
	return t.until(ctx, t.settled)
}
