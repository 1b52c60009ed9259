package rowlock

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// The words of Drain, so that a caller needs no other package.
type (
	// DrainOptions bounds a drain.
	DrainOptions = driving.DrainOptions
	// Drained counts what a drain settled.
	Drained = driving.Drained
)

// NoLimit is the Limit of a drain that takes as long as it takes.
const NoLimit = driving.NoLimit

// Work runs jobs until the context ends or the queue is closed, then stops
// gracefully: handlers have StopTimeout to finish. It returns nil after a stop
// in which all did, also where the context ended before any started. Any number
// of calls may work at once.
func (q *Queue) Work(ctx context.Context, opts ...WorkOption) error {
	return q.Worker(opts...).Work(ctx)
}

// Drain puts back what a crash left, runs everything that is due, also what the
// handlers enqueue, and returns, after 10 s at the latest where no limit is named. It
// does not wait for back-offs; with IncludeDelayed it runs what is due later too, now.
func (q *Queue) Drain(ctx context.Context, o DrainOptions, opts ...WorkOption) (Drained, error) {
	return q.Worker(opts...).Drain(ctx, o)
}

// Worker is Work and Drain with their options, as the port that others drive.
func (q *Queue) Worker(opts ...WorkOption) driving.Worker {
	w := worker{queue: q, runner: runner.Config{Keep: q.keep}, upkeep: upkeep.Config{Keep: q.keep}}
	for _, opt := range opts {
		opt(&w)
	}
	return w
}

// worker is one setting of Work.
type worker struct {
	queue  *Queue
	runner runner.Config
	upkeep upkeep.Config
}

var _ driving.Worker = worker{}

func (w worker) Work(ctx context.Context) error {
	ctx, leave, err := w.queue.life.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r, keeper, err := w.hire(ctx)
	if err != nil {
		return domain.UnlessEnded(ctx, err)
	}
	if err := keeper.Start(ctx); err != nil {
		return domain.UnlessEnded(ctx, err)
	}
	return errors.Join(w.work(ctx, r), dismiss(ctx, keeper))
}

func (w worker) Drain(ctx context.Context, o DrainOptions) (drained Drained, err error) {
	ctx, leave, err := w.queue.life.enter(ctx)
	if err != nil {
		return drained, err
	}
	defer leave()
	r, keeper, err := w.hire(ctx)
	if err != nil {
		return drained, err
	}
	recovered, err := keeper.Sweep(ctx)
	if err != nil {
		return Drained{Recovered: recovered}, err
	}
	if err := keeper.Start(ctx); err != nil {
		return drained, err
	}
	drained, err = r.Drain(ctx, o)
	drained.Recovered = recovered
	return drained, errors.Join(err, dismiss(ctx, keeper))
}

// hire makes the runner and the upkeep that goes with it. It starts nothing.
func (w worker) hire(ctx context.Context) (*runner.Runner, *upkeep.Service, error) {
	q := w.queue
	if err := q.refused.err(); err != nil {
		return nil, nil, err
	}
	if err := ready(ctx, q.backend.Store); err != nil {
		return nil, nil, err
	}
	r, err := runner.New(w.runner, runner.Deps{
		Store: q.backend.Store, Registry: q.registry, IDs: q.ids, Clock: q.clock, Observer: q.observer, Wake: q.wake, Pool: q.backend.Pool,
	})
	if err != nil {
		return nil, nil, err
	}
	deps := q.upkeepDeps()
	deps.Runner, deps.Attempts = r.ID(), cmp.Or(w.runner.Retry, domain.DefaultRetry()).MaxAttempts
	if deps.Failures, err = q.registry.Failures(); err != nil {
		return nil, nil, err
	}
	keeper, err := upkeep.New(w.upkeep.For(w.runner.Lease, w.runner.Renew), deps)
	return r, keeper, err
}

// ready asks the tables whether they are there, so that a start fails with what
// is to be done and no loop fails for ever.
func ready(ctx context.Context, store driven.Store) error {
	if _, err := store.Queues(ctx, "", 1); err != nil {
		return err
	}
	_, err := store.ListRunners(ctx, 1)
	return err
}

// dismissal is how long upkeep and schedules may take to end the pass they are in.
const dismissal = 10 * time.Second

func dismiss(ctx context.Context, keeper interface{ Stop(context.Context) error }) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), dismissal)
	defer cancel()
	return keeper.Stop(bounded)
}
