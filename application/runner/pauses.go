package runner

import (
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
)

const (
	pausedMost = 10_000                // that are read
	pausedAge  = time.Second           // how old what was read may be, at most a poll interval
	pausedGap  = 50 * time.Millisecond // between two reads that hints ask for
	pausedOld  = time.Minute           // between two looks at a schema that has no place for them
)

// pauses is what is paused, as the store last said: asked again before a claim when
// that is a second old. What a claim took before it runs.
type pauses struct {
	session *session
	mu      sync.Mutex
	off     map[domain.Switch]bool
	looked  time.Duration // when it was read
	next    time.Duration // when it is read again
	said    bool          // that the store cannot tell
	within  deadline
}

func newPauses(s *session) *pauses { return &pauses{session: s} }

// open gives those of the kinds that may be claimed from the queue now: none of a
// queue that is paused.
func (p *pauses) open(queue string, kinds []string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	switch {
	case p.off == nil: // the store has not told yet
		return nil
	case len(p.off) == 0:
		return kinds
	}
	if p.off[domain.Switch{Sort: domain.SwitchQueue, Name: queue}] {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool {
		return p.off[domain.Switch{Sort: domain.SwitchKind, Name: kind}]
	})
}

// hint is told that something may have been resumed.
func (p *pauses) hint() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.off) > 0 {
		p.next = min(p.next, p.looked+pausedGap)
	}
}

// refresh asks the store where what is known is old. Where that fails what is known
// stays: a queue that an operator paused must not run because a call was lost.
func (p *pauses) refresh() {
	s := p.session
	now := s.clock.now()
	if p.off != nil && now < p.next {
		return
	}
	all, err := inTime(&p.within, s, s.cfg.Lease, s.deps.Store.Paused, pausedMost)
	p.looked = s.clock.now()
	p.next = p.looked + min(pausedAge, s.cfg.Poll)
	switch code := domain.CodeOf(err); {
	case code == domain.Unsupported || code == domain.Denied: // an older schema, or a right that the user lacks: nothing is paused, which is said
		p.off, p.next = map[domain.Switch]bool{}, p.looked+pausedOld
		if !p.said {
			p.said = true
			s.fail("list paused", "", err)
		}
		return
	case err != nil:
		s.fail("list paused", "", err)
		return
	}
	p.off = make(map[domain.Switch]bool, len(all))
	for _, x := range all {
		p.off[x.Switch] = true
	}
}
