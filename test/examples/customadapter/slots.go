package customadapter

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// permit is a taken slot: a claim holds it, or it is only kept for a while.
type permit struct {
	domain.Ticket           // without a token nobody holds it; its job's runner may come back
	ends          time.Time // kept at least until then
	changed       time.Time
}

func (p permit) held() bool { return !p.Token.IsZero() }

// lingers says whether a sweep took it from a claim of the job and keeps it.
func (p permit) lingers(job domain.JobID, now time.Time) bool {
	return !p.held() && !p.ID.IsZero() && p.ID == job && p.ends.After(now)
}

// taken lists the numbers of a key's slots that nobody may take.
func (t *tx) taken(key string) (numbers []int) {
	for at, p := range t.slots {
		if at.Key == key && (p.held() || p.ends.After(t.now)) {
			numbers = append(numbers, at.Index)
		}
	}
	return numbers
}

// giveBack frees a slot, after a while if one is given, unless another claim holds it.
func (t *tx) giveBack(ticket domain.Ticket, at domain.Slot, keep time.Duration) {
	if p := t.slots[at]; !p.held() || p.Ticket != ticket {
		return
	}
	delete(t.slots, at)
	if keep > 0 {
		t.slots[at] = permit{ends: t.in(keep), changed: t.now}
	}
}

func (s *store) Hold(ctx context.Context, all []driven.Holding) error {
	return s.do(ctx, "hold slots", func(t *tx) error {
		for _, h := range all {
			if p := t.slots[h.Slot]; h.End {
				t.giveBack(h.Ticket, h.Slot, h.For)
			} else if p.held() && p.Ticket == h.Ticket || p.lingers(h.Ticket.ID, t.now) {
				p.ends = t.in(h.For)
				t.slots[h.Slot] = p
			}
		}
		return nil
	})
}

func (s *store) Expire(ctx context.Context, limit int) (answer driven.Expired, err error) {
	err = s.do(ctx, "expire slots", func(t *tx) error {
		answer.Next = driven.NoNext
		for at, p := range t.slots {
			switch {
			case p.held():
			case p.ends.After(t.now):
				answer.Next = min(answer.Next, p.ends.Sub(t.now))
			case len(answer.Keys) >= limit:
				answer.More = true
			default:
				delete(t.slots, at)
				answer.Keys = append(answer.Keys, at.Key)
			}
		}
		slices.Sort(answer.Keys)
		answer.Keys = slices.Compact(answer.Keys)
		return nil
	})
	return answer, err
}

// Reap has no idle rows to remove: a slot that is free is none.
func (s *store) Reap(ctx context.Context, req driven.ReapRequest) (answer driven.Reaped, err error) {
	err = s.do(ctx, "reap slots", func(t *tx) error {
		page := t.slotsAfter(req.After)
		answer.More = len(page) > req.Limit
		for _, at := range page[:min(len(page), req.Limit)] {
			answer.Last = at
			p := t.slots[at]
			if _, runs := t.held(p.Ticket); p.held() && !runs && !p.ends.After(t.now) {
				t.giveBack(p.Ticket, at, req.Linger)
				if kept, ok := t.slots[at]; ok {
					kept.ID = p.ID
					t.slots[at] = kept
				}
				answer.Orphans++
			}
		}
		return nil
	})
	return answer, err
}

// slotsAfter lists the slots behind one by key and number.
func (t *tx) slotsAfter(after domain.Slot) []domain.Slot {
	all := slices.SortedFunc(maps.Keys(t.slots), domain.Slot.Compare)
	return slices.DeleteFunc(all, func(at domain.Slot) bool { return at.Compare(after) <= 0 })
}

func (s *store) Held(ctx context.Context, after domain.Slot, limit int) (all []domain.Holder, err error) {
	err = s.do(ctx, "list held slots", func(t *tx) error {
		for _, at := range t.slotsAfter(after) {
			p := t.slots[at]
			if len(all) == limit || !p.held() && !p.ends.After(t.now) {
				continue
			}
			h := domain.Holder{Slot: at, Job: p.ID, Over: true, Since: p.changed, Left: max(0, p.ends.Sub(t.now))}
			switch r, runs := t.held(p.Ticket); {
			case runs:
				h.Runner, h.Over = r.Runner, false
			case p.held() && !r.ClaimedAt.After(p.changed): // no other claim began since
				h.Runner = r.Runner
			}
			all = append(all, h)
		}
		return nil
	})
	return all, err
}
