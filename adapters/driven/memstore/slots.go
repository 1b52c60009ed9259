package memstore

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// slot is one permit.
type slot struct {
	job     domain.JobID
	token   domain.Token // zero: nobody holds it
	ends    time.Time    // kept at least until then; zero: not kept
	changed time.Time
}

func (x *slot) taken(now time.Time) bool { return !x.token.IsZero() || x.ends.After(now) }

// free ends the hold of a slot, which is kept for a while.
func (s *store) free(at domain.Slot, x *slot, keep time.Duration, now time.Time) {
	x.job, x.token = domain.JobID{}, domain.Token{}
	s.keep(at, x, keep, now)
}

func (s *store) keep(at domain.Slot, x *slot, span time.Duration, now time.Time) {
	x.changed, x.ends = now, time.Time{}
	delete(s.kept, at)
	if span > 0 {
		x.ends = cut(now.Add(span))
		s.kept[at] = x
	}
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

func (s *store) Admit(ctx context.Context, req driven.AdmitRequest) (answer driven.Admission, err error) {
	err = s.do(ctx, "admit", func(now time.Time) error {
		bounds, wants, all := s.applicants(req.Wants, now)
		bounds.Plan(all, rand.IntN(domain.MaxSlots))
		won, heads := map[domain.Slot]domain.JobID{}, map[string]domain.JobID{}
		for i := range all {
			for _, at := range all[i].Slots {
				if x := s.slots[at.Key][at.Index]; x == nil || !x.taken(now) {
					won[at] = all[i].ID
				}
				if line := s.turns[at.Key]; line != nil {
					heads[at.Key] = line.first().ID
				}
			}
		}
		domain.JudgeApplicants(all, won, heads)
		for i := range all {
			s.admit(&all[i], wants[i].Ticket, bounds, &answer, now)
		}
		slices.Sort(answer.Wake)
		answer.Wake = slices.Compact(answer.Wake)
		return nil
	})
	return answer, err
}

// applicants lists the claims that are still held, with their bounds.
func (s *store) applicants(wants []driven.Want, now time.Time) (domain.Bounds, []driven.Want, []domain.Applicant) {
	bounds := domain.Bounds{}
	var held []driven.Want
	var all []domain.Applicant
	for _, w := range wants {
		r := s.find(w.Ticket.ID, "")
		if r == nil || !r.holds(w.Ticket) {
			continue
		}
		a := domain.Applicant{ID: r.ID, Due: r.place().Due}
		if w.Turn {
			a.Keys = slices.Clone(r.keys)
			for _, key := range r.keys {
				s.know(bounds, key, domain.Declaration{N: 1}, now)
			}
		}
		for sort, under := range map[domain.BoundSort]bool{domain.BoundLimit: w.Limit, domain.BoundRate: w.Rate} {
			if d := s.declared[declared{w.Kind, sort}]; under && d.N > 0 {
				key := d.Key(w.Own(sort))
				a.Keys = append(a.Keys, key)
				s.know(bounds, key, d, now)
			}
		}
		held, all = append(held, w), append(all, a)
	}
	return bounds, held, all
}

func (s *store) know(bounds domain.Bounds, key string, d domain.Declaration, now time.Time) {
	if bounds[key] != nil {
		return
	}
	b := &domain.Bound{N: d.N, Window: d.Window}
	for i, x := range s.slots[key] {
		if x.taken(now) {
			b.Taken = append(b.Taken, i)
		}
	}
	bounds[key] = b
}

func (s *store) admit(a *domain.Applicant, t domain.Ticket, bounds domain.Bounds, answer *driven.Admission, now time.Time) {
	if a.Lacks != "" {
		r := s.rows[a.ID]
		s.change(r, func() {
			r.unclaim()
			r.State, r.BlockedOn = domain.Blocked, a.Lacks
		})
		answer.Parked = append(answer.Parked, driven.Parking{ID: a.ID, Key: a.Lacks})
		answer.Wake = append(answer.Wake, a.Keys...)
		return
	}
	got := driven.Admitted{ID: a.ID}
	for _, at := range a.Slots {
		if s.slots[at.Key] == nil {
			s.slots[at.Key] = map[int]*slot{}
		}
		s.slots[at.Key][at.Index] = &slot{job: t.ID, token: t.Token, changed: now}
		delete(s.kept, at)
		got.Slots = append(got.Slots, domain.HeldSlot{Slot: at, Window: bounds[at.Key].Window})
	}
	answer.Admitted = append(answer.Admitted, got)
}

// of walks the rows of one kind.
func (x *index) of(kind string) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		for r := range x.up() {
			if r.Kind == kind && !yield(r) {
				return
			}
		}
	}
}
