package schedules

import (
	"context"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// ServiceDeps is what a Service works with. Store and IDs are needed.
type ServiceDeps struct {
	Store interface {
		driven.ScheduleEditor
		driven.Inserter
	}
	IDs      driven.IDs
	Kinds    func() []string // that are known; nil, or none: any may be added
	Observer driven.Observer
	Wake     driven.Notifier
}

// Service looks at schedules and changes them for an operator. It is safe for
// concurrent use.
type Service struct{ deps ServiceDeps }

var _ driving.Schedules = (*Service)(nil)

// New makes a Service.
func New(deps ServiceDeps) *Service { return &Service{deps} }

// Add writes a new schedule that belongs to no application.
func (s *Service) Add(ctx context.Context, d domain.Schedule) error {
	const op = "add schedule"
	scope, err := domain.ScopeOf(ctx)
	if err != nil {
		return err
	}
	if d.Tenant == "" {
		d.Tenant = scope
	}
	switch {
	case scope != "" && d.Tenant != scope:
		return &domain.Fault{
			Code: domain.Invalid, Op: op, Subject: domain.CleanText(d.Tenant, 80),
			Hint: "tenant_cross_write: another tenant is in scope; leave it to the context, or take the tenant out of scope first",
		}
	case d.Namespace != "":
		return &domain.Fault{Code: domain.Invalid, Op: op, Subject: domain.CleanText(d.Namespace, 80), Hint: "a namespace's schedules are declared by its application"}
	}
	if err := d.Validate(); err != nil {
		return err
	}
	if err := s.known(op, d.Job.Kind); err != nil {
		return err
	}
	return s.deps.Store.AddSchedule(ctx, d)
}

func (s *Service) known(op, kind string) error {
	if s.deps.Kinds == nil {
		return nil
	}
	kinds := s.deps.Kinds()
	if len(kinds) == 0 || slices.Contains(kinds, kind) {
		return nil
	}
	return &domain.Fault{
		Code: domain.Invalid, Op: op, Subject: domain.CleanText(kind, domain.MaxKind),
		Hint: "no handler of this kind is registered; known are " + strings.Join(kinds[:min(len(kinds), 20)], ", "),
	}
}

// Pause stops its ticks.
func (s *Service) Pause(ctx context.Context, name string) error {
	return s.named(ctx, name, func(key domain.ScheduleKey) error { return s.deps.Store.PauseSchedule(ctx, key, true) })
}

// Resume lets it go on from now.
func (s *Service) Resume(ctx context.Context, name string) error {
	return s.named(ctx, name, func(key domain.ScheduleKey) error { return s.deps.Store.PauseSchedule(ctx, key, false) })
}

// Delete removes it.
func (s *Service) Delete(ctx context.Context, name string) error {
	return s.named(ctx, name, func(key domain.ScheduleKey) error { return s.deps.Store.DeleteSchedule(ctx, key) })
}

// Get answers one.
func (s *Service) Get(ctx context.Context, name string) (found domain.Schedule, err error) {
	err = s.named(ctx, name, func(key domain.ScheduleKey) error {
		found, err = s.deps.Store.Schedule(ctx, key)
		return err
	})
	return found, err
}

// named is a call about the schedule of that name of the tenant in scope.
func (s *Service) named(ctx context.Context, name string, do func(domain.ScheduleKey) error) error {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return err
	}
	if err := domain.ValidateName("schedule name", name, domain.MaxSched); err != nil {
		return err
	}
	return do(domain.ScheduleKey{Tenant: tenant, Name: name})
}

// List answers one page, of the tenant in scope or of all.
func (s *Service) List(ctx context.Context, after domain.ScheduleKey, limit int) ([]domain.Schedule, error) {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	size, err := domain.Page{Size: limit}.Validate()
	if err != nil {
		return nil, err
	}
	return s.deps.Store.ListSchedules(ctx, tenant, after, size.Size)
}

// Run adds its job once more, now.
func (s *Service) Run(ctx context.Context, name string) (driving.Added, error) {
	d, err := s.Get(ctx, name)
	if err != nil {
		return driving.Added{}, err
	}
	job := d.Job.Job(s.deps.IDs.NewJobID(), d.Tenant, domain.Due{})
	if err := job.Validate(); err != nil {
		return driving.Added{}, err
	}
	done, err := s.deps.Store.Insert(ctx, []domain.NewJob{job})
	if err != nil {
		return driving.Added{}, err
	}
	if len(done) != 1 {
		return driving.Added{}, &domain.Fault{Code: domain.Internal, Op: "run schedule", Hint: "the store did not answer for its job"}
	}
	s.tell(&d, job.Queue, done[0].ID)
	return driving.Added{ID: done[0].ID, Result: done[0].Result}, nil
}

func (s *Service) tell(d *domain.Schedule, queue string, id domain.JobID) {
	if s.deps.Wake != nil {
		s.deps.Wake.Notify(queue)
	}
	if s.deps.Observer == nil {
		return
	}
	defer func() { _ = recover() }() // an observer that panics must not fail what was written
	s.deps.Observer.Observe(domain.Event{
		Type: domain.EventEnqueued, Job: id, Kind: d.Job.Kind, Queue: queue, Tenant: d.Tenant, Schedule: d.Name, Operation: "run schedule",
	})
}
