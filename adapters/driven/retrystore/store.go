package retrystore

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// store forwards every call of a driven.Store. It embeds nothing, so that a
// method added to the port cannot slip by unretried.
type store struct{ next driven.Store }

var _ driven.Store = (*store)(nil)

func (s *store) Insert(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
	return again(ctx, func() ([]driven.Inserted, error) { return s.next.Insert(ctx, jobs) })
}

func (s *store) Claim(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
	return again(ctx, func() (driven.Claims, error) { return s.next.Claim(ctx, r) })
}

func (s *store) Queues(ctx context.Context, after string, limit int) ([]string, error) {
	return again(ctx, func() ([]string, error) { return s.next.Queues(ctx, after, limit) })
}

// Settle settles what an earlier try did not: its own outcomes of that try are
// known again by their tokens.
func (s *store) Settle(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
	return again(ctx, func() (driven.Settled, error) { return s.next.Settle(ctx, outcomes) })
}

func (s *store) Renew(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
	return again(ctx, func() (driven.Renewed, error) { return s.next.Renew(ctx, r) })
}

func (s *store) Recover(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
	return again(ctx, func() (driven.Recovered, error) { return s.next.Recover(ctx, r) })
}

func (s *store) Retry(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	return again(ctx, func() ([]domain.Edited, error) { return s.next.Retry(ctx, r) })
}

func (s *store) Cancel(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	return again(ctx, func() ([]domain.Edited, error) { return s.next.Cancel(ctx, r) })
}

func (s *store) Delete(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	return again(ctx, func() ([]domain.Edited, error) { return s.next.Delete(ctx, r) })
}

func (s *store) Reschedule(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	return again(ctx, func() ([]domain.Edited, error) { return s.next.Reschedule(ctx, r) })
}

func (s *store) Job(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
	return again(ctx, func() (domain.Job, error) { return s.next.Job(ctx, id, tenant) })
}

func (s *store) Jobs(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error) {
	return again(ctx, func() ([]domain.Job, error) { return s.next.Jobs(ctx, f, p) })
}

func (s *store) Match(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.JobID, error) {
	return again(ctx, func() ([]domain.JobID, error) { return s.next.Match(ctx, f, p) })
}

func (s *store) Count(ctx context.Context, f domain.Filter, limit int) (n int, exact bool, err error) {
	n, err = again(ctx, func() (int, error) {
		n, exact, err = s.next.Count(ctx, f, limit)
		return n, err
	})
	return n, exact, err
}

func (s *store) Stats(ctx context.Context, tenant string, limit int) (domain.Stats, error) {
	return again(ctx, func() (domain.Stats, error) { return s.next.Stats(ctx, tenant, limit) })
}

func (s *store) Prune(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
	return again(ctx, func() (driven.Pruned, error) { return s.next.Prune(ctx, r) })
}

func (s *store) Beat(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error {
	return do(ctx, func() error { return s.next.Beat(ctx, r, ttl) })
}

func (s *store) Leave(ctx context.Context, id string) error {
	return do(ctx, func() error { return s.next.Leave(ctx, id) })
}

func (s *store) ListRunners(ctx context.Context, limit int) ([]domain.RunnerInfo, error) {
	return again(ctx, func() ([]domain.RunnerInfo, error) { return s.next.ListRunners(ctx, limit) })
}
