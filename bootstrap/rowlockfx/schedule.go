package rowlockfx

import (
	"context"

	"go.uber.org/fx"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
)

// Schedule declares a job that recurs, e.g.
//
//	rowlockfx.Schedule("report", Report{}, schedules.Cron("0 7 * * mon", "Europe/Vienna"), enqueue.Queue("mail"))
//
// It needs Worker: the app stores it under its Namespace when it starts, and forgets
// what an earlier version of it declared there and this one does not.
func Schedule(name string, args work.Args, when schedules.When, opts ...enqueue.Option) Option {
	return func(m *module) { m.declared = append(m.declared, declaration{name, args, when, opts, false}) }
}

// BuiltinSchedule declares one that comes with a library: a host's of the same name
// beats it.
func BuiltinSchedule(name string, args work.Args, when schedules.When, opts ...enqueue.Option) Option {
	return func(m *module) { m.declared = append(m.declared, declaration{name, args, when, opts, true}) }
}

// Namespace names the application that declares the module's schedules: programs of one
// namespace replace each other's, and no others. Without it the path of the program's
// main package, with the module's name where it has one.
func Namespace(name string) Option { return func(m *module) { m.namespace = name } }

// declaration is a schedule whose job is made when the handlers are known.
type declaration struct {
	name    string
	args    work.Args
	when    schedules.When
	opts    []enqueue.Option
	builtin bool
}

// tick adds the jobs of the schedules from when the runner has started until it is to stop.
func (m *module) tick(life fx.Lifecycle, c core, handlers *work.Registry) error {
	var book schedules.Book
	for _, d := range m.declared {
		template := func(ctx context.Context) (domain.Template, error) {
			return clientFor(c, handlers, d.args).Template(ctx, d.args, d.opts...)
		}
		if err := book.Declare(d.when.Key(d.name), d.builtin, d.when.Declare(d.name, template)); err != nil {
			return err
		}
	}
	declared, err := book.Seal(context.Background()) //nolint:forbidigo // it only carries each schedule's tenant
	if err != nil {
		return err
	}
	namespace := m.namespace
	if namespace == "" {
		namespace = schedules.DefaultNamespace()
		if m.name != "" {
			namespace += "/" + m.name
		}
	}
	keeper, err := schedules.NewKeeper(schedules.Config{Namespace: namespace, Poll: m.worker.Poll}, declared, schedules.Deps{
		Store: c.backend.Store, Kinds: handlers.Kinds, Observer: c.observer, Wake: c.wake,
	})
	if err != nil {
		return err
	}
	life.Append(fx.Hook{OnStart: keeper.Start, OnStop: keeper.Stop})
	return nil
}

// clientFor makes the templates of a kind's jobs. One of a kind without a handler is no
// fault here: the schedule is left out, which is said.
func clientFor(c core, handlers *work.Registry, args work.Args) *enqueue.Client {
	cfg := enqueue.Config{IDs: c.ids, Clock: c.clock}
	if args != nil {
		if _, known := handlers.Find(args.Kind()); known {
			cfg.Registry = handlers
		}
	}
	return enqueue.New(cfg)
}

func newSchedules(c core) *schedules.Service {
	return schedules.New(schedules.ServiceDeps{Store: c.backend.Store, IDs: c.ids, Observer: c.observer, Wake: c.wake})
}
