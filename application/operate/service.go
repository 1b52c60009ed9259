package operate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// chunk is how many jobs one transaction changes: enough to be quick, few
// enough that runners get their turn in between.
const chunk = domain.MaxPage

// Store is what the services need of a store.
type Store interface {
	driven.Editor
	driven.Finder
	driven.Bounds
	driven.Batcher
}

// Deps is what a Service works with. All but Store may be nil.
type Deps struct {
	Store    Store
	Keep     domain.Retention // how long cancelled jobs stay; zero: domain.DefaultRetention
	Wake     driven.Notifier  // is told when jobs were made due; nil: runners poll
	Observer driven.Observer  // hears of batches that an edit finished, and of wake-ups that failed
}

// Service changes jobs for an operator. It is safe for concurrent use.
type Service struct {
	store Store
	keep  time.Duration
	wake  waker
}

var (
	_ driving.Operator     = (*Service)(nil)
	_ driving.BulkOperator = (*Service)(nil)
)

// New makes a Service.
func New(d Deps) *Service {
	return &Service{store: d.Store, keep: d.Keep.For(domain.Cancelled, domain.DefaultRetention()), wake: wakerOf(d)}
}

// edit is one of the store's changes.
type edit func(context.Context, driven.EditRequest) ([]domain.Edited, error)

// Retry runs jobs (again): waiting and terminal ones, with all their attempts
// anew and their history kept.
func (s *Service) Retry(ctx context.Context, ids []domain.JobID, due domain.Due) ([]domain.Edited, error) {
	if err := due.Validate(); err != nil {
		return nil, err
	}
	return named(ctx, s.wake.due(s.store.Retry), ids, driven.EditRequest{Due: due})
}

// Cancel gives jobs up for good, waiting and running ones. Whoever runs one hears of it
// by the next renewal of its lease; its outcome no longer counts.
func (s *Service) Cancel(ctx context.Context, ids []domain.JobID) ([]domain.Edited, error) {
	return named(ctx, s.wake.after(s.store.Cancel), ids, driven.EditRequest{Keep: s.keep})
}

// Delete removes jobs that do not run.
func (s *Service) Delete(ctx context.Context, ids []domain.JobID) ([]domain.Edited, error) {
	return named(ctx, s.wake.after(s.store.Delete), ids, driven.EditRequest{})
}

// Reschedule moves the due time of waiting jobs.
func (s *Service) Reschedule(ctx context.Context, ids []domain.JobID, due domain.Due) ([]domain.Edited, error) {
	if err := due.Validate(); err != nil {
		return nil, err
	}
	return named(ctx, s.wake.due(s.store.Reschedule), ids, driven.EditRequest{Due: due})
}

// named changes the ids chunk by chunk, each chunk its own transaction. With an
// error come the answers of the chunks before it.
func named(ctx context.Context, do edit, ids []domain.JobID, req driven.EditRequest) ([]domain.Edited, error) {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return nil, err
	}
	req.Tenant = tenant
	all := make([]domain.Edited, 0, len(ids))
	for part := range slices.Chunk(ids, chunk) {
		req.IDs = part
		edited, err := apply(ctx, do, req)
		if err != nil {
			return all, err
		}
		all = append(all, edited...)
	}
	return all, nil
}

// apply is one transaction. It holds the store to its word, an answer for each id.
func apply(ctx context.Context, do edit, req driven.EditRequest) ([]domain.Edited, error) {
	if err := ctx.Err(); err != nil {
		return nil, &domain.Fault{Code: domain.Canceled, Op: "edit jobs", Err: err}
	}
	edited, err := do(ctx, req)
	if err == nil && len(edited) != len(req.IDs) {
		return nil, &domain.Fault{Code: domain.Internal, Op: "edit jobs", Hint: fmt.Sprintf("the store gave %d answers for %d ids", len(edited), len(req.IDs))}
	}
	return edited, err
}
