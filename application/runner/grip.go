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
	mu sync.Mutex
	holding
	passed holding // what the attempt took and another one has now
}

// holding is some slots, which the store knows under the ticket that took them.
type holding struct {
	slots []domain.HeldSlot
	owner domain.Ticket
	kind  string        // of the owner
	since time.Duration // when they were taken
}

func (g *grip) set(h holding) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding = h
}

func (g *grip) get() holding {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holding
}

// lose takes out a slot that was given back.
func (g *grip) lose(at domain.Slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slots = slices.DeleteFunc(slices.Clone(g.slots), func(h domain.HeldSlot) bool { return h.Slot == at })
}

// pass takes from an attempt what it holds, for another one.
func (g *grip) pass(own domain.Ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.holding
	if g.holding = (holding{}); h.owner == own {
		g.passed = h
	}
}

// back gives it to the attempt again: nobody took it.
func (g *grip) back(h holding) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding, g.passed = h, holding{}
}

// borrows says that the attempt holds what another one took.
func (a *attempt) borrows() bool {
	h := a.grip.get()
	return len(h.slots) > 0 && h.owner != a.claim.Ticket()
}

// keeps says that the handler may run though the row that the slots stand by does
// not say so: they must stay taken.
func (a *attempt) keeps() bool {
	if a.grip == nil {
		return false
	}
	phase := a.phase.Load()
	return phase == outlived || phase == lost && a.began.Load() || a.borrows()
}

// ends gives back all that the attempt holds: of a rate when its window is over,
// counted from the handler's start; where that never started, at once.
func (a *attempt) ends(now time.Duration) []domain.SlotEnd {
	if a.grip == nil {
		return nil
	}
	held := a.grip.get().slots
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
// after its timeout keeps its slots, and who borrows some gives them back apart.
func fill(batch []settling, now time.Duration) []driven.Outcome {
	outcomes := make([]driven.Outcome, len(batch))
	for i := range batch {
		o, a := &batch[i].outcome, batch[i].attempt
		o.Turn = a.claim.Job.Turn != domain.NoTurn
		if o.Slots = nil; a.grip != nil && a.phase.Load() != outlived && !a.borrows() {
			o.Slots = a.ends(now)
		}
		outcomes[i] = *o
	}
	return outcomes
}

// outlasting keeps the slots whose use does not end with the attempt's outcome.
func (a *attempt) outlasting(span time.Duration) []driven.Holding {
	if a.phase.Load() == outlived {
		return a.grip.get().keepings(span)
	}
	a.grip.mu.Lock()
	defer a.grip.mu.Unlock()
	return a.grip.passed.keepings(span)
}

// keepings prolong slots whose handler runs on.
func (h holding) keepings(span time.Duration) []driven.Holding {
	var all []driven.Holding
	for _, slot := range h.slots {
		if slot.Window == 0 { // a rate counts starts: how long the handler runs is nothing to it
			all = append(all, driven.Holding{Ticket: h.owner, Slot: slot.Slot, For: span})
		}
	}
	return all
}
