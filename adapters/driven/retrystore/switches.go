package retrystore

import (
	"context"

	"github.com/rowlock/rowlock/domain"
)

func (s *store) Pause(ctx context.Context, x domain.Switch) error {
	return do(ctx, func() error { return s.next.Pause(ctx, x) })
}

func (s *store) Resume(ctx context.Context, x domain.Switch) error {
	return do(ctx, func() error { return s.next.Resume(ctx, x) })
}

func (s *store) Paused(ctx context.Context, limit int) ([]domain.Paused, error) {
	return again(ctx, func() ([]domain.Paused, error) { return s.next.Paused(ctx, limit) })
}
