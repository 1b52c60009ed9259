package work

import (
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Option declares something of a kind. It is judged at registration. What the
// job's own row says stands above it.
type Option func(*Entry) error

// MaxAttempts is how often a job of the kind is tried in all.
func MaxAttempts(n int) Option {
	return func(e *Entry) error {
		if n < 1 || n > domain.MaxMaxAttempts {
			return refuse(domain.Invalid, e.Kind, fmt.Sprintf("MaxAttempts is %d, it must be from 1 to %d", n, domain.MaxMaxAttempts))
		}
		e.Rule.Policy.MaxAttempts = n
		return nil
	}
}

// Timeout cancels the handler's context, with ErrTimeout, once it ran that long.
func Timeout(d time.Duration) Option {
	return func(e *Entry) error {
		if d < time.Millisecond || d > domain.MaxDelay {
			return refuse(domain.Invalid, e.Kind, fmt.Sprintf("Timeout is %v, it must be from 1ms to %v", d, domain.MaxDelay))
		}
		e.Timeout = d
		return nil
	}
}

// Retry sets the kind's retry policy. Without MaxAttempts in it, those of the
// option or the runner's default stand.
func Retry(p domain.RetryPolicy) Option {
	return func(e *Entry) error {
		attempts := e.Rule.Policy.MaxAttempts
		if p.MaxAttempts != 0 {
			attempts = p.MaxAttempts
		}
		checked := p
		if checked.MaxAttempts == 0 {
			checked.MaxAttempts = 1
		}
		if err := checked.Validate(); err != nil {
			return err
		}
		e.Rule.Policy = p
		e.Rule.Policy.MaxAttempts = attempts
		return nil
	}
}

// Backoff sets a function for the wait after a failed attempt. It must be safe
// for concurrent use; where it panics, the retry policy's wait stands in.
func Backoff(fn domain.Backoff) Option {
	return func(e *Entry) error {
		if fn == nil {
			return refuse(domain.Invalid, e.Kind, "the Backoff function is nil")
		}
		e.Rule.Backoff = fn
		return nil
	}
}

// Keep says how long the rows of the kind stay once they are terminal.
func Keep(r domain.Retention) Option {
	return func(e *Entry) error {
		e.Keep = r
		return r.Validate()
	}
}

// OnDeath adds a job of that kind whenever one of this kind dies, in the write that
// buries it: its args are `{"job":{"id","kind","args","attempt","max_attempts"},"error"}`
// (FailedJob reads them), its queue and tenant those of the dead one. It has no failure
// job of its own. A job that names a kind itself has that one.
func OnDeath(kind string) Option {
	return func(e *Entry) error {
		if kind == e.Kind {
			return refuse(domain.Invalid, e.Kind, "OnDeath names the kind itself: a failure job has none of its own, so give it another kind")
		}
		e.Failure = kind
		return domain.ValidateName("failure kind", kind, domain.MaxKind)
	}
}

// ForgetArgs drops the args of the kind's jobs when they are done; dead ones keep them.
func ForgetArgs() Option {
	return func(e *Entry) error {
		e.ForgetArgs = true
		return nil
	}
}
