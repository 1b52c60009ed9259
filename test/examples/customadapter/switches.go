package customadapter

import (
	"cmp"
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
)

func (s *store) Pause(ctx context.Context, x domain.Switch) error {
	return s.do(ctx, "pause", func(t *tx) error {
		if _, already := t.off[x]; !already {
			t.off[x] = t.now
			t.after = append(t.after, change{Off: packOff(x, t.now)})
		}
		return nil
	})
}

func (s *store) Resume(ctx context.Context, x domain.Switch) error {
	return s.do(ctx, "resume", func(t *tx) error {
		if _, is := t.off[x]; is {
			delete(t.off, x)
			t.after = append(t.after, change{Off: &offText{Sort: int(x.Sort), Name: x.Name}})
		}
		return nil
	})
}

func (s *store) Paused(ctx context.Context, limit int) (all []domain.Paused, err error) {
	err = s.do(ctx, "list paused", func(t *tx) error {
		for x, since := range t.off {
			all = append(all, domain.Paused{Switch: x, Since: since})
		}
		slices.SortFunc(all, func(a, b domain.Paused) int {
			return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.Name, b.Name))
		})
		all = all[:min(limit, len(all))]
		return nil
	})
	return all, err
}
