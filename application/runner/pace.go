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
