package upkeep

import (
	"context"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	batchPage  = 100 // batches in one call
	batchPages = 10  // calls of one sweep; the next one goes on behind them
)

// place is where a sweep stopped. A sweep that is bounded comes round to every batch.
type place struct {
	mu    sync.Mutex
	after domain.BatchID
}

func (p *place) get() domain.BatchID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.after
}

func (p *place) set(after domain.BatchID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = after
}

// finishBatches finishes sealed batches whose members are all terminal, of which
// nobody said so: the process that settled the last one may be gone.
func (s *Service) finishBatches(ctx context.Context) error {
	page := func(ctx context.Context, after domain.BatchID) ([]domain.BatchID, error) {
		return s.deps.Store.OpenBatches(ctx, after, batchPage)
	}
	for range batchPages {
		after := s.looked.get()
		ids, err := bounded(ctx, page, after)
		if err != nil {
			return err
		}
		next := domain.BatchID{} // the last page: the next sweep begins anew
		if len(ids) == batchPage {
			next = ids[len(ids)-1]
		}
		s.looked.set(next)
		if err := s.finish(ctx, ids); err != nil || next.IsZero() {
			return err
		}
	}
	return nil
}

// finish looks whether the batches are over and tells of those that are.
func (s *Service) finish(ctx context.Context, ids []domain.BatchID) error {
	if len(ids) == 0 {
		return nil
	}
	done, err := bounded(ctx, s.deps.Store.FinishBatches, ids)
	for i := range done {
		for _, e := range done[i].Events() {
			s.observe(e)
		}
		if done[i].Queue != "" {
			s.notify([]string{done[i].Queue})
		}
	}
	return err
}

// bereft looks at the batches of jobs that died under a lapsed claim.
func (s *Service) bereft(ctx context.Context, jobs []driven.Recovery) {
	var ids []domain.BatchID
	for i := range jobs {
		if jobs[i].To.Terminal() && !jobs[i].Batch.IsZero() && !slices.Contains(ids, jobs[i].Batch) {
			ids = append(ids, jobs[i].Batch)
		}
	}
	if err := s.finish(ctx, ids); err != nil && domain.CodeOf(err) != domain.Unsupported {
		s.fail(ctx, "finish batches", err)
	}
}
