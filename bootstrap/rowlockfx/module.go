package rowlockfx

import (
	"context"

	"go.uber.org/fx"

	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/inspect"
	"github.com/rowlock/rowlock/application/operate"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// module is what the options set.
type module struct {
	name    string
	backend any
	migrate bool
	worker  *runner.Config
	upkeep  upkeep.Config
	keep    domain.Retention

	namespace string
	declared  []declaration
}

// Module is Rowlock in the host's app. An app has one without a name, or any
// number of Named ones.
func Module(opts ...Option) fx.Option {
	m := &module{}
	for _, opt := range opts {
		opt(m)
	}
	if err := m.check(); err != nil {
		return fx.Error(err)
	}
	parts := []fx.Option{
		fx.Provide(m.store(), m.newCore, fx.Private),
		fx.Provide(m.public(newClient), m.public(newBatches), m.public(m.newOperate), m.public(m.newBounds), m.public(newInspect), m.public(newSchedules)),
	}
	if m.worker != nil {
		parts = append(parts,
			fx.Provide(fx.Annotate(newRegistry, fx.ParamTags(group(m.name))), fx.Private),
			fx.Invoke(m.work, m.tick),
		)
	}
	return fx.Module(m.scope(), parts...)
}

func (m *module) check() error {
	if m.backend == nil {
		return &domain.Fault{Code: domain.Invalid, Op: "make fx module", Subject: "Backend", Hint: "give the store's constructor, e.g. rowlockfx.Backend(sqlitestore.FromDB)"}
	}
	return m.keep.Validate()
}

func (m *module) scope() string {
	if m.name == "" {
		return "rowlock"
	}
	return "rowlock." + m.name
}

// public gives a service to the host, under the module's name if it has one.
func (m *module) public(constructor any) any {
	if m.name == "" {
		return constructor
	}
	return fx.Annotate(constructor, fx.ResultTags(`name:"`+m.name+`"`))
}

// store is the host's constructor with the backend's life in its hooks.
func (m *module) store() any {
	start := func(ctx context.Context, b driven.Backend) error {
		if !m.migrate || b.Schema == nil {
			return nil
		}
		_, err := b.Schema.Up(ctx, 0)
		return err
	}
	stop := func(b driven.Backend) error { return b.Close() }
	return fx.Annotate(m.backend, fx.OnStart(start), fx.OnStop(stop))
}

func newClient(c core) *enqueue.Client {
	return enqueue.New(enqueue.Config{
		Store: c.backend.Store, Tx: c.backend.Tx, IDs: c.ids, Clock: c.clock, Turns: c.backend.Store, Observer: c.observer, Wake: c.wake,
	})
}

// newBatches has a client of its own: the module's may go by a name.
func newBatches(c core) *batches.Service {
	return batches.New(batches.Deps{Store: c.backend.Store, Client: newClient(c), IDs: c.ids, Observer: c.observer, Wake: c.wake})
}

func (m *module) newOperate(c core) *operate.Service { return operate.New(m.operateDeps(c)) }

func (m *module) newBounds(c core) *operate.Bounds { return operate.NewBounds(m.operateDeps(c)) }

func (m *module) operateDeps(c core) operate.Deps {
	return operate.Deps{Store: c.backend.Store, Keep: m.keep, Wake: c.wake, Observer: c.observer}
}

func newInspect(c core) *inspect.Service {
	return inspect.New(inspect.Deps{Finder: c.backend.Store, Runners: c.backend.Store})
}
