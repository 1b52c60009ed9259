package schedules

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Config says whose schedules a keeper declares and how often it looks.
type Config struct {
	Namespace string        // of the application: DefaultNamespace
	Poll      time.Duration // the longest sleep between two looks: 1 s
}

// Deps is what a Keeper needs. Observer and Wake may be nil.
type Deps struct {
	Store    driven.Scheduler
	Kinds    func() []string // that this process handles
	Observer driven.Observer
	Wake     driven.Notifier
}

// Keeper declares the schedules of this process and moves those that are due, of the
// kinds that it handles.
type Keeper struct {
	cfg      Config
	deps     Deps
	declared []domain.Schedule
	kinds    []string
	failing  map[domain.ScheduleKey]bool // could not be moved at the last look
	said     bool                        // that the schema has no place for schedules

	mu     sync.Mutex
	cancel context.CancelFunc // nil: not started
	ended  bool
	loops  sync.WaitGroup
}

// NewKeeper checks the settings and what is to be declared; it starts nothing.
func NewKeeper(cfg Config, declared []domain.Schedule, deps Deps) (*Keeper, error) {
	if cfg.Namespace == "" {
		cfg.Namespace = DefaultNamespace()
	}
	if cfg.Poll == 0 {
		cfg.Poll = time.Second
	}
	if cfg.Poll < time.Millisecond || cfg.Poll > time.Hour {
		return nil, unfit("Poll", fmt.Sprintf("it is %v, it must be from 1ms to 1h", cfg.Poll))
	}
	if deps.Store == nil || deps.Kinds == nil {
		return nil, unfit("Deps", "Store and Kinds are needed")
	}
	if err := domain.ValidateName("namespace", cfg.Namespace, domain.MaxGroup); err != nil {
		return nil, err
	}
	k := &Keeper{cfg: cfg, deps: deps, declared: slices.Clone(declared), failing: make(map[domain.ScheduleKey]bool)}
	for i := range k.declared {
		k.declared[i].Namespace = cfg.Namespace
		if err := k.declared[i].Validate(); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func unfit(setting, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: "check schedule settings", Subject: setting, Hint: hint}
}

const opStart = "start schedules"

// Start declares the schedules, begins the loop and returns; the context bounds the
// start alone. Started already is fine; stopped is a Conflict. A store that cannot be
// reached is no reason not to start: nothing is moved until what is declared is stored.
// Declared schedules are refused, as Unsupported, on a schema that is too old for them.
func (k *Keeper) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &domain.Fault{Code: domain.Canceled, Op: opStart, Err: err}
	}
	first, err := k.begin(ctx)
	if first == nil || err != nil {
		return err
	}
	select {
	case err = <-first:
		if !domain.CodeOf(err).Lasting() {
			return nil
		}
	case <-ctx.Done():
		err = &domain.Fault{Code: domain.Canceled, Op: opStart, Err: context.Cause(ctx)}
	}
	k.giveUp()
	return err
}

// giveUp ends a loop whose start was refused: there may be another.
func (k *Keeper) giveUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cancel()
	k.cancel = nil
	k.loops.Wait()
}

// begin starts the loop; nil where it runs already.
func (k *Keeper) begin(ctx context.Context) (<-chan error, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.ended:
		return nil, &domain.Fault{Code: domain.Conflict, Op: opStart, Hint: "it was stopped: make a new one"}
	case k.cancel != nil:
		return nil, nil
	}
	loop, cancel := context.WithCancel(domain.WithTenant(context.WithoutCancel(ctx), ""))
	k.cancel = cancel
	k.kinds = k.deps.Kinds()
	k.declared = slices.DeleteFunc(k.declared, k.unknown)
	first := make(chan error, 1)
	k.loops.Go(func() { k.loop(loop, first) })
	return first, nil
}

// unknown says once that nobody here handles the schedule's kind.
func (k *Keeper) unknown(s domain.Schedule) bool {
	if slices.Contains(k.kinds, s.Job.Kind) {
		return false
	}
	k.observe(domain.Event{
		Type: domain.EventScheduleSkipped, Kind: s.Job.Kind, Tenant: s.Tenant, Schedule: s.Name, Operation: "declare schedule",
		Err: &domain.Fault{
			Code: domain.Invalid, Op: "declare schedule", Subject: domain.CleanText(s.Name, 80),
			Hint: "no handler of its kind is registered, so it is left out; known are " + strings.Join(k.kinds, ", "),
		},
	})
	return true
}

// Stop ends the loop; a look in the middle is broken off, which loses nothing. Any
// number of calls is fine, also before Start.
func (k *Keeper) Stop(ctx context.Context) error {
	k.mu.Lock()
	k.ended = true
	cancel := k.cancel
	k.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	gone := make(chan struct{})
	go func() {
		k.loops.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return &domain.Fault{Code: domain.Canceled, Op: "stop schedules", Hint: "a call to the store has not ended yet", Err: context.Cause(ctx)}
	}
}

// jittered is a little less, so that the processes of a fleet drift apart.
func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.2*rand.Float64()))
}

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

// observe tells the observer. One that panics must not end the loop.
func (k *Keeper) observe(e domain.Event) {
	if k.deps.Observer == nil {
		return
	}
	defer func() { _ = recover() }()
	k.deps.Observer.Observe(e)
}

func (k *Keeper) fail(ctx context.Context, operation string, s *domain.Schedule, err error) {
	if ctx.Err() != nil {
		return
	}
	e := domain.Event{Type: domain.EventError, Operation: operation, Err: err}
	if s != nil {
		e.Schedule, e.Kind, e.Tenant = s.Name, s.Job.Kind, s.Tenant
	}
	k.observe(e)
}
