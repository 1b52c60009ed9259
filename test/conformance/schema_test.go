package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// tables is a schema of two steps over memory stores, for the migrate cases. The
// first brings all that they ask for.
type tables struct {
	mu      sync.Mutex
	applied int
	store   driven.Store // of the installed schema
	fresh   func() driven.Store
	fault   string
}

var errBare = &domain.Fault{Code: domain.Unsupported, Op: "use the store", Hint: "install it with `rowlock migrate up`"}

func (s *tables) Up(_ context.Context, to int) (steps []driven.Step, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 1; n <= 2 && (to == 0 || n <= to); n++ {
		if n > s.applied || s.fault == "applies a step again" {
			steps = append(steps, driven.Step{Number: n})
		}
		s.applied = max(s.applied, n)
	}
	if s.store == nil && s.applied > 0 {
		s.store = s.fresh()
	}
	return steps, nil
}

func (s *tables) Down(_ context.Context, to int) (steps []driven.Step, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.applied > to; s.applied-- {
		steps = append(steps, driven.Step{Number: s.applied})
	}
	if s.applied == 0 && s.fault != "keeps the rows" {
		s.store = nil
	}
	return steps, nil
}

func (s *tables) Status(context.Context) (steps []driven.Step, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 1; n <= 2; n++ {
		step := driven.Step{Number: n, Name: "step"}
		if n <= s.applied && s.fault != "forgets what it applied" {
			step.AppliedAt = time.Unix(1, 0)
		}
		steps = append(steps, step)
	}
	if s.fault == "lists steps from the last" {
		slices.Reverse(steps)
	}
	return steps, nil
}

func (s *tables) Print(step int) (string, error) {
	if step > 2 {
		return "", &domain.Fault{Code: domain.NotFound, Op: "print"}
	}
	if s.fault == "prints nothing" {
		return "", nil
	}
	if step == 0 {
		return "step 1\nstep 2\n", nil
	}
	return fmt.Sprintf("step %d\n", step), nil
}

// behind gives the installed store, or none.
func (s *tables) behind() (driven.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	torn := s.applied < 2 && s.fault == "works with every step or not at all"
	if torn || s.store == nil && s.fault != "is silent about a missing schema" {
		return nil, errBare
	}
	if s.store == nil {
		return nil, &domain.Fault{Code: domain.Internal, Op: "use the store"}
	}
	return s.store, nil
}

func guarded[Q, A any](s *tables, call func(driven.Store, context.Context, Q) (A, error)) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, q Q) (A, error) {
		store, err := s.behind()
		if err != nil {
			var none A
			return none, err
		}
		return call(store, ctx, q)
	}
}

// handle gives a backend on the tables.
func (s *tables) handle() driven.Backend {
	b := &broken{Store: absent{}}
	b.onInsert = guarded(s, driven.Store.Insert)
	b.onClaim = guarded(s, driven.Store.Claim)
	b.onSettle = guarded(s, driven.Store.Settle)
	b.onCount = func(ctx context.Context, f domain.Filter, limit int) (int, bool, error) {
		store, err := s.behind()
		if err != nil {
			return 0, false, err
		}
		return store.Count(ctx, f, limit)
	}
	return driven.Backend{Store: b, Schema: s, Close: func() error { return nil }}
}

// absent answers that there is no schema, to every call.
type absent struct{ driven.Store }

func (absent) Queues(context.Context, string, int) ([]string, error) { return nil, errBare }
func (absent) Renew(context.Context, driven.RenewRequest) (driven.Renewed, error) {
	return driven.Renewed{}, errBare
}

func (absent) Recover(context.Context, driven.RecoverRequest) (driven.Recovered, error) {
	return driven.Recovered{}, errBare
}

func (absent) Retry(context.Context, driven.EditRequest) ([]domain.Edited, error) {
	return nil, errBare
}

func (absent) Cancel(context.Context, driven.EditRequest) ([]domain.Edited, error) {
	return nil, errBare
}

func (absent) Delete(context.Context, driven.EditRequest) ([]domain.Edited, error) {
	return nil, errBare
}

func (absent) Reschedule(context.Context, driven.EditRequest) ([]domain.Edited, error) {
	return nil, errBare
}

func (absent) Job(context.Context, domain.JobID, string) (domain.Job, error) {
	return domain.Job{}, errBare
}

func (absent) Jobs(context.Context, domain.Filter, domain.Page) ([]domain.Job, error) {
	return nil, errBare
}

func (absent) Match(context.Context, domain.Filter, domain.Page) ([]domain.JobID, error) {
	return nil, errBare
}

func (absent) Stats(context.Context, string, int) (domain.Stats, error) {
	return domain.Stats{}, errBare
}

func (absent) Prune(context.Context, driven.PruneRequest) (int, error) { return 0, errBare }

func (absent) Beat(context.Context, domain.RunnerInfo, time.Duration) error { return errBare }

func (absent) Leave(context.Context, string) error { return errBare }

func (absent) ListRunners(context.Context, int) ([]domain.RunnerInfo, error) { return nil, errBare }

// installable is a harness with a schema that has one fault, or none.
func installable(fault string) func(testing.TB) Harness {
	return func(t testing.TB) Harness {
		bare := func(t testing.TB) func() driven.Backend {
			s := &tables{fault: fault}
			s.fresh = func() driven.Store { return openMemory(t, memstore.Config{Now: NewClock().Now}).Store }
			return s.handle
		}
		return Harness{Backend: bare(t)(), Bare: bare}
	}
}

// TestMigrateCases: a sound schema passes, and each fault is found.
func TestMigrateCases(t *testing.T) {
	for _, k := range migrateCases() {
		if failed, said := attempt(t, "migrate/"+k.name, installable("")); failed {
			t.Errorf("migrate/%s refuses a sound schema: %q", k.name, said)
		}
	}
	for fault, names := range map[string][]string{
		"applies a step again":             {"up", "steps", "concurrent"},
		"keeps the rows":                   {"down"},
		"forgets what it applied":          {"status", "steps", "concurrent"},
		"lists steps from the last":        {"status"},
		"prints nothing":                   {"print"},
		"is silent about a missing schema": {"missing"},

		"works with every step or not at all": {"older"},
	} {
		for _, name := range names {
			if failed, said := attempt(t, "migrate/"+name, installable(fault)); !failed {
				t.Errorf("migrate/%s did not find a schema that %s; it said %q", name, fault, said)
			}
		}
	}
}

// TestNotifyCases: the in-process bell is a sound notifier.
func TestNotifyCases(t *testing.T) {
	for _, k := range notifyCases() {
		failed, said := attempt(t, "notify/"+k.name, func(t testing.TB) Harness {
			h := memory(t)
			h.Backend.Notify = system.NewBell()
			return h
		})
		if failed {
			t.Errorf("notify/%s refuses the bell: %q", k.name, said)
		}
	}
}
