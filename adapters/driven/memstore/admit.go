package memstore

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Admit has the store to itself: what it plans is free until it takes it.
func (s *store) Admit(ctx context.Context, req driven.AdmitRequest) (answer driven.Admission, err error) {
	err = s.do(ctx, "admit", func(now time.Time) error {
		bounds := domain.Bounds{}
		tickets, all := s.applicants(req.Wants, bounds, now)
		bounds.Plan(all, rand.IntN(domain.MaxSlots))
		domain.JudgeApplicants(all, planned(all), s.heads(all))
		for i := range all {
			if all[i].Lacks != "" {
				s.park(&all[i], &answer)
			} else {
				s.start(&all[i], tickets[i], bounds, &answer, now)
			}
		}
		slices.Sort(answer.Wake)
		answer.Wake = slices.Compact(answer.Wake)
		return nil
	})
	return answer, err
}

// applicants lists the claims that are still held, and tells the bounds of their keys.
func (s *store) applicants(wants []driven.Want, bounds domain.Bounds, now time.Time) (tickets []domain.Ticket, all []domain.Applicant) {
	for i := range wants {
		w := &wants[i]
		r := s.find(w.Ticket.ID, "")
		if r == nil || !r.holds(w.Ticket) {
			continue
		}
		a := domain.Applicant{ID: r.ID, Due: r.place().Due}
		if w.Turn {
			for _, key := range r.keys {
				s.ask(&a, bounds, key, domain.Declaration{N: 1}, now)
			}
		}
		for _, sort := range []domain.BoundSort{domain.BoundLimit, domain.BoundRate} {
			under := w.Limit && sort == domain.BoundLimit || w.Rate && sort == domain.BoundRate
			if d := s.declared[declared{w.Kind, sort}]; under && d.N > 0 {
				s.ask(&a, bounds, d.Key(w.Own(sort)), d, now)
			}
		}
		s.recall(a.Keys, w.Ticket, bounds, now)
		tickets, all = append(tickets, w.Ticket), append(all, a)
	}
	return tickets, all
}

// recall gives back what the claim took in an earlier call whose answer was lost.
func (s *store) recall(keys []string, t domain.Ticket, bounds domain.Bounds, now time.Time) {
	for _, key := range keys {
		for i := range s.slots[key] {
			at := domain.Slot{Key: key, Index: i}
			if x := s.holder(at, t); x != nil {
				s.free(at, x, 0, now)
				bounds[key].Taken = slices.DeleteFunc(bounds[key].Taken, func(n int) bool { return n == i })
			}
		}
	}
}

// ask adds a key to those that an applicant asks for.
func (s *store) ask(a *domain.Applicant, bounds domain.Bounds, key string, d domain.Declaration, now time.Time) {
	a.Keys = append(a.Keys, key)
	if bounds[key] == nil {
		bounds[key] = &domain.Bound{N: d.N, Window: d.Window, Taken: s.taken(key, now)}
	}
}

// planned says who gets each slot.
func planned(all []domain.Applicant) map[domain.Slot]domain.JobID {
	won := map[domain.Slot]domain.JobID{}
	for i := range all {
		for _, at := range all[i].Slots {
			won[at] = all[i].ID
		}
	}
	return won
}

// heads says whose turn it is at each key that is asked for.
func (s *store) heads(all []domain.Applicant) map[string]domain.JobID {
	heads := map[string]domain.JobID{}
	for i := range all {
		for _, at := range all[i].Slots {
			if r := s.turns[at.Key].first(); r != nil {
				heads[at.Key] = r.ID
			}
		}
	}
	return heads
}

func (s *store) park(a *domain.Applicant, answer *driven.Admission) {
	r := s.rows[a.ID]
	s.change(r, func() {
		r.unclaim()
		r.State, r.BlockedOn = domain.Blocked, a.Lacks
	})
	answer.Parked = append(answer.Parked, driven.Parking{ID: a.ID, Key: a.Lacks})
	answer.Wake = append(answer.Wake, a.Keys...)
}

func (s *store) start(a *domain.Applicant, t domain.Ticket, bounds domain.Bounds, answer *driven.Admission, now time.Time) {
	got := driven.Admitted{ID: a.ID}
	for _, at := range a.Slots {
		if s.slots[at.Key] == nil {
			s.slots[at.Key] = map[int]*slot{}
		}
		window := bounds[at.Key].Window
		x := &slot{job: t.ID, token: t.Token, changed: now}
		s.slots[at.Key][at.Index] = x
		s.keep(at, x, window, now) // a claim that crashes cannot say any more when its handler started
		got.Slots = append(got.Slots, domain.HeldSlot{Slot: at, Window: window})
	}
	answer.Admitted = append(answer.Admitted, got)
}
