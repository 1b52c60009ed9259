package rowlockfx

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/fx"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// newRegistry registers every handler of the group.
func newRegistry(handlers []registration) (*work.Registry, error) {
	r := work.NewRegistry()
	for _, register := range handlers {
		if err := register(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// work starts the runner with the app and stops it before anything that the
// handlers or the backend need: fx stops in the reverse order of construction.
func (m *module) work(life fx.Lifecycle, c core, handlers *work.Registry) error {
	cfg, up := *m.worker, m.upkeep
	if cfg.Keep == (domain.Retention{}) {
		cfg.Keep = m.keep
	}
	if up.Keep == (domain.Retention{}) {
		up.Keep = cfg.Keep
	}
	r, err := runner.New(cfg, runner.Deps{
		Store: c.backend.Store, Registry: handlers, IDs: c.ids, Clock: c.clock, Observer: c.observer, Wake: c.wake, Pool: c.backend.Pool,
	})
	if err != nil {
		return err
	}
	failures, err := handlers.Failures()
	if err != nil {
		return err
	}
	keeper, err := upkeep.New(up.For(cfg.Lease, cfg.Renew), upkeep.Deps{
		Store: c.backend.Store, Runner: r.ID(), Observer: c.observer, Wake: c.wake, Clock: c.clock,
		Failures: failures, Attempts: cmp.Or(cfg.Retry, domain.DefaultRetry()).MaxAttempts,
	})
	if err != nil {
		return err
	}
	life.Append(fx.StartHook(func(ctx context.Context) error { return ready(ctx, c.backend.Store) }))
	life.Append(fx.Hook{OnStart: r.Start, OnStop: early(r.Stop)})
	life.Append(fx.Hook{OnStart: keeper.Start, OnStop: keeper.Stop})
	return nil
}

// early stops something a little before the app's deadline. Past that fx runs no
// hook any more, and what stops after the runner, e.g. the host's pool, would
// stay open.
func early(stop func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if deadline, ok := ctx.Deadline(); ok {
			left := deadline.Sub(system.Clock().Now())
			bounded, cancel := context.WithDeadline(ctx, deadline.Add(-min(time.Second, left/10)))
			defer cancel()
			ctx = bounded
		}
		return stop(ctx)
	}
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
