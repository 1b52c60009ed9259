package retrystore

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) Admit(ctx context.Context, r driven.AdmitRequest) (driven.Admission, error) {
	return again(ctx, func() (driven.Admission, error) { return s.next.Admit(ctx, r) })
}

func (s *store) Hold(ctx context.Context, all []driven.Holding) error {
	return do(ctx, func() error { return s.next.Hold(ctx, all) })
}

func (s *store) Wake(ctx context.Context, keys []string) (driven.Woken, error) {
	return again(ctx, func() (driven.Woken, error) { return s.next.Wake(ctx, keys) })
}

func (s *store) Expire(ctx context.Context, limit int) (driven.Expired, error) {
	return again(ctx, func() (driven.Expired, error) { return s.next.Expire(ctx, limit) })
}

func (s *store) Reap(ctx context.Context, r driven.ReapRequest) (driven.Reaped, error) {
	return again(ctx, func() (driven.Reaped, error) { return s.next.Reap(ctx, r) })
}

func (s *store) Declare(ctx context.Context, kinds []string, all []domain.Declaration) error {
	return do(ctx, func() error { return s.next.Declare(ctx, kinds, all) })
}

func (s *store) Declared(ctx context.Context, after string, limit int) ([]domain.Declaration, error) {
	return again(ctx, func() ([]domain.Declaration, error) { return s.next.Declared(ctx, after, limit) })
}

func (s *store) Loosen(ctx context.Context, r driven.LoosenRequest) (driven.Loosened, error) {
	return again(ctx, func() (driven.Loosened, error) { return s.next.Loosen(ctx, r) })
}

func (s *store) Held(ctx context.Context, after domain.Slot, limit int) ([]domain.Holder, error) {
	return again(ctx, func() ([]domain.Holder, error) { return s.next.Held(ctx, after, limit) })
}

func (s *store) BlockedKeys(ctx context.Context, after string, limit int) ([]string, error) {
	return again(ctx, func() ([]string, error) { return s.next.BlockedKeys(ctx, after, limit) })
}

func (s *store) Heads(ctx context.Context, keys []string) (map[string]domain.JobID, error) {
	return again(ctx, func() (map[string]domain.JobID, error) { return s.next.Heads(ctx, keys) })
}

func (s *store) Chains(ctx context.Context, after string, limit int) ([]domain.Chain, error) {
	return again(ctx, func() ([]domain.Chain, error) { return s.next.Chains(ctx, after, limit) })
}

func (s *store) Unchain(ctx context.Context, key string) (driven.Unchained, error) {
	return again(ctx, func() (driven.Unchained, error) { return s.next.Unchain(ctx, key) })
}
