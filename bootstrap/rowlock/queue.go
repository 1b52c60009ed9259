package rowlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/adapters/driven/retrystore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/inspect"
	"github.com/rowlock/rowlock/application/operate"
	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// Queue is an opened store with all that can be done with it. It is safe for
// concurrent use. Enqueue, EnqueueMany, Inline and, for args that are JSON
// already, Add come from its client.
type Queue struct {
	*enqueue.Client

	backend   driven.Backend
	registry  *work.Registry
	wake      driven.Notifier
	observer  driven.Observer
	clock     driven.Clock
	ids       driven.IDs
	keep      domain.Retention
	pruner    *upkeep.Service
	refused   refusals
	book      schedules.Book
	namespace string
	life      life
}

var (
	_ driving.Enqueuer = (*Queue)(nil)
	_ driving.Pruner   = (*Queue)(nil)
)

// Open opens the store that the DSN names, e.g. "sqlite:app.db" or
// "postgres://user@host/database"; docs/stores.md has all forms. It does not
// migrate unless Migrate asks for it.
func Open(ctx context.Context, dsn string, opts ...Option) (*Queue, error) {
	s := settingsOf(opts)
	backend, err := backends.Open(ctx, dsn, s.store)
	if err != nil {
		return nil, err
	}
	q, err := build(ctx, backend, s)
	if err != nil {
		return nil, errors.Join(err, backend.Close())
	}
	return q, nil
}

// New puts a queue on a store that is open already, e.g. a host's own adapter.
// The queue's Close closes the store too; an error leaves it open.
func New(backend driven.Backend, opts ...Option) (*Queue, error) {
	return build(context.Background(), backend, settingsOf(opts)) //nolint:forbidigo // nobody waits to give a migration up
}

func settingsOf(opts []Option) *settings {
	s := &settings{clock: system.Clock(), ids: system.IDs()}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

func build(ctx context.Context, backend driven.Backend, s *settings) (*Queue, error) {
	if backend.Store == nil || backend.Close == nil {
		return nil, &domain.Fault{Code: domain.Invalid, Op: "open queue", Subject: backend.Name, Hint: "the backend has no Store or no Close"}
	}
	if err := s.keep.Validate(); err != nil {
		return nil, err
	}
	if s.migrate && backend.Schema != nil {
		if _, err := backend.Schema.Up(ctx, 0); err != nil {
			return nil, err
		}
	}
	backend = retrystore.Wrap(backend)
	q := &Queue{
		backend:   backend,
		registry:  work.NewRegistry(),
		wake:      system.Join(system.NewBell(), backend.Notify),
		observer:  system.Tee(s.observers...),
		clock:     s.clock,
		ids:       s.ids,
		keep:      s.keep,
		namespace: s.namespace,
	}
	q.Client = enqueue.New(enqueue.Config{
		Store: backend.Store, Tx: backend.Tx, IDs: q.ids, Clock: q.clock, Turns: backend.Store,
		Observer: q.observer, Wake: q.wake, Registry: q.registry,
	})
	var err error
	if q.pruner, err = upkeep.New(upkeep.Config{Keep: q.keep}, q.upkeepDeps()); err != nil {
		return nil, err
	}
	return q, nil
}

func (q *Queue) upkeepDeps() upkeep.Deps {
	return upkeep.Deps{Store: q.backend.Store, Observer: q.observer, Wake: q.wake, Clock: q.clock}
}

// Inspect is for looking at jobs and queues.
func (q *Queue) Inspect() *inspect.Service {
	return inspect.New(inspect.Deps{Finder: q.backend.Store, Runners: q.backend.Store})
}

// Operate is for retrying, cancelling, deleting and rescheduling jobs.
func (q *Queue) Operate() *operate.Service { return operate.New(q.operateDeps()) }

// Bounds is for looking at limits, rates and turns, and for releasing chains.
func (q *Queue) Bounds() *operate.Bounds { return operate.NewBounds(q.operateDeps()) }

// Switches is for pausing queues and kinds, and for letting them go on.
func (q *Queue) Switches() *operate.Switches { return operate.NewSwitches(q.backend.Store, q.wake) }

func (q *Queue) operateDeps() operate.Deps {
	return operate.Deps{Store: q.backend.Store, Keep: q.keep, Wake: q.wake, Observer: q.observer}
}

// Prune removes every job whose retention ended, which Work does now and then of
// itself, and says how many went.
func (q *Queue) Prune(ctx context.Context, progress func(removed int)) (int, error) {
	return q.pruner.Prune(ctx, progress)
}

// Schema is for installing the tables; nil where there is nothing to install.
func (q *Queue) Schema() driving.Schema {
	if q.backend.Schema == nil {
		return nil
	}
	return schema{q.backend.Schema}
}

// Store names the store, e.g. "sqlite".
func (q *Queue) Store() string { return q.backend.Name }

// Close stops what works on the queue, as the end of its context would, and
// frees the store. It is idempotent; later calls answer as the first did.
func (q *Queue) Close() error { return q.life.end(q.backend.Close) }
