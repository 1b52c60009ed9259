package runner

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock/ports/driven"
)

// clock counts time from one moment by the monotonic reading, so that a wall
// clock that is set does not move a lease.
type clock struct {
	source driven.Clock
	epoch  time.Time
}

func newClock(source driven.Clock) *clock { return &clock{source: source, epoch: source.Now()} }

func (c *clock) now() time.Duration { return c.source.Now().Sub(c.epoch) }

// callTime bounds a call of a loop: a connection may die without a word, and what is
// sent on it is answered never. It leaves time to find a connection dead and to make
// another one.
const callTime = 6 * time.Second

// deadline is how long the calls of one loop may take, each no longer than most. Where
// three in a row came too late the store may be slow rather than gone, so the next one
// has longer. Connections that cannot be had are no calls that come too late.
type deadline struct {
	last time.Duration
	late int // calls in a row that came too late
}

// inTime makes a call of the store's that takes one thing and gives one.
func inTime[Q, A any](d *deadline, s *session, most time.Duration, do func(context.Context, Q) (A, error), q Q) (answer A, err error) {
	err = d.call(s, most, func(ctx context.Context) (err error) {
		answer, err = do(ctx, q)
		return err
	})
	return answer, err
}

// call makes one call.
func (d *deadline) call(s *session, most time.Duration, do func(context.Context) error) error {
	d.last = min(max(d.last, callTime), most)
	ctx, cancel := context.WithTimeout(s.ctx, d.last)
	defer cancel()
	sent := s.clock.now()
	err := do(ctx)
	switch {
	case err == nil:
		d.last, d.late = 2*(s.clock.now()-sent), 0
	case ctx.Err() == nil:
		d.late = 0
	default:
		if d.late++; d.late > 2 {
			d.last, d.late = 2*d.last, 0
		}
	}
	return err
}

// backoff waits longer with each failure in a row, and never two processes alike.
type backoff struct {
	first, cap time.Duration
	jitter     bool // from half to one and a half
	last       time.Duration
}

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, b.first), b.cap)
	if !b.jitter {
		return b.last
	}
	return time.Duration(float64(b.last) * (0.5 + rand.Float64()))
}

func (b *backoff) reset() { b.last = 0 }

// rest waits; false when the context ended first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// ring leaves one signal in a channel that holds one.
func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}
