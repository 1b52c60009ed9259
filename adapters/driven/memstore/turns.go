package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) placeTurns(r *row) {
	if !r.hasTurn() {
		return
	}
	for _, key := range r.keys {
		addTo(s.turns, key, byPlace, r)
	}
}

func (s *store) liftTurns(r *row) {
	if !r.hasTurn() {
		return
	}
	for _, key := range r.keys {
		takeFrom(s.turns, key, r)
	}
}

// BlockedKeys sorts the keys; rows are not looked at.
func (s *store) BlockedKeys(ctx context.Context, after string, limit int) (keys []string, err error) {
	err = s.do(ctx, "list blocked keys", func(time.Time) error {
		keys = page(s.blocked, after, limit)
		return nil
	})
	return keys, err
}

// page is a page of names in byte order.
func page[V any](all map[string]V, after string, limit int) []string {
	names := slices.Sorted(maps.Keys(all))
	from, found := slices.BinarySearch(names, after)
	if found {
		from++
	}
	names = names[from:]
	return names[:min(max(limit, 0), len(names))]
}

func (s *store) Heads(ctx context.Context, keys []string) (heads map[string]domain.JobID, err error) {
	heads = map[string]domain.JobID{}
	err = s.do(ctx, "list whose turn it is", func(time.Time) error {
		for _, key := range keys {
			if r := s.turns[key].first(); r != nil {
				heads[key] = r.ID
			}
		}
		return nil
	})
	return heads, err
}

// Chains looks at the first row of each key: a dead one that has its turn blocks.
func (s *store) Chains(ctx context.Context, after string, limit int) (chains []domain.Chain, err error) {
	err = s.do(ctx, "list chains", func(time.Time) error {
		for _, key := range page(s.turns, after, len(s.turns)) {
			if len(chains) >= limit {
				return nil
			}
			for r := range s.turns[key].up() {
				if r.State == domain.Dead {
					chains = append(chains, domain.Chain{Key: key, Job: r.ID})
					break
				}
			}
		}
		return nil
	})
	return chains, err
}

func (s *store) Unchain(ctx context.Context, key string) (answer driven.Unchained, err error) {
	err = s.do(ctx, "release chain", func(time.Time) error {
		var dead []*row
		if line := s.turns[key]; line != nil {
			for r := range line.up() {
				if r.State == domain.Dead {
					dead = append(dead, r)
				}
			}
		}
		for _, r := range dead {
			answer.Keys = append(answer.Keys, r.keys...)
			s.change(r, func() { r.loose = true })
		}
		slices.Sort(answer.Keys)
		answer.Dead, answer.Keys = len(dead), slices.Compact(answer.Keys)
		return nil
	})
	return answer, err
}
