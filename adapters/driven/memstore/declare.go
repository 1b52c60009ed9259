package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// declared is where a declaration is kept.
type declared struct {
	kind string
	sort domain.BoundSort
}

func (s *store) Declare(ctx context.Context, kinds []string, all []domain.Declaration) error {
	return s.do(ctx, "declare bounds", func(now time.Time) error {
		fresh := map[declared]domain.Declaration{}
		for _, d := range all {
			fresh[declared{d.Kind, d.Sort}] = shared(d, all)
		}
		for at, old := range s.declared {
			d, still := fresh[at]
			switch {
			case still:
			case slices.Contains(kinds, at.kind):
				old.N = 0
				d = old
			default:
				d = shared(old, all)
			}
			fresh[at] = d
		}
		for at, d := range fresh {
			old, known := s.declared[at]
			if !known || !old.Same(d) {
				d.At = now
				s.declared[at] = d
			}
		}
		return nil
	})
}

// shared is a declaration with what others of its group declare now.
func shared(d domain.Declaration, all []domain.Declaration) domain.Declaration {
	for _, o := range all {
		if o.Sort == d.Sort && o.Group == d.Group && d.N > 0 {
			d.N, d.Window = o.N, o.Window
		}
	}
	return d
}

func (s *store) Declared(ctx context.Context, after string, limit int) (all []domain.Declaration, err error) {
	err = s.do(ctx, "list declared bounds", func(time.Time) error {
		for _, d := range s.declared {
			if d.Kind > after {
				all = append(all, d)
			}
		}
		slices.SortFunc(all, func(a, b domain.Declaration) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Sort, b.Sort))
		})
		all = all[:min(max(limit, 0), len(all))]
		return nil
	})
	return all, err
}

// Loosen looks at everybody: they are here.
func (s *store) Loosen(ctx context.Context, r driven.LoosenRequest) (answer driven.Loosened, err error) {
	limit := r.Limit
	err = s.do(ctx, "loosen", func(time.Time) error {
		var free []*row
		for key, line := range s.blocked {
			k, ok := domain.ParseBoundKey(key)
			if !ok || k.Sort.Turns() {
				continue
			}
			for r := range line.up() {
				if d := s.declared[declared{r.Kind, k.Sort}]; d.N == 0 || !d.Covers(key) {
					free = append(free, r)
				}
			}
		}
		answer.More = len(free) > limit
		answer.Woken = s.ready(free[:min(len(free), limit)])
		return nil
	})
	return answer, err
}
