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
	return s.every(ctx, b, s.wake.due(s.store.Retry), driven.EditRequest{Due: due})
}

// CancelAll gives every matching job up, also those that run. No states mean those
// that have not ended.
func (s *Service) CancelAll(ctx context.Context, b driving.Bulk) (driving.BulkResult, error) {
	if len(b.Filter.States) == 0 && !b.All {
		b.Filter.States = []domain.State{domain.Ready, domain.Scheduled, domain.Blocked, domain.Running}
	}
	return s.every(ctx, b, s.wake.after(s.store.Cancel), driven.EditRequest{Keep: s.keep})
}

// DeleteAll removes every matching job.
func (s *Service) DeleteAll(ctx context.Context, b driving.Bulk) (driving.BulkResult, error) {
	return s.every(ctx, b, s.wake.after(s.store.Delete), driven.EditRequest{})
}

// every changes what was chosen, each page its own transaction, and only in the
// states it was chosen in: of two operators who retry all dead jobs at once none
// runs a job again that the other one's retry brought to its end. With an error
// comes what was done before it.
func (s *Service) every(ctx context.Context, b driving.Bulk, do edit, req driven.EditRequest) (sum driving.BulkResult, err error) {
	filter, err := choose(ctx, b)
	if err != nil {
		return sum, err
	}
	req.Tenant, req.States = filter.Tenant, filter.States
	for next := s.pages(ctx, b, filter); ; {
		if req.IDs, err = next(); err != nil || len(req.IDs) == 0 {
			return sum, err
		}
		edited, err := apply(ctx, do, req)
		if err != nil {
			return sum, err
		}
		tell(b, &sum, edited)
	}
}

// pages gives what was chosen, page by page, at the end none. What a filter
// matches comes from the newest id down. Ids rise with time, so the first page is
// the upper bound: what is enqueued later, or what the call itself set going and
// came back, lies above and is never met.
func (s *Service) pages(ctx context.Context, b driving.Bulk, filter domain.Filter) func() ([]domain.JobID, error) {
	if len(b.IDs) > 0 {
		left := b.IDs
		return func() (page []domain.JobID, err error) {
			n := min(len(left), chunk)
			page, left = left[:n], left[n:]
			return page, nil
		}
	}
	page, last := domain.Page{Size: chunk}, false
	return func() ([]domain.JobID, error) {
		if last {
			return nil, nil
		}
		ids, err := s.store.Match(ctx, filter, page)
		if last = len(ids) < page.Size; !last {
			page.Before = ids[len(ids)-1]
		}
		return ids, err
	}
}

// choose is what a bulk call is about: no states mean dead jobs, unless every job is meant.
func choose(ctx context.Context, b driving.Bulk) (domain.Filter, error) {
	if len(b.IDs) > 0 && narrows(b.Filter) {
		return b.Filter, &domain.Fault{Code: domain.Invalid, Op: "choose jobs", Hint: "name ids or give a filter; beside ids it may hold states alone"}
	}
	filter, err := b.Filter.Scope(ctx)
	if err == nil && len(filter.States) == 0 && !b.All {
		filter.States = []domain.State{domain.Dead}
	}
	return filter, err
}

// narrows says whether a filter chooses by more than states and tenant.
func narrows(f domain.Filter) bool {
	f.States = nil
	return !f.IsZero()
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
