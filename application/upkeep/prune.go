package upkeep

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *Service) pruneLoop(ctx context.Context) {
	for wait := first(s.cfg.PruneEvery); rest(ctx, wait); wait = jittered(s.cfg.PruneEvery) {
		if _, err := s.removal(ctx, s.cfg.PrunePause, nil); err != nil {
			s.fail(ctx, "prune", err)
		}
	}
}

// Prune removes the rows whose retention ended, of the tenant in scope or of
// all, in passes that each stand for themselves: what went is gone, also when a
// later pass fails. It does not pause between them, as the loop does. Finished
// batches whose time is over go too; they do not count.
func (s *Service) Prune(ctx context.Context, progress func(removed int)) (removed int, err error) {
	return s.removal(ctx, 0, progress)
}

func (s *Service) removal(ctx context.Context, pause time.Duration, progress func(int)) (removed int, err error) {
	for {
		began := s.now()
		pass, err := s.prune(ctx)
		if err != nil {
			return removed, err
		}
		removed += pass.Removed
		if pass.Removed > 0 {
			s.pruned(ctx, "", pass.Removed)
			if progress != nil {
				progress(removed)
			}
		}
		if !pass.More {
			return removed, s.pruneBatches(ctx, pause)
		}
		if !s.paced(ctx, pause, s.now().Sub(began)) {
			return removed, nil
		}
	}
}

// restFactor is how many times as long as a pass took the loop rests after it, so that
// claims keep their speed also where a pass is slow. What a pass costs a server goes on
// after it: on PostgreSQL, passes of 13 ms and rests of 80 ms left jobs that do nothing
// two thirds of their speed, and MySQL needs 300 ms to get over a thousand rows.
const restFactor = 10

// paced rests between two passes; false when the context ended first. Without a pause
// nobody is to be spared.
func (s *Service) paced(ctx context.Context, pause, took time.Duration) bool {
	if pause == 0 {
		return true
	}
	return rest(ctx, jittered(max(pause, min(restFactor*took, s.cfg.PruneEvery))))
}

func (s *Service) prune(ctx context.Context) (driven.Pruned, error) {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return driven.Pruned{}, err
	}
	return bounded(ctx, s.deps.Store.Prune, s.request(tenant))
}

// request is a pass of a pruning. What it has to keep comes again at the next one.
func (s *Service) request(tenant string) driven.PruneRequest {
	return driven.PruneRequest{Limit: s.cfg.PruneBatch, Tenant: tenant, Defer: s.cfg.PruneEvery}
}

// pruneBatches removes finished batches whose time is over. A schema without batches
// has none.
func (s *Service) pruneBatches(ctx context.Context, pause time.Duration) error {
	for {
		began := s.now()
		pass, err := bounded(ctx, s.deps.Store.PruneBatches, s.request(domain.TenantOf(ctx)))
		if domain.CodeOf(err) == domain.Unsupported {
			return nil
		}
		if pass.Removed > 0 {
			s.pruned(ctx, "batches", pass.Removed)
		}
		if err != nil || !pass.More {
			return err
		}
		if !s.paced(ctx, pause, s.now().Sub(began)) {
			return nil
		}
	}
}

func (s *Service) pruned(ctx context.Context, what string, n int) {
	s.observe(domain.Event{Type: domain.EventPruned, Count: n, Tenant: domain.TenantOf(ctx), Operation: what})
}
