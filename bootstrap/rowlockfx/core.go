package rowlockfx

import (
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/adapters/driven/retrystore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/adapters/driven/zaplog"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// coreParams is what the services stand on. What the host does not have, the
// system gives.
type coreParams struct {
	fx.In

	Backend  driven.Backend
	Clock    driven.Clock    `optional:"true"`
	IDs      driven.IDs      `optional:"true"`
	Observer driven.Observer `optional:"true"`
	Log      *zap.Logger     `optional:"true"`
}

// core is the same, complete.
type core struct {
	backend  driven.Backend
	clock    driven.Clock
	ids      driven.IDs
	observer driven.Observer
	wake     driven.Notifier
}

func (m *module) newCore(p coreParams) (core, error) {
	if p.Backend.Store == nil || p.Backend.Close == nil {
		return core{}, &domain.Fault{Code: domain.Invalid, Op: "make fx module", Subject: p.Backend.Name, Hint: "the backend has no Store or no Close"}
	}
	c := core{
		backend: retrystore.Wrap(p.Backend), clock: p.Clock, ids: p.IDs, observer: p.Observer,
		wake: system.Join(system.NewBell(), p.Backend.Notify),
	}
	if c.clock == nil {
		c.clock = system.Clock()
	}
	if c.ids == nil {
		c.ids = system.IDs()
	}
	if p.Log != nil {
		c.observer = system.Tee(c.observer, zaplog.New(p.Log.Named(m.scope())))
	}
	return c, nil
}
