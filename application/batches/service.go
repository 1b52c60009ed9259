package batches

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// Deps is what a Service works with. Observer and Wake may be nil.
type Deps struct {
	Store    driven.Batches
	Client   *enqueue.Client
	IDs      driven.IDs
	Observer driven.Observer
	Wake     driven.Notifier
}

// Service makes batches, adds to them, looks at them and ends them. It is safe for
// concurrent use. With a tenant in scope a new batch is that tenant's, and others'
// are not there.
type Service struct{ deps Deps }

var _ driving.Batches = (*Service)(nil)

// New makes a Service.
func New(d Deps) *Service { return &Service{deps: d} }

// Options say what a batch is.
type Options struct {
	Name string // for people; may be ""
	// Callback is enqueued once, when all members have ended: done, dead, cancelled or
	// deleted. Its args are a JSON object, beside whose fields Rowlock puts `batch`:
	// {"id", "name", "total", "done", "failed", "succeeded"}. nil: none.
	Callback work.Args
	With     []enqueue.Option // of the callback
	// Keep is how long the batch stays to be looked at once it is finished; 0:
	// domain.DefaultBatchKeep, negative: for ever.
	Keep time.Duration
}

// Create makes an open batch. Jobs join it by Add or enqueue.Batch, from any process,
// until it is sealed. A callback that could not be enqueued is refused here.
func (s *Service) Create(ctx context.Context, o Options) (domain.BatchID, error) {
	made, err := s.draft(ctx, o)
	if err != nil {
		return domain.BatchID{}, err
	}
	return made.ID, s.deps.Store.CreateBatch(ctx, made)
}

// draft judges a batch and writes nothing.
func (s *Service) draft(ctx context.Context, o Options) (made domain.NewBatch, err error) {
	made = domain.NewBatch{ID: s.deps.IDs.NewBatchID(), Name: o.Name, Keep: o.Keep}
	if made.Tenant, err = domain.ScopeOf(ctx); err != nil {
		return made, err
	}
	switch {
	case o.Callback != nil:
		callback, err := s.deps.Client.Template(ctx, o.Callback, o.With...)
		if err != nil {
			return made, err
		}
		made.Callback = &callback
	case len(o.With) > 0:
		return made, invalid("With", "there is no callback that these options could be of")
	}
	return made, made.Validate()
}

// Add adds jobs to an open batch, all or none. A job that is there already, by its id
// or unique key, is Existing and no member. A sealed batch is a Conflict.
func (s *Service) Add(ctx context.Context, id domain.BatchID, items ...enqueue.Item) ([]enqueue.Receipt, error) {
	draft, err := s.join(ctx, id, items)
	if err != nil {
		return nil, err
	}
	return draft.Write(ctx)
}

func (s *Service) join(ctx context.Context, id domain.BatchID, items []enqueue.Item) (*enqueue.Draft, error) {
	if id.IsZero() {
		return nil, invalid("batch id", "it is zero")
	}
	draft, err := s.deps.Client.Draft(ctx, items)
	if err != nil {
		return nil, err
	}
	return draft, draft.Join(id)
}

// Seal ends the adding. A batch whose members have all ended, or that has none, is
// finished at once. Sealed before is fine, and said.
func (s *Service) Seal(ctx context.Context, id domain.BatchID) (domain.Sealed, error) {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return domain.Sealed{}, err
	}
	sealed, err := s.deps.Store.SealBatch(ctx, id, tenant)
	if err == nil {
		s.finish(ctx, id)
	}
	return sealed, err
}

// Get answers one batch.
func (s *Service) Get(ctx context.Context, id domain.BatchID) (domain.Batch, error) {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return domain.Batch{}, err
	}
	return s.deps.Store.Batch(ctx, id, tenant)
}

// List answers one page, newest first.
func (s *Service) List(ctx context.Context, state domain.BatchState, p domain.BatchPage) ([]domain.Batch, error) {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	size, err := domain.Page{Size: p.Size}.Validate()
	if err != nil {
		return nil, err
	}
	p.Size = size.Size
	return s.deps.Store.ListBatches(ctx, domain.BatchFilter{Tenant: tenant, State: state}, p)
}

// Forget removes a batch and leaves its jobs alone.
func (s *Service) Forget(ctx context.Context, id domain.BatchID) error {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return err
	}
	return s.deps.Store.ForgetBatch(ctx, id, tenant)
}

func invalid(subject, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: "make batch", Subject: subject, Hint: hint}
}
