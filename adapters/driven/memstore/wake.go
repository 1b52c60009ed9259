package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// idle is how long a slot must have been free before its row goes.
const idle = time.Minute

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
	taken := 0
	for _, x := range s.slots[key] {
		if x.taken(now) {
			taken++
		}
	}
	if k.Sort.Turns() {
		head := s.turns[key].first()
		if taken == 0 && head != nil && head.State == domain.Blocked && head.BlockedOn == key {
			return []*row{head}
		}
		return nil
	}
	var first []*row
	for r := range line.up() {
		if len(first) >= s.allowed(k, line.size)-taken {
			break
		}
		first = append(first, r)
	}
	return first
}

// allowed is what a group's key allows now; where nobody declares it any more, all.
func (s *store) allowed(k domain.BoundKey, all int) int {
	n := 0
	for _, d := range s.declared {
		if d.Sort == k.Sort && d.Group == k.Group {
			n = max(n, d.N)
		}
	}
	if n == 0 {
		return all + domain.MaxSlots
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

func (s *store) Expire(ctx context.Context, limit int) (answer driven.Expired, err error) {
	err = s.do(ctx, "expire slots", func(now time.Time) error {
		answer.Next = driven.NoNext
		for at, x := range s.kept {
			switch {
			case !x.token.IsZero():
			case x.ends.After(now):
				answer.Next = min(answer.Next, x.ends.Sub(now))
			case len(answer.Keys) >= limit:
				answer.More = true
			default:
				s.keep(at, x, 0, now)
				answer.Keys = append(answer.Keys, at.Key)
			}
		}
		slices.Sort(answer.Keys)
		answer.Keys = slices.Compact(answer.Keys)
		return nil
	})
	return answer, err
}

func (s *store) Reap(ctx context.Context, req driven.ReapRequest) (answer driven.Reaped, err error) {
	err = s.do(ctx, "reap slots", func(now time.Time) error {
		all := s.slotsAfter(req.After)
		answer.More = len(all) > req.Limit
		for _, at := range all[:min(len(all), req.Limit)] {
			x := s.slots[at.Key][at.Index]
			answer.Last = at
			switch r := s.rows[x.job]; {
			case x.token.IsZero():
				s.forget(at, x, now)
			case x.ends.After(now) || r != nil && r.holds(domain.Ticket{ID: x.job, Token: x.token}):
			default:
				s.free(at, x, req.Linger, now)
				answer.Orphans++
			}
		}
		return nil
	})
	return answer, err
}

// forget drops the row of a slot that nobody wanted for a while.
func (s *store) forget(at domain.Slot, x *slot, now time.Time) {
	if x.ends.IsZero() && now.Sub(x.changed) > idle {
		if delete(s.slots[at.Key], at.Index); len(s.slots[at.Key]) == 0 {
			delete(s.slots, at.Key)
		}
	}
}

// slotsAfter lists every slot behind one, by key and number.
func (s *store) slotsAfter(after domain.Slot) []domain.Slot {
	var all []domain.Slot
	for key, numbers := range s.slots {
		for i := range numbers {
			if at := (domain.Slot{Key: key, Index: i}); compareSlots(at, after) > 0 {
				all = append(all, at)
			}
		}
	}
	slices.SortFunc(all, compareSlots)
	return all
}

func compareSlots(a, b domain.Slot) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Index, b.Index))
}

func (s *store) Held(ctx context.Context, after domain.Slot, limit int) (all []domain.Holder, err error) {
	err = s.do(ctx, "list held slots", func(now time.Time) error {
		for _, at := range s.slotsAfter(after) {
			x := s.slots[at.Key][at.Index]
			if len(all) >= limit {
				return nil
			}
			if !x.taken(now) {
				continue
			}
			h := domain.Holder{Slot: at, Job: x.job, Since: x.changed}
			if r := s.rows[x.job]; r != nil && r.holds(domain.Ticket{ID: x.job, Token: x.token}) {
				h.Runner = r.Runner
			}
			if x.ends.After(now) {
				h.Left = x.ends.Sub(now)
			}
			all = append(all, h)
		}
		return nil
	})
	return all, err
}
