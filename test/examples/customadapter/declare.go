package customadapter

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// declared is where a declaration is kept.
type declared struct {
	kind string
	sort domain.BoundSort
}

func (s *store) Declare(ctx context.Context, kinds []string, all []domain.Declaration) error {
	return s.do(ctx, "declare bounds", func(t *tx) error {
		for at, old := range t.declared {
			if slices.Contains(kinds, at.kind) && old.N > 0 {
				old.N, old.At = 0, t.now
				t.declared[at] = old
			}
		}
		for _, d := range all {
			d.At = t.now
			t.declared[declared{d.Kind, d.Sort}] = d
			for at, other := range t.declared { // a group has what was declared last
				if other.N > 0 && other.Sort == d.Sort && other.Group == d.Group {
					other.N, other.Window = d.N, d.Window
					t.declared[at] = other
				}
			}
		}
		return nil
	})
}

func (s *store) Declared(ctx context.Context, after string, limit int) (all []domain.Declaration, err error) {
	err = s.do(ctx, "list declared bounds", func(t *tx) error {
		for _, d := range slices.SortedFunc(maps.Values(t.declared), func(a, b domain.Declaration) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Sort, b.Sort))
		}) {
			if d.Kind > after && len(all) < limit {
				all = append(all, d)
			}
		}
		return nil
	})
	return all, err
}

func (s *store) Loosen(ctx context.Context, req driven.LoosenRequest) (answer driven.Loosened, err error) {
	err = s.do(ctx, "loosen", func(t *tx) error {
		for _, r := range t.pick(func(r *record) bool { return r.State == domain.Blocked && t.loose(r) }, byTurn) {
			if answer.More = answer.Jobs == req.Limit; answer.More {
				break
			}
			t.ready(r, &answer.Woken)
		}
		return nil
	})
	return answer, err
}

// loose says whether a job waits for a limit or rate that its kind does not declare.
func (t *tx) loose(r *record) bool {
	k, limited := limitOf(r.BlockedOn)
	d := t.declared[declared{r.Kind, k.Sort}]
	return limited && (d.N == 0 || !d.Covers(r.BlockedOn))
}

// BlockedKeys may not walk jobs in a store for many of them; see the package's doc.
func (s *store) BlockedKeys(ctx context.Context, after string, limit int) (keys []string, err error) {
	err = s.do(ctx, "list blocked keys", func(t *tx) error {
		for _, r := range t.pick(func(r *record) bool { return r.State == domain.Blocked && r.BlockedOn > after }, byAge) {
			keys = append(keys, r.BlockedOn)
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		keys = keys[:min(limit, len(keys))]
		return nil
	})
	return keys, err
}

// blocks says whether a record is dead and stands in the way of its chains.
func blocks(r *record) bool { return r.State == domain.Dead && len(r.Turns) > 0 && r.turns() }

func (s *store) Heads(ctx context.Context, keys []string) (heads map[string]domain.JobID, err error) {
	heads = map[string]domain.JobID{}
	err = s.do(ctx, "list whose turn it is", func(t *tx) error {
		for key, first := range t.heads() {
			if slices.Contains(keys, key) {
				heads[key] = first.ID
			}
		}
		return nil
	})
	return heads, err
}

func (s *store) Chains(ctx context.Context, after string, limit int) (chains []domain.Chain, err error) {
	err = s.do(ctx, "list chains", func(t *tx) error {
		first := map[string]domain.JobID{}
		for _, r := range t.pick(blocks, byDue) {
			for _, key := range r.Turns {
				if _, known := first[key]; !known {
					first[key] = r.ID
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(first)) {
			if key > after && len(chains) < limit {
				chains = append(chains, domain.Chain{Key: key, Job: first[key]})
			}
		}
		return nil
	})
	return chains, err
}

func (s *store) Unchain(ctx context.Context, key string) (answer driven.Unchained, err error) {
	err = s.do(ctx, "release chain", func(t *tx) error {
		for _, r := range t.pick(func(r *record) bool { return blocks(r) && slices.Contains(r.Turns, key) }, byAge) {
			r.Loose = true
			t.put(r)
			answer.Dead++
			answer.Keys = append(answer.Keys, r.Turns...)
		}
		slices.Sort(answer.Keys)
		answer.Keys = slices.Compact(answer.Keys)
		return nil
	})
	return answer, err
}
