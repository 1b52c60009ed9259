package schedules_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a memory store whose calls can be made to fail and are counted.
type store struct {
	driven.Store
	mu     sync.Mutex
	looks  int
	err    func(op string, key domain.ScheduleKey) error
	unread []domain.Schedule // what the store marks at the next look
}

func (s *store) fault(op string, key domain.ScheduleKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op == "due" {
		s.looks++
	}
	if s.err == nil {
		return nil
	}
	return s.err(op, key)
}

func (s *store) failing(how func(op string, key domain.ScheduleKey) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = how
}

func (s *store) lookCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

func (s *store) DeclareSchedules(ctx context.Context, namespace string, all []domain.Schedule) error {
	if err := s.fault("declare", domain.ScheduleKey{}); err != nil {
		return err
	}
	return s.Store.DeclareSchedules(ctx, namespace, all)
}

func (s *store) DueSchedules(ctx context.Context, kinds []string, limit int) (driven.DueSchedules, error) {
	if err := s.fault("due", domain.ScheduleKey{}); err != nil {
		return driven.DueSchedules{}, err
	}
	due, err := s.Store.DueSchedules(ctx, kinds, limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	due.Broken, s.unread = s.unread, nil
	return due, err
}

func (s *store) Advance(ctx context.Context, t domain.Tick) (driven.Advanced, error) {
	if err := s.fault("advance", t.Key); err != nil && t.Broken == "" {
		return driven.Advanced{}, err
	}
	return s.Store.Advance(ctx, t)
}

func open(t *testing.T, now func() time.Time) *store {
	t.Helper()
	backend, err := memstore.Open(memstore.Config{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return &store{Store: backend.Store}
}

// ears hear every event.
type ears struct {
	mu  sync.Mutex
	all []domain.Event
}

func (e *ears) Observe(event domain.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *ears) heard(what domain.EventType) (some []domain.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.all {
		if event.Type == what {
			some = append(some, event)
		}
	}
	return some
}

// bell hears wake-ups.
type bell struct {
	driven.Notifier
	mu     sync.Mutex
	queues []string
}

func (b *bell) Notify(queues ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queues = append(b.queues, queues...)
}

func (b *bell) heard() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.queues)
}

func known(kinds ...string) func() []string { return func() []string { return kinds } }

func schedule(t *testing.T, name string, when schedules.When) domain.Schedule {
	t.Helper()
	s, err := when.Schedule(name, domain.Template{Kind: "report", Queue: "mail", Args: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keep starts a keeper of some schedules; the answer stops it.
func keep(t *testing.T, s driven.Scheduler, observer driven.Observer, namespace string, declared ...domain.Schedule) (stop func()) {
	t.Helper()
	return keepWith(t, schedules.Config{Namespace: namespace}, s, observer, declared...)
}

func keepWith(t *testing.T, cfg schedules.Config, s driven.Scheduler, observer driven.Observer, declared ...domain.Schedule) (stop func()) {
	t.Helper()
	k, err := schedules.NewKeeper(cfg, declared, schedules.Deps{Store: s, Kinds: known("report"), Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := k.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// jobs counts the jobs that are there.
func jobs(t *testing.T, s driven.Finder) int {
	t.Helper()
	n, _, err := s.Count(t.Context(), domain.Filter{}, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func find(t *testing.T, s driven.ScheduleEditor, name string) domain.Schedule {
	t.Helper()
	found, err := s.Schedule(t.Context(), domain.ScheduleKey{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func service(s *store, deps schedules.ServiceDeps) *schedules.Service {
	deps.Store, deps.IDs = s, system.IDs()
	return schedules.New(deps)
}
