package runner

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// Deps is what a runner needs. Observer, Wake and Pool may be nil.
type Deps struct {
	Store    driven.Store
	Registry *work.Registry
	IDs      driven.IDs
	Clock    driven.Clock
	Observer driven.Observer
	Wake     driven.Notifier
	Pool     func() int // how many connections the store has at most; 0: no bound
}

// Runner is one process start that claims jobs and runs their handlers.
type Runner struct {
	cfg  Config
	deps Deps
	id   string

	mu      sync.Mutex
	state   state
	session *session // while started or draining, and after
}

type state uint8

const (
	idle state = iota
	started
	draining
	stopped
)

var _ driving.Worker = (*Runner)(nil)

// New checks the settings; it starts nothing.
func New(cfg Config, deps Deps) (*Runner, error) {
	full, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	if deps.Store == nil || deps.Registry == nil || deps.IDs == nil || deps.Clock == nil {
		return nil, unfit("Deps", "Store, Registry, IDs and Clock are needed")
	}
	return &Runner{cfg: full, deps: deps, id: domain.CleanText(deps.IDs.NewRunnerID(), domain.MaxRunner)}, nil
}

// ID names this runner: no other process start has it.
func (r *Runner) ID() string { return r.id }

// Start begins to work and returns. The context bounds the start alone; its
// values reach the handlers. Started already is fine; stopped is a Conflict.
//
// Refused, as Invalid, are kinds that share a group and do not agree on it, a kind
// with a limit or rate and without a timeout, a kind of a lane that the runner does
// not have, and a failure kind without a handler; as Unsupported, limits and rates on a
// schema that is too old for them; as Denied, those on tables that the store's user lacks
// a right on. A store that cannot be reached is no reason not to start: nothing is claimed
// until it knows what the kinds declare.
func (r *Runner) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &domain.Fault{Code: domain.Canceled, Op: opStart, Err: err}
	}
	s, first, err := r.begin(ctx)
	if err != nil || s == nil || len(s.declared) == 0 {
		return err
	}
	select {
	case err = <-first:
		if !domain.CodeOf(err).Lasting() {
			return nil
		}
	case <-s.quit:
		return nil
	case <-ctx.Done():
		err = &domain.Fault{Code: domain.Canceled, Op: opStart, Err: context.Cause(ctx)}
	}
	s.quitOnce.Do(func() { close(s.quit) })
	<-s.done
	r.rest(started)
	return err
}

// begin makes a session and runs it; nil where there is one.
func (r *Runner) begin(ctx context.Context) (*session, <-chan error, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == started {
		return nil, nil, nil
	}
	if err := r.enter(started, opStart); err != nil {
		return nil, nil, err
	}
	s, err := newSession(ctx, r)
	if err != nil {
		r.state = idle
		return nil, nil, err
	}
	r.session = s
	return s, s.start(), nil
}

// enter moves an idle runner on.
func (r *Runner) enter(to state, op string) error {
	hint := ""
	switch r.state {
	case started:
		hint = "the runner works already"
	case draining:
		hint = "the runner is draining"
	case stopped:
		hint = "the runner was stopped: make a new one"
	default:
		r.state = to
		r.deps.Registry.Seal()
		return nil
	}
	return &domain.Fault{Code: domain.Conflict, Op: op, Subject: r.id, Hint: hint}
}

// Stop ends the work: nothing more is claimed, claims that no handler took are
// given back at once, running handlers finish and their outcomes are written.
//
// Shortly before the context's deadline the contexts of those still running end
// with ErrShutdown; a handler that gives up because of it gives its job back,
// the attempt unused. Stop returns by the deadline even if a handler does not
// heed its context. It then answers a Canceled fault, and what is unfinished was
// given back, due when this process must be gone (Config.ExitsWithin), its bounds
// held for as long; with Abandon, and where the store was out of reach, it is left to its
// lease: another runner puts it back once that ran out. Any number of calls is
// fine, also before Start.
func (r *Runner) Stop(ctx context.Context) error {
	r.mu.Lock()
	r.state = stopped
	s := r.session
	r.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.stop(ctx)
}

// Work runs jobs until the context ends, then stops within StopTimeout. Where the
// context ends before anything started there is nothing to stop: nil.
func (r *Runner) Work(ctx context.Context) error {
	if err := r.Start(ctx); err != nil {
		return domain.UnlessEnded(ctx, err)
	}
	r.mu.Lock()
	s := r.session
	r.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-s.done: // somebody else stopped it
		return nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.StopTimeout)
	defer cancel()
	return r.Stop(bounded)
}
