package runner

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// nap is how long the waker may rest.
func (w *waker) nap() time.Duration {
	s := w.session
	now := s.clock.now()
	wakes := w.wakes(now)
	if wakes <= now || !s.bounded.Load() {
		return max(wakes-now, 0)
	}
	at := w.kept + s.cfg.Renew
	if tick := w.tick(); tick > 0 {
		at = min(at, now+tick)
	}
	return max(min(at, w.due(now), wakes)-now, time.Millisecond)
}

// wakes is when keys are woken next.
func (w *waker) wakes(now time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.keys) > 0 {
		return now
	}
	return w.recall.next(now)
}

// due is when expired slots are looked for next: when the store said that one is,
// or this runner knows, at most a poll interval after the last look.
func (w *waker) due(now time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	poll := w.session.cfg.Poll
	at := min(max(w.next, w.looked+min(othersGap, poll)), w.looked+poll)
	if w.soonest > 0 {
		at = min(at, max(w.soonest, w.looked+expireGap))
	}
	return at
}

// expire frees the slots that time frees.
func (w *waker) expire() bool {
	s := w.session
	now := s.clock.now()
	if !s.bounded.Load() || now < w.due(now) {
		return true
	}
	answer, err := inTime(&w.within, s, s.cfg.Lease, s.deps.Store.Expire, expireBatch)
	w.looked = s.clock.now()
	if err != nil {
		w.next = w.looked + s.cfg.Poll
		s.fail("expire slots", "", err)
		return false
	}
	w.add(answer.Keys...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next = w.looked + answer.Next; answer.More {
		w.next = w.looked
	}
	if w.soonest > 0 && w.soonest <= now {
		if w.soonest = 0; w.next <= w.latest { // then it may be one of this runner's
			w.soonest = w.next
		}
	}
	return true
}

// tick is how often running jobs under a rate are looked at; 0 where there are none.
func (w *waker) tick() time.Duration {
	w.mu.Lock()
	rated := w.rated
	w.mu.Unlock()
	if !rated {
		return 0
	}
	return w.session.rateTick
}

// hold gives back what is to be given back and keeps what must stay taken.
func (w *waker) hold() bool {
	w.mu.Lock()
	ends, keep := w.ends, w.keep
	w.ends, w.keep = nil, false
	w.busy = w.busy || len(ends) > 0
	rated := w.rated
	w.rated = false // look, and who is admitted meanwhile, says so again
	w.mu.Unlock()
	all := ends
	now := w.session.clock.now()
	keep = keep || now-w.kept >= w.session.cfg.Renew
	var started []*attempt
	if keep || rated {
		var more []driven.Holding
		more, started = w.look(now, keep)
		all = append(slices.Clip(all), more...)
	}
	if !w.send(all) {
		w.mu.Lock()
		w.ends, w.keep = append(w.ends, ends...), w.keep || keep
		w.mu.Unlock()
		w.rest()
		return false
	}
	if keep {
		w.kept = now
	}
	for _, a := range started {
		w.counted(a, all)
	}
	w.given(ends)
	return true
}

// look lists what must be kept and, of jobs that run, the starts that a rate has
// counted: those slots need not wait for the handler's end.
func (w *waker) look(now time.Duration, keep bool) (all []driven.Holding, started []*attempt) {
	rated := false
	for _, a := range w.session.held.list() {
		if a.grip == nil {
			continue
		}
		if keep && a.keeps() {
			all = append(all, a.grip.get().keepings(w.session.span())...)
		}
		for _, h := range a.grip.get().slots {
			if h.Window == 0 {
				continue
			}
			rated = true
			if a.began.Load() && now-time.Duration(a.started.Load()) >= min(h.Window/4, w.session.rateTick) {
				all = append(all, driven.Holding{Ticket: a.claim.Ticket(), Slot: h.Slot, For: a.left(h, now), End: true})
				started = append(started, a)
			}
		}
	}
	w.mu.Lock()
	w.rated = w.rated || rated
	w.mu.Unlock()
	return all, started
}

// send writes holdings; false where they may be written later.
func (w *waker) send(all []driven.Holding) bool {
	s := w.session
	for chunk := range slices.Chunk(all, holdBatch) {
		err := w.within.call(s, s.cfg.Lease, func(ctx context.Context) error { return s.deps.Store.Hold(ctx, chunk) })
		if err == nil {
			continue
		}
		s.fail("hold slots", "", err)
		if transient(err) {
			return false
		} // what cannot be done is left to the sweep, and keeps no other
	}
	return true
}

// counted takes from an attempt what it gave back.
func (w *waker) counted(a *attempt, all []driven.Holding) {
	for _, h := range all {
		if h.End && h.Ticket == a.claim.Ticket() {
			a.grip.lose(h.Slot)
			w.freed([]domain.SlotEnd{{Slot: h.Slot, After: h.For}})
		}
	}
}

// given wakes who waits for what was given back. Whoever waits here is called after that.
func (w *waker) given(ends []driven.Holding) {
	if len(ends) == 0 {
		return
	}
	freed := make([]domain.SlotEnd, len(ends))
	for i, h := range ends {
		freed[i] = domain.SlotEnd{Slot: h.Slot, After: h.For}
		if h.For == 0 && w.session.buckets[h.Slot.Key] != nil {
			w.owed[h.Slot.Key]++
		}
	}
	w.note(freed)
	w.rest()
}

// share gives the buckets of the keys what was given back. Where somebody waits here it
// leaves alone as many slots as somebody was woken for.
func (w *waker) share(keys []string, woken int) {
	s, called := w.session, false
	for _, key := range keys {
		n := w.owed[key]
		if n == 0 {
			continue
		}
		delete(w.owed, key)
		left := 0
		if s.awaited(s.buckets[key]) {
			left = min(n, woken)
			woken -= left
		}
		s.buckets[key].give(n, left, s.clock.now())
		called = true
	}
	if called {
		s.call()
	}
}
