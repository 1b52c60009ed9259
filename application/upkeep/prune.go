package upkeep

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *Service) pruneLoop(ctx context.Context) {
	for wait := first(s.cfg.PruneEvery); rest(ctx, wait); wait = jittered(s.cfg.PruneEvery) {
		if _, err := s.Prune(ctx, nil); err != nil {
			s.fail(ctx, "prune", err)
		}
	}
}

// Prune removes the rows whose retention ended, of the tenant in scope or of
// all, in passes that each stand for themselves: what went is gone, also when a
// later pass fails.
func (s *Service) Prune(ctx context.Context, progress func(removed int)) (removed int, err error) {
	for {
		n, err := s.prune(ctx)
		if err != nil {
			return removed, err
		}
		removed += n
		if n > 0 {
			s.observe(domain.Event{Type: domain.EventPruned, Count: n, Tenant: domain.TenantOf(ctx)})
			if progress != nil {
				progress(removed)
			}
		}
		if n < s.cfg.PruneBatch {
			return removed, nil
		}
	}
}

func (s *Service) prune(ctx context.Context) (int, error) {
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return s.deps.Store.Prune(bounded, driven.PruneRequest{Limit: s.cfg.PruneBatch, Tenant: domain.TenantOf(ctx)})
}
