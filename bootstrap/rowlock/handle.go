package rowlock

import (
	"context"
	"errors"
	"sync"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Handle registers the handler of the kind of T, before Work. What is wrong with
// it, e.g. a second handler of the kind, is told by Work and Drain, which then
// do not start.
func Handle[T work.Args](q *Queue, fn func(context.Context, work.Job[T]) error, opts ...work.Option) {
	q.note(work.Handle(q.registry, fn, opts...))
}

// Register registers a worker as Handle does a function.
func Register[T work.Args](q *Queue, w work.Worker[T], opts ...work.Option) {
	q.note(work.Register(q.registry, w, opts...))
}

// Builtin registers a handler that comes with Rowlock or a library: a host's of
// the same kind beats it.
func (q *Queue) Builtin(h driven.Handler, opts ...work.Option) {
	q.note(q.registry.AddBuiltin(h, opts...))
}

// Use puts middleware around every handler; the first is the outermost.
func (q *Queue) Use(mw ...work.Middleware) { q.note(q.registry.Use(mw...)) }

// Kinds lists the kinds that have a handler.
func (q *Queue) Kinds() []string { return q.registry.Kinds() }

// note keeps a refused registration for Work to tell. One that came after the
// start is told at once too: nobody would ask any more.
func (q *Queue) note(err error) {
	if err == nil {
		return
	}
	q.refused.add(err)
	q.observer.Observe(domain.Event{Type: domain.EventError, Operation: "register handler", Err: err})
}

// refusals are the registrations that were refused.
type refusals struct {
	mu   sync.Mutex
	errs []error
}

func (r *refusals) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *refusals) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}
