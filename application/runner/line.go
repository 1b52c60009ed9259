package runner

import (
	"sync"
	"sync/atomic"
)

// line is where claimed attempts wait for a worker. Workers without a job are
// woken one at a time, the one that rested least first, and the one that was woken
// wakes the next while there is more. So as many run as there are long jobs, and
// jobs that end at once are run by a few workers whose stacks are warm.
type line struct {
	mu      sync.Mutex
	jobs    []*attempt
	resting []seat // workers without a job; the last one rests least
	waking  bool   // one was woken and has not looked yet
	closed  bool
	waiting atomic.Int64 // how many jobs there are
}

// seat is where one worker rests; a signal wakes it.
type seat chan struct{}

func newSeat() seat { return make(seat, 1) }

// size is how many attempts wait.
func (l *line) size() int { return int(l.waiting.Load()) }

// put adds attempts at the end; not once the line is closed.
func (l *line) put(batch []*attempt) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.jobs = append(l.jobs, batch...)
	l.waiting.Store(int64(len(l.jobs)))
	l.wake()
	return true
}

// wake wakes one worker if there is something to do. Whoever holds the lock calls
// it before letting go, so that no job waits while a worker rests.
func (l *line) wake() {
	if n := len(l.resting); n > 0 && !l.waking && len(l.jobs) > 0 {
		l.waking = true
		l.resting[n-1] <- struct{}{} // its place is free: it rests
		l.resting = l.resting[:n-1]
	}
}

// take gives the first attempt, after a rest where there is none; nil once the
// line is closed.
func (l *line) take(s seat) *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.jobs) == 0 {
		if l.closed {
			return nil
		}
		l.resting = append(l.resting, s)
		l.mu.Unlock()
		<-s
		l.mu.Lock()
		l.waking = false
	}
	a := l.jobs[0]
	l.jobs[0] = nil
	if l.jobs = l.jobs[1:]; len(l.jobs) == 0 {
		l.jobs = nil
	}
	l.waiting.Store(int64(len(l.jobs)))
	l.wake()
	return a
}

// close gives the attempts that wait and lets the workers end.
func (l *line) close() []*attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, s := range l.resting {
		s <- struct{}{}
	}
	left := l.jobs
	l.jobs, l.resting = nil, nil
	l.waiting.Store(0)
	return left
}
