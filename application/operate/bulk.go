package operate

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// RetryAll runs every matching job (again).
func (s *Service) RetryAll(ctx context.Context, b driving.Bulk, due domain.Due) (driving.BulkResult, error) {
	if err := due.Validate(); err != nil {
		return driving.BulkResult{}, err
	}
	return s.every(ctx, b, s.store.Retry, driven.EditRequest{Due: due})
}

// CancelAll gives every matching job up.
func (s *Service) CancelAll(ctx context.Context, b driving.Bulk) (driving.BulkResult, error) {
	return s.every(ctx, b, s.store.Cancel, driven.EditRequest{Keep: s.keep})
}

// DeleteAll removes every matching job.
func (s *Service) DeleteAll(ctx context.Context, b driving.Bulk) (driving.BulkResult, error) {
	return s.every(ctx, b, s.store.Delete, driven.EditRequest{})
}

// every changes what matches, page by page from the newest id down, each page
// its own transaction. Ids rise with time, so the first page is the upper bound:
// what is enqueued later, or what the call itself set going and came back, lies
// above and is never met. With an error comes what was done before it.
func (s *Service) every(ctx context.Context, b driving.Bulk, do edit, req driven.EditRequest) (sum driving.BulkResult, err error) {
	filter, err := choose(ctx, b)
	if err != nil {
		return sum, err
	}
	req.Tenant = filter.Tenant
	page := domain.Page{Size: chunk}
	for {
		if req.IDs, err = s.store.Match(ctx, filter, page); err != nil || len(req.IDs) == 0 {
			return sum, err
		}
		edited, err := apply(ctx, do, req)
		if err != nil {
			return sum, err
		}
		tell(b, &sum, edited)
		if len(req.IDs) < page.Size {
			return sum, nil
		}
		page.Before = req.IDs[len(req.IDs)-1]
	}
}

// choose is what a bulk call is about: no states mean dead jobs, unless every job is meant.
func choose(ctx context.Context, b driving.Bulk) (domain.Filter, error) {
	filter, err := b.Filter.Scope(ctx)
	if err == nil && len(filter.States) == 0 && !b.All {
		filter.States = []domain.State{domain.Dead}
	}
	return filter, err
}

func tell(b driving.Bulk, sum *driving.BulkResult, edited []domain.Edited) {
	for _, e := range edited {
		if e.Err != nil {
			sum.Refused++
		} else {
			sum.Done++
		}
	}
	if b.Each != nil {
		b.Each(edited)
	}
	if b.Progress != nil {
		b.Progress(sum.Done, sum.Refused)
	}
}
