package bunstore

import (
	"sync"

	"github.com/rowlock/rowlock/ports/driven"
)

// Shares remembers how the last claims of each queue were spread over its kinds,
// so that a claim looks at about three rows for each that it takes and needs one
// round even where nearly all of a queue is of one kind. It is a guess: the
// claim is right with any quotas.
type Shares struct {
	mu     sync.Mutex
	queues map[string]map[string]float64
}

// maxQueues bounds what is remembered.
const maxQueues = 1000

// Quotas says how many rows the claim looks at for each kind: an even part, and
// twice what the kind had of the last claims.
func (s *Shares) Quotas(r driven.ClaimRequest) []int {
	if len(r.Kinds) == 1 {
		return []int{r.N}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.queues[r.Queue]
	out := make([]int, len(r.Kinds))
	even := 1 / float64(len(r.Kinds))
	for i, kind := range r.Kinds {
		share, known := seen[kind]
		if !known {
			share = even
		}
		out[i] = min(int(float64(r.N)*(even+2*share))+1, r.N)
	}
	return out
}

// Learn takes a claim into account, half as much as all before.
func (s *Shares) Learn(r driven.ClaimRequest, jobs []driven.Claimed) {
	if len(r.Kinds) == 1 || len(jobs) == 0 {
		return
	}
	counts := make(map[string]int, len(r.Kinds))
	for i := range jobs {
		counts[jobs[i].Job.Kind]++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil || len(s.queues) > maxQueues {
		s.queues = make(map[string]map[string]float64)
	}
	seen := s.queues[r.Queue]
	next := make(map[string]float64, len(r.Kinds))
	for _, kind := range r.Kinds {
		part := float64(counts[kind]) / float64(len(jobs))
		if was, known := seen[kind]; known {
			part = (part + was) / 2
		}
		next[kind] = part
	}
	s.queues[r.Queue] = next
}

// Deeper are the quotas of a further round: rows that others hold may lie before
// those that are free.
func Deeper(quotas []int) []int {
	out := make([]int, len(quotas))
	for i, q := range quotas {
		out[i] = 4 * q
	}
	return out
}
