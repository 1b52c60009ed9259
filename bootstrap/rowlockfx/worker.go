package rowlockfx

import (
	"go.uber.org/fx"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
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
// The stop's context bounds how long handlers may take to finish.
func (m *module) work(life fx.Lifecycle, c core, handlers *work.Registry) error {
	cfg, up := *m.worker, m.upkeep
	if cfg.Keep == (domain.Retention{}) {
		cfg.Keep = m.keep
	}
	if up.Keep == (domain.Retention{}) {
		up.Keep = cfg.Keep
	}
	r, err := runner.New(cfg, runner.Deps{
		Store: c.backend.Store, Registry: handlers, IDs: c.ids, Clock: c.clock, Observer: c.observer, Wake: c.wake,
	})
	if err != nil {
		return err
	}
	keeper, err := upkeep.New(up.For(cfg.Lease, cfg.Renew), upkeep.Deps{
		Store: c.backend.Store, Runner: r.ID(), Observer: c.observer, Wake: c.wake, Clock: c.clock,
	})
	if err != nil {
		return err
	}
	life.Append(fx.Hook{OnStart: keeper.Start, OnStop: keeper.Stop})
	life.Append(fx.Hook{OnStart: r.Start, OnStop: r.Stop})
	return nil
}
