package runner

import (
	"maps"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/domain"
)

// held knows every attempt in the runner's hands, from the claim until its row
// is settled and its handler is gone. No id is in it twice, so none runs twice.
type held struct {
	mu      sync.Mutex
	jobs    map[domain.JobID]*attempt
	dropped int // since the map was made
}

// mapLife is after how many deletions a map is made anew. A map of Go's marks the places
// of what was deleted and grows for them: with 1,000 jobs in hand at most it has 53 KiB
// after 10,000 jobs and 218 KiB after 2,000,000.
const mapLife = 8192

// add takes attempts in and answers those whose job is here already. One that is
// finished gives way: its handler is gone, and the store knew what came of it before
// this runner heard so.
func (h *held) add(batch []*attempt) (twice []*attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range batch {
		id := a.claim.Job.ID
		if old, here := h.jobs[id]; here {
			if a.twin = true; old.phase.Load() != finished {
				twice = append(twice, a)
				continue
			}
		}
		h.jobs[id] = a
	}
	return twice
}

// settle lets go of attempts whose outcomes are written, but for handlers that run
// on. free gives back what the outcome of one did not whose handler ended meanwhile.
func (h *held) settle(batch []settling, free func(*attempt)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range batch {
		if s.attempt.phase.Load() == outlived {
			s.attempt.settled = true
			continue
		}
		if s.attempt.grip != nil && s.outcome.Slots == nil {
			free(s.attempt)
		}
		h.drop(s.attempt)
	}
}

// leave is told when a handler that outlived its attempt is gone. Where the outcome
// is written already, free gives back what it still holds.
func (h *held) leave(a *attempt, free func(*attempt)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.phase.Store(finished)
	if a.settled {
		free(a)
		h.drop(a)
	}
}

// forget lets go of an attempt without an outcome.
func (h *held) forget(a *attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(a)
}

func (h *held) drop(a *attempt) {
	id := a.claim.Job.ID
	if h.jobs[id] != a { // a claim that came twice was never in
		return
	}
	delete(h.jobs, id)
	if h.dropped++; h.dropped < mapLife {
		return
	}
	jobs := make(map[domain.JobID]*attempt, len(h.jobs))
	maps.Copy(jobs, h.jobs)
	h.jobs, h.dropped = jobs, 0
}

func (h *held) list() []*attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.jobs))
}

// renewable lists the attempts whose claim must live on: all but the lost and the settled.
func (h *held) renewable() []*attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*attempt, 0, len(h.jobs))
	for _, a := range h.jobs {
		if !a.settled && a.phase.Load() != lost {
			list = append(list, a)
		}
	}
	return list
}

func (h *held) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.jobs)
}
