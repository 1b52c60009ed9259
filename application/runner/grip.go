package runner

import (
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// grip is what an attempt holds of its bounds.
type grip struct {
	mu    sync.Mutex
	slots []domain.HeldSlot
}

func (g *grip) set(slots []domain.HeldSlot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slots = slots
}

func (g *grip) list() []domain.HeldSlot {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.slots
}

// lose takes out a slot that was given back.
func (g *grip) lose(at domain.Slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slots = slices.DeleteFunc(slices.Clone(g.slots), func(h domain.HeldSlot) bool { return h.Slot == at })
}

// keeps says that the handler may run on though the row does not say so: its
// slots must stay taken.
func (a *attempt) keeps() bool {
	phase := a.phase.Load()
	return a.grip != nil && (phase == outlived || phase == lost && a.began.Load())
}

// ends gives back all that the attempt holds: of a rate when its window is over,
// counted from the handler's start; where that never started, at once.
func (a *attempt) ends(now time.Duration) []domain.SlotEnd {
	if a.grip == nil {
		return nil
	}
	held := a.grip.list()
	ends := make([]domain.SlotEnd, len(held))
	for i, h := range held {
		ends[i] = domain.SlotEnd{Slot: h.Slot, After: a.left(h, now)}
		if h.Window == 0 && a.phase.Load() == released { // its handler runs on until this process is gone
			ends[i].After = a.lane.session.leaves(now)
		}
	}
	return ends
}

// left is how long a slot stays taken when the attempt gives it back now.
func (a *attempt) left(h domain.HeldSlot, now time.Duration) time.Duration {
	if h.Window == 0 || !a.began.Load() {
		return 0
	}
	left := h.Window - (now - time.Duration(a.started.Load()))
	if left <= 0 {
		return 0
	}
	return left.Truncate(time.Millisecond) + 2*time.Millisecond // a store cuts its moments: never a start too early
}

// fill completes outcomes with what their bounds need. A handler that runs on
// after its timeout keeps its slots.
func fill(batch []settling, now time.Duration) []driven.Outcome {
	outcomes := make([]driven.Outcome, len(batch))
	for i := range batch {
		o, a := &batch[i].outcome, batch[i].attempt
		o.Turn = a.claim.Job.Turn != domain.NoTurn
		if o.Slots = nil; a.phase.Load() != outlived {
			o.Slots = a.ends(now)
		}
		outcomes[i] = *o
	}
	return outcomes
}

// keepings prolong what an attempt holds whose handler runs on.
func (a *attempt) keepings(span time.Duration) []driven.Holding {
	var all []driven.Holding
	for _, h := range a.grip.list() {
		if h.Window == 0 { // a rate counts starts: how long the handler runs is nothing to it
			all = append(all, driven.Holding{Ticket: a.claim.Ticket(), Slot: h.Slot, For: span})
		}
	}
	return all
}
