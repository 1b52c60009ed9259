package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) Wake(ctx context.Context, keys []string) (woken driven.Woken, err error) {
	err = s.do(ctx, "wake", func(now time.Time) error {
		var free []*row
		for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
			free = append(free, s.startable(key, now)...)
		}
		woken = s.ready(free)
		return nil
	})
	return woken, err
}

// startable lists the blocked rows of a key that may try again.
func (s *store) startable(key string, now time.Time) []*row {
	line := s.blocked[key]
	k, ok := domain.ParseBoundKey(key)
	if line == nil || !ok {
		return nil
	}
	taken := len(s.taken(key, now))
	if k.Sort.Turns() {
		head := s.turns[key].first()
		if taken == 0 && head != nil && head.State == domain.Blocked && head.BlockedOn == key {
			return []*row{head}
		}
		return nil
	}
	free := line.size // where nobody declares such a bound any more
	if n := s.allowed(k); n > 0 {
		free = n - taken
	}
	var first []*row
	for r := range line.up() {
		if len(first) >= free {
			break
		}
		first = append(first, r)
	}
	return first
}

// allowed is the most that any kind of a group declares.
func (s *store) allowed(k domain.BoundKey) (n int) {
	for _, d := range s.declared {
		if d.Sort == k.Sort && d.Group == k.Group {
			n = max(n, d.N)
		}
	}
	return n
}

// ready makes blocked rows ready.
func (s *store) ready(rows []*row) driven.Woken {
	queues := map[string]bool{}
	for _, r := range rows {
		s.change(r, func() { r.State = domain.Ready })
		queues[r.Queue] = true
	}
	return driven.Woken{Jobs: len(rows), Queues: slices.Sorted(maps.Keys(queues))}
}
