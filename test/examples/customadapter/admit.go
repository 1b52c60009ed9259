package customadapter

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Admit gives each job that is still claimed all its slots, or parks it. The
// domain says which slots may be taken and who lacks what: here nothing can
// change between its look and the write.
func (s *store) Admit(ctx context.Context, req driven.AdmitRequest) (answer driven.Admission, err error) {
	err = s.do(ctx, "admit", func(t *tx) error {
		bounds := domain.Bounds{}
		var tickets []domain.Ticket
		var all []domain.Applicant
		for _, w := range req.Wants { // what an earlier call took, whose answer was lost
			for at := range t.slots {
				t.giveBack(w.Ticket, at, 0)
			}
		}
		for _, w := range req.Wants {
			if r, held := t.held(w.Ticket); held {
				tickets, all = append(tickets, w.Ticket), append(all, t.applicant(&r, &w, bounds))
			}
		}
		bounds.Plan(all, 0)
		won, heads := map[domain.Slot]domain.JobID{}, map[string]domain.JobID{}
		for _, a := range all {
			for _, at := range a.Slots {
				won[at] = a.ID
			}
		}
		for key, first := range t.heads() {
			heads[key] = first.ID
		}
		domain.JudgeApplicants(all, won, heads)
		for i := range all {
			t.admit(tickets[i], &all[i], bounds, &answer)
		}
		return nil
	})
	return answer, err
}

// applicant lists the keys of a job's bounds, and tells the bounds of each.
func (t *tx) applicant(r *record, w *driven.Want, bounds domain.Bounds) domain.Applicant {
	a := domain.Applicant{ID: r.ID, Due: r.place().Due}
	need := func(key string, d domain.Declaration) {
		a.Keys = append(a.Keys, key)
		if bounds[key] == nil {
			bounds[key] = &domain.Bound{N: d.N, Window: d.Window, Taken: t.taken(key)}
		}
	}
	if w.Turn {
		for _, key := range r.Turns {
			need(key, domain.Declaration{N: 1})
		}
	}
	if d := t.declared[declared{w.Kind, domain.BoundLimit}]; w.Limit && d.N > 0 {
		need(d.Key(w.OwnLimit), d)
	}
	if d := t.declared[declared{w.Kind, domain.BoundRate}]; w.Rate && d.N > 0 {
		need(d.Key(w.OwnRate), d)
	}
	return a
}

// admit writes what becomes of one job.
func (t *tx) admit(ticket domain.Ticket, a *domain.Applicant, bounds domain.Bounds, answer *driven.Admission) {
	if a.Lacks != "" {
		r := t.jobs[a.ID]
		release(&r)
		r.State, r.BlockedOn = domain.Blocked, a.Lacks
		t.put(r)
		answer.Parked = append(answer.Parked, driven.Parking{ID: a.ID, Key: a.Lacks})
		answer.Wake = append(answer.Wake, a.Keys...)
		return
	}
	got := driven.Admitted{ID: a.ID}
	for _, at := range a.Slots {
		window := bounds[at.Key].Window // 0: none, so it ends with the claim
		t.slots[at] = permit{Ticket: ticket, ends: t.in(window), changed: t.now}
		got.Slots = append(got.Slots, domain.HeldSlot{Slot: at, Window: window})
	}
	answer.Admitted = append(answer.Admitted, got)
}

// heads are the first places of all keys at which jobs take turns.
func (t *tx) heads() map[string]domain.Place {
	first := map[string]domain.Place{}
	for _, r := range t.jobs {
		if !r.turns() {
			continue
		}
		for _, key := range r.Turns {
			if best, ok := first[key]; !ok || r.place().Compare(best) < 0 {
				first[key] = r.place()
			}
		}
	}
	return first
}

// Wake looks at all that is blocked; what it makes ready asks for its bounds again.
func (s *store) Wake(ctx context.Context, keys []string) (woken driven.Woken, err error) {
	err = s.do(ctx, "wake", func(t *tx) error {
		heads := t.heads()
		free := map[string]int{}
		for _, key := range keys {
			free[key] = t.allowed(key) - len(t.taken(key))
		}
		for _, r := range t.pick(func(r *record) bool { return r.State == domain.Blocked }, byTurn) {
			_, limited := limitOf(r.BlockedOn)
			if free[r.BlockedOn] > 0 && (limited || heads[r.BlockedOn].ID == r.ID) {
				free[r.BlockedOn]--
				t.ready(r, &woken)
			}
		}
		return nil
	})
	return woken, err
}

// ready makes a blocked job ready.
func (t *tx) ready(r record, woken *driven.Woken) {
	r.State = domain.Ready
	t.put(r)
	woken.Jobs++
	if !slices.Contains(woken.Queues, r.Queue) {
		woken.Queues = append(woken.Queues, r.Queue)
	}
}

// limitOf takes the stored key of a limit or rate apart.
func limitOf(key string) (k domain.BoundKey, ok bool) {
	k, ok = domain.ParseBoundKey(key)
	return k, ok && !k.Sort.Turns()
}

// allowed is what a key allows: as many as any kind of its group declares, all
// where none does any more, and one at a turn.
func (t *tx) allowed(key string) int {
	k, limited := limitOf(key)
	if !limited {
		return 1
	}
	n := 0
	for _, d := range t.declared {
		if d.Sort == k.Sort && d.Group == k.Group {
			n = max(n, d.N)
		}
	}
	if n == 0 {
		return len(t.jobs) + domain.MaxSlots
	}
	return n
}
