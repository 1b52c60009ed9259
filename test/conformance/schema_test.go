package conformance

import (
	"cmp"
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

// stepNames are the steps of a schema over memory stores, for the migrate cases.
var stepNames = []string{"jobs", "batches", "schedules", "switches"}

// tables is that schema. What is behind its handles is what its steps brought.
type tables struct {
	mu      sync.Mutex
	applied int
	store   driven.Store // of the installed schema
	fresh   func() driven.Store
	handles []*broken
	fault   string
}

var errBare = &domain.Fault{Code: domain.Unsupported, Op: "use the store", Hint: "install it with `rowlock migrate up`"}

func (s *tables) Up(_ context.Context, to int) (steps []driven.Step, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 1; n <= len(stepNames) && (to == 0 || n <= to); n++ {
		if n > s.applied || s.fault == "applies a step again" {
			steps = append(steps, driven.Step{Number: n})
		}
		s.applied = max(s.applied, n)
	}
	if s.applied > 0 && (s.store == nil || len(steps) > 0 && s.fault == "loses rows with a later step") {
		s.store = s.fresh()
	}
	s.put()
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
	if s.applied > 0 && len(steps) > 0 && s.fault == "loses rows with a later step" {
		s.store = s.fresh()
	}
	s.put()
	return steps, nil
}

func (s *tables) Status(context.Context) (steps []driven.Step, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range stepNames {
		step := driven.Step{Number: i + 1, Name: name}
		if i < s.applied && s.fault != "forgets what it applied" {
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
	if step > len(stepNames) {
		return "", &domain.Fault{Code: domain.NotFound, Op: "print"}
	}
	if s.fault == "prints nothing" {
		return "", nil
	}
	if step == 0 {
		return "step 1\nstep 2\nstep 3\nstep 4\n", nil
	}
	return fmt.Sprintf("step %d\n", step), nil
}

// put puts what is there behind every handle.
func (s *tables) put() {
	o := older{Store: absent{}, batches: s.applied > 1, schedules: s.applied > 2, switches: s.applied > 3}
	torn := s.applied < len(stepNames) && s.fault == "works with every step or not at all"
	switch {
	case s.store != nil && !torn:
		o.Store = s.store
	case s.fault == "is silent about a missing schema":
		o.Store = absent{err: &domain.Fault{Code: domain.Internal, Op: "use the store"}}
	}
	if s.fault == "has every feature with the first step" && s.store != nil {
		o.batches, o.schedules, o.switches = true, true, true
	}
	for _, h := range s.handles {
		h.Store = o
	}
}

// handle gives a backend on the tables.
func (s *tables) handle() driven.Backend {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &broken{}
	if s.fault == "lists the batches that it cannot have" {
		b.onListBatches = func(context.Context, domain.BatchFilter, domain.BatchPage) ([]domain.Batch, error) { return nil, nil }
	}
	s.handles = append(s.handles, b)
	s.put()
	return driven.Backend{Store: b, Schema: s, Close: func() error { return nil }}
}

// absent answers to every call that there is no schema.
type absent struct {
	driven.Store
	err error // another answer
}

func (a absent) fault() error { return cmp.Or[error](a.err, errBare) }

func (a absent) Insert(context.Context, []domain.NewJob) ([]driven.Inserted, error) {
	return nil, a.fault()
}

func (a absent) Claim(context.Context, driven.ClaimRequest) (driven.Claims, error) {
	return driven.Claims{}, a.fault()
}

func (a absent) Settle(context.Context, []driven.Outcome) (driven.Settled, error) {
	return driven.Settled{}, a.fault()
}

func (a absent) Count(context.Context, domain.Filter, int) (int, bool, error) {
	return 0, false, a.fault()
}

func (a absent) Queues(context.Context, string, int) ([]string, error) { return nil, a.fault() }
func (a absent) Renew(context.Context, driven.RenewRequest) (driven.Renewed, error) {
	return driven.Renewed{}, a.fault()
}

func (a absent) Recover(context.Context, driven.RecoverRequest) (driven.Recovered, error) {
	return driven.Recovered{}, a.fault()
}

func (a absent) Retry(context.Context, driven.EditRequest) ([]domain.Edited, error) {
	return nil, a.fault()
}

func (a absent) Cancel(context.Context, driven.EditRequest) ([]domain.Edited, error) {
	return nil, a.fault()
}

func (a absent) Delete(context.Context, driven.EditRequest) ([]domain.Edited, error) {
	return nil, a.fault()
}

func (a absent) Reschedule(context.Context, driven.EditRequest) ([]domain.Edited, error) {
	return nil, a.fault()
}

func (a absent) Job(context.Context, domain.JobID, string) (domain.Job, error) {
	return domain.Job{}, a.fault()
}

func (a absent) Jobs(context.Context, domain.Filter, domain.Page) ([]domain.Job, error) {
	return nil, a.fault()
}

func (a absent) Match(context.Context, domain.Filter, domain.Page) ([]domain.JobID, error) {
	return nil, a.fault()
}

func (a absent) Stats(context.Context, string, int) (domain.Stats, error) {
	return domain.Stats{}, a.fault()
}

func (a absent) Prune(context.Context, driven.PruneRequest) (driven.Pruned, error) {
	return driven.Pruned{}, a.fault()
}

func (a absent) Beat(context.Context, domain.RunnerInfo, time.Duration) error { return a.fault() }

func (a absent) Leave(context.Context, string) error { return a.fault() }

func (a absent) ListRunners(context.Context, int) ([]domain.RunnerInfo, error) { return nil, a.fault() }

// installable is a harness with a schema that has one fault, or none.
func installable(fault string) func(testing.TB) Harness {
	return func(t testing.TB) Harness {
		clock := NewClock()
		bare := func(t testing.TB) func() driven.Backend {
			s := &tables{fault: fault}
			s.fresh = func() driven.Store { return openMemory(t, memstore.Config{Now: clock.Now}).Store }
			return s.handle
		}
		return Harness{Backend: bare(t)(), Bare: bare, Advance: clock.Advance}
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
		"applies a step again":             {"up", "steps", "concurrent", "rows"},
		"keeps the rows":                   {"down"},
		"forgets what it applied":          {"status", "steps", "concurrent"},
		"lists steps from the last":        {"status"},
		"prints nothing":                   {"print"},
		"is silent about a missing schema": {"missing"},

		"works with every step or not at all":   {"older", "features"},
		"loses rows with a later step":          {"features", "rows"},
		"has every feature with the first step": {"features"},
		"lists the batches that it cannot have": {"features"},
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
