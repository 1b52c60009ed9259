package enqueue

import (
	"sync"
	"time"

	"github.com/rowlock/rowlock/ports/driven"
)

// prober wakes a queue again and again after a write in a host's transaction,
// whose commit nobody tells of. It holds timers, no goroutine.
type prober struct {
	wake driven.Notifier
	mu   sync.Mutex
	live map[string]*series // one a queue at a time
}

type series struct {
	step  int // gaps that are over
	timer *time.Timer
}

func newProber(wake driven.Notifier) *prober {
	return &prober{wake: wake, live: make(map[string]*series)}
}

// gap is the wait before a probe: together 20, 50, 100, 200 and 500 ms after the
// write; 0 when the series is over.
func gap(step int) time.Duration {
	gaps := [...]time.Duration{20, 30, 50, 100, 300}
	if step >= len(gaps) {
		return 0
	}
	return gaps[step] * time.Millisecond
}

func (p *prober) start(queues []string) {
	if p.wake == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, queue := range queues {
		s, running := p.live[queue]
		switch {
		case !running:
			s = &series{}
			p.live[queue] = s
			s.timer = time.AfterFunc(gap(0), func() { p.fire(queue, s) })
		case s.step == 0: // its first probe comes in time for this write too
		case s.timer.Stop():
			s.step = 0
			s.timer.Reset(gap(0))
		default: // it is firing now, and goes on with the first gap
			s.step = -1
		}
	}
}

func (p *prober) fire(queue string, s *series) {
	p.mu.Lock()
	s.step++
	if next := gap(s.step); next > 0 {
		s.timer.Reset(next)
	} else {
		delete(p.live, queue)
	}
	p.mu.Unlock()
	p.wake.Notify(queue)
}
