package runner

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// stop is Runner.Stop.
func (s *session) stop(ctx context.Context) error {
	s.quitOnce.Do(func() { close(s.quit) })
	soft, hard, free := limitsOf(ctx)
	defer free()
	select {
	case <-s.done:
		return nil
	case <-soft:
	}
	s.shutDown()
	select {
	case <-s.done:
		return nil
	case <-hard:
	}
	select {
	case <-s.done: // at the same moment
		return nil
	default:
	}
	s.abort()
	return &domain.Fault{
		Code: domain.Canceled, Op: "stop runner", Subject: s.id, Err: context.Cause(ctx),
		Hint: "not all handlers had ended; their jobs are left to their leases",
	}
}

// limitsOf says when handlers are told to end and when nobody waits any longer:
// a moment before the deadline and at it. A context that is cancelled gives
// handlers a moment after.
func limitsOf(ctx context.Context) (soft, hard <-chan struct{}, free context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if bounded {
		left := max(time.Until(deadline), 0)
		early, cancel := context.WithTimeout(ctx, left-min(left/5, time.Second))
		return early.Done(), ctx.Done(), cancel
	}
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := context.AfterFunc(ctx, func() {
		rest(late, time.Second)
		cancel()
	})
	return ctx.Done(), late.Done(), func() { end(); cancel() }
}
