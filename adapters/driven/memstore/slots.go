package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// idle is how long a slot must have been free before its row goes.
const idle = time.Minute

// slot is one permit.
type slot struct {
	job     domain.JobID
	token   domain.Token // zero: nobody holds it
	ends    time.Time    // kept at least until then; zero: not kept
	changed time.Time
}

func (x *slot) taken(now time.Time) bool { return !x.token.IsZero() || x.ends.After(now) }

// taken lists the numbers of a key's slots that are taken.
func (s *store) taken(key string, now time.Time) (numbers []int) {
	for i, x := range s.slots[key] {
		if x.taken(now) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// free ends the hold of a slot, which is kept for a while.
func (s *store) free(at domain.Slot, x *slot, keep time.Duration, now time.Time) {
	x.job, x.token, x.changed = domain.JobID{}, domain.Token{}, now
	s.keep(at, x, keep, now)
}

// keep says how long a slot stays taken, whoever holds it.
func (s *store) keep(at domain.Slot, x *slot, span time.Duration, now time.Time) {
	x.ends = time.Time{}
	delete(s.kept, at)
	if span > 0 {
		x.ends = cut(now.Add(span))
		s.kept[at] = x
	}
}

// lingers says whether a sweep took the slot from a claim of the job and keeps it
// for a while: it has the job alone.
func (x *slot) lingers(job domain.JobID, now time.Time) bool {
	return x != nil && x.token.IsZero() && x.job == job && x.ends.After(now)
}

// holder is the slot if the claim holds it.
func (s *store) holder(at domain.Slot, t domain.Ticket) *slot {
	x := s.slots[at.Key][at.Index]
	if x == nil || t.Token.IsZero() || x.token != t.Token || x.job != t.ID {
		return nil
	}
	return x
}

// giveBack frees the slots of an outcome.
func (s *store) giveBack(o *driven.Outcome, now time.Time) {
	for _, end := range o.Slots {
		if x := s.holder(end.Slot, o.Ticket); x != nil {
			s.free(end.Slot, x, end.After, now)
		}
	}
}

func (s *store) Hold(ctx context.Context, all []driven.Holding) error {
	return s.do(ctx, "hold slots", func(now time.Time) error {
		for i := range all {
			h := &all[i]
			x := s.holder(h.Slot, h.Ticket)
			if left := s.slots[h.Slot.Key][h.Slot.Index]; !h.End && left.lingers(h.Ticket.ID, now) {
				x = left // who comes back may prolong that
			}
			switch {
			case x == nil:
			case h.End:
				s.free(h.Slot, x, h.For, now)
			default:
				s.keep(h.Slot, x, h.For, now)
			}
		}
		return nil
	})
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
				s.free(at, x, 0, now)
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
				job := x.job
				s.free(at, x, req.Linger, now)
				x.job = job // whose runner may come back
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
			if at := (domain.Slot{Key: key, Index: i}); at.Compare(after) > 0 {
				all = append(all, at)
			}
		}
	}
	slices.SortFunc(all, domain.Slot.Compare)
	return all
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
			h := domain.Holder{Slot: at, Job: x.job, Over: true, Since: x.changed}
			switch r := s.rows[x.job]; {
			case r == nil || x.token.IsZero():
			case r.holds(domain.Ticket{ID: x.job, Token: x.token}):
				h.Runner, h.Over = r.Runner, false
			case !r.ClaimedAt.After(x.changed): // no other claim began since
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
