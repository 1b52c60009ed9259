package retrystore

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) PruneBatches(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
	return again(ctx, func() (driven.Pruned, error) { return s.next.PruneBatches(ctx, r) })
}

func (s *store) CreateBatch(ctx context.Context, n domain.NewBatch) error {
	return do(ctx, func() error { return s.next.CreateBatch(ctx, n) })
}

func (s *store) SealBatch(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error) {
	return again(ctx, func() (domain.Sealed, error) { return s.next.SealBatch(ctx, id, tenant) })
}

// FinishBatches answers what all tries finished: one that fails may have finished some,
// and the next one finds these over.
func (s *store) FinishBatches(ctx context.Context, ids []domain.BatchID) (all []driven.Finished, err error) {
	err = do(ctx, func() error {
		some, err := s.next.FinishBatches(ctx, ids)
		all = append(all, some...)
		return err
	})
	return all, err
}

func (s *store) OpenBatches(ctx context.Context, after domain.BatchID, limit int) ([]domain.BatchID, error) {
	return again(ctx, func() ([]domain.BatchID, error) { return s.next.OpenBatches(ctx, after, limit) })
}

func (s *store) ForgetBatch(ctx context.Context, id domain.BatchID, tenant string) error {
	return do(ctx, func() error { return s.next.ForgetBatch(ctx, id, tenant) })
}

func (s *store) Batch(ctx context.Context, id domain.BatchID, tenant string) (domain.Batch, error) {
	return again(ctx, func() (domain.Batch, error) { return s.next.Batch(ctx, id, tenant) })
}

func (s *store) ListBatches(ctx context.Context, f domain.BatchFilter, p domain.BatchPage) ([]domain.Batch, error) {
	return again(ctx, func() ([]domain.Batch, error) { return s.next.ListBatches(ctx, f, p) })
}
