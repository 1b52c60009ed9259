package runner

import (
	"context"
	"sync"
	"time"
)

// jobContext is the context of one attempt. Most handlers of short jobs never
// ask whether it ended, so what can end it, a cancel context and a timer, is
// built only when somebody asks.
type jobContext struct {
	base  context.Context // its values; it never ends
	clock *clock
	began time.Duration
	limit time.Duration // 0: no timeout

	mu     sync.Mutex
	full   context.Context // nil: not built
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
	cause  error // why it ended before it was built
}

// Deadline is when the attempt's timeout comes.
func (c *jobContext) Deadline() (time.Time, bool) {
	if c.limit == 0 {
		return time.Time{}, false
	}
	return c.clock.epoch.Add(c.began + c.limit), true
}

// Done closes when the attempt shall end, and when it has ended.
func (c *jobContext) Done() <-chan struct{} { return c.build().Done() }

// Err says whether Done is closed.
func (c *jobContext) Err() error {
	c.mu.Lock()
	asked := c.full != nil || c.cause != nil || c.limit > 0
	c.mu.Unlock()
	if !asked {
		return nil
	}
	return c.build().Err()
}

// Value gives the base's values; any other key may be the one by which package
// context looks for the cancel context.
func (c *jobContext) Value(key any) any {
	if v := c.base.Value(key); v != nil {
		return v
	}
	return c.build().Value(key)
}

func (c *jobContext) build() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full != nil {
		return c.full
	}
	c.full, c.cancel = context.WithCancelCause(c.base)
	if c.limit > 0 {
		c.full, c.stop = context.WithTimeoutCause(c.full, c.began+c.limit-c.clock.now(), errTimeout)
	}
	if c.cause != nil {
		c.cancel(c.cause)
	}
	return c.full
}

// end ends the context for a reason, unless it ended before; it answers the
// reason that stands.
func (c *jobContext) end(cause error) error {
	c.mu.Lock()
	if c.full == nil {
		defer c.mu.Unlock()
		if c.cause == nil {
			c.cause = cause
		}
		return c.cause
	}
	c.mu.Unlock() // what hangs on the context may ask it for values
	c.cancel(cause)
	stands := context.Cause(c.full)
	if c.stop != nil {
		c.stop()
	}
	return stands
}
