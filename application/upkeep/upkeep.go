package upkeep

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// Deps is what upkeep needs. Observer, Wake and Clock may be nil.
type Deps struct {
	Store interface {
		driven.Leases
		driven.Pruner
		driven.Bounds
		driven.Batcher
	}
	Runner   string // of this process, whose claims stay; "" for none
	Observer driven.Observer
	Wake     driven.Notifier
	Clock    driven.Clock // tells that this process slept, and how long a pass took

	Failures map[string]string // failure kinds of the kinds that declare one
	Attempts int               // how often a job is tried that does not say so
}

// Service is the upkeep of one process.
type Service struct {
	cfg  Config
	deps Deps

	mu     sync.Mutex
	cancel context.CancelFunc // nil: not started
	ended  bool
	loops  sync.WaitGroup

	looked place // where the sweep of batches goes on
}

var _ driving.Pruner = (*Service)(nil)

// New checks the settings; it starts nothing.
func New(cfg Config, deps Deps) (*Service, error) {
	full, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	if deps.Store == nil {
		return nil, unfit("Deps", "Store is needed")
	}
	return &Service{cfg: full, deps: deps}, nil
}

// Start begins the loops and returns; the context bounds the start alone.
// Started already is fine; stopped is a Conflict.
func (s *Service) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &domain.Fault{Code: domain.Canceled, Op: "start upkeep", Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return &domain.Fault{Code: domain.Conflict, Op: "start upkeep", Hint: "it was stopped: make a new one"}
	case s.cancel != nil:
		return nil
	}
	loop, cancel := context.WithCancel(domain.WithTenant(context.WithoutCancel(ctx), ""))
	s.cancel = cancel
	s.loops.Go(func() { s.recoverLoop(loop) })
	if !s.cfg.NoPrune {
		s.loops.Go(func() { s.pruneLoop(loop) })
	}
	return nil
}

// Stop ends the loops; a pass in the middle is broken off, which loses nothing.
// Any number of calls is fine, also before Start.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.ended = true
	cancel := s.cancel
	s.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	gone := make(chan struct{})
	go func() {
		s.loops.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return &domain.Fault{Code: domain.Canceled, Op: "stop upkeep", Hint: "a call to the store has not ended yet", Err: context.Cause(ctx)}
	}
}

// callTime bounds one call of a loop, so that a connection that went dead does
// not end the upkeep.
const callTime = time.Minute

// jittered spreads the processes of a fleet: a tenth to either side.
func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// first is the delay of a loop's first pass.
func first(d time.Duration) time.Duration { return time.Duration(float64(d) * rand.Float64()) }

// rest waits; false when the context ended first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// observe tells the observer. One that panics must not end the upkeep.
func (s *Service) observe(e domain.Event) {
	if s.deps.Observer == nil {
		return
	}
	defer func() { _ = recover() }()
	s.deps.Observer.Observe(e)
}

func (s *Service) fail(ctx context.Context, operation string, err error) {
	if ctx.Err() == nil {
		s.observe(domain.Event{Type: domain.EventError, Operation: operation, Err: err})
	}
}
