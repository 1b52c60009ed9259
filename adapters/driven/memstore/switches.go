package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func (s *store) Pause(ctx context.Context, x domain.Switch) error {
	return s.do(ctx, "pause", func(now time.Time) error {
		if _, already := s.paused[x]; !already {
			s.paused[x] = now
		}
		return nil
	})
}

func (s *store) Resume(ctx context.Context, x domain.Switch) error {
	return s.do(ctx, "resume", func(time.Time) error {
		delete(s.paused, x)
		return nil
	})
}

func (s *store) Paused(ctx context.Context, limit int) (all []domain.Paused, err error) {
	err = s.do(ctx, "list paused", func(time.Time) error {
		for x, since := range s.paused {
			all = append(all, domain.Paused{Switch: x, Since: since})
		}
		slices.SortFunc(all, func(a, b domain.Paused) int {
			return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.Name, b.Name))
		})
		all = all[:min(max(limit, 0), len(all))]
		return nil
	})
	return all, err
}
