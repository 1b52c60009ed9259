package work

import (
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Causes in a handler's context; context.Cause gives them.
var (
	ErrTimeout   = domain.ErrTimeout
	ErrLeaseLost = domain.ErrLeaseLost
	ErrCancelled = domain.ErrCancelled
	ErrShutdown  = domain.ErrShutdown
)

// Bury makes the job dead at once, whatever attempts are left.
func Bury(err error) error { return domain.Bury(err) }

// RetryAfter fails the attempt and names the wait before the next one. On the
// last attempt the job is dead all the same.
func RetryAfter(d time.Duration, err error) error { return domain.RetryAfter(d, err) }

// Snooze puts the job off, at least a second; no attempt is used.
func Snooze(d time.Duration) error { return domain.Snooze(d) }

// Cancel gives the job up: it is cancelled, not dead, and not tried again.
func Cancel(err error) error { return domain.Cancel(err) }
