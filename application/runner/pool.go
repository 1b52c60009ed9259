package runner

import (
	"fmt"

	"github.com/rowlock/rowlock/domain"
)

const (
	claimersMost = 4 // claims are short: more loops than that take turns
	keepersNeed  = 3 // outcomes, renewals, and whatever upkeep, wake-ups and schedules do now and then
)

// weighPool says once, at the start, that the pool is smaller than the runner needs for
// none of its calls to wait for another. All moves on a pool of one too: later, and the
// handlers' own use of the pool adds to it. A listener has a connection of its own.
func (s *session) weighPool() {
	if s.deps.Pool == nil {
		return
	}
	need := min(len(s.lanes), claimersMost) + keepersNeed
	size := s.deps.Pool()
	if size == 0 || size >= need {
		return
	}
	s.observe(domain.Event{
		Type: domain.EventPoolSmall, Count: size, Operation: opStart,
		Err: fmt.Errorf("the pool has at most %d connections and the runner uses up to %d at once, beside those of the handlers: claims, renewals and outcomes wait for each other, so keep transactions well below a third of the lease, or raise the bound", size, need),
	})
}
