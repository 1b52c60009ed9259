package runner

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// exitSlack is added to the moment at which this process must be gone: what is
// given back for then is started elsewhere no earlier.
const exitSlack = 2 * time.Second

// stop is Runner.Stop.
func (s *session) stop(ctx context.Context) error {
	s.quitOnce.Do(func() { close(s.quit) })
	soft, last, hard, free := limitsOf(ctx)
	defer free()
	select {
	case <-s.done:
		return nil
	case <-soft:
	}
	s.gone.Store(int64(s.clock.now() + untilEnd(ctx) + s.cfg.ExitsWithin + exitSlack))
	s.shutDown()
	select {
	case <-s.done:
		return nil
	case <-last:
	}
	s.letGo()
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
		Code: domain.Canceled, Op: "stop runner", Subject: s.id, Err: context.Cause(ctx), Hint: "not all handlers had ended; " + s.fate(),
	}
}

// letGo gives back what handlers hold that have not ended, for when this process is gone.
func (s *session) letGo() {
	if s.cfg.Unfinished == Abandon {
		return
	}
	now := s.clock.now()
	for _, a := range s.held.list() {
		if a.move(running, released) {
			s.completer.add(a.release(s.leaves(now), now-time.Duration(a.started.Load())))
		}
	}
	s.waker.keepNow() // for as long as this process may be here
}

// leaves is how long this process may be here yet.
func (s *session) leaves(now time.Duration) time.Duration {
	return max(time.Duration(s.gone.Load())-now, 0)
}

// span is for how long slots are kept of handlers that run on.
func (s *session) span() time.Duration { return max(s.cfg.Lease, s.leaves(s.clock.now())) }

// fate is what becomes of the unfinished jobs.
func (s *session) fate() string {
	if s.cfg.Unfinished == Release && s.completer.backlog.Load() == 0 {
		return "their jobs are given back, due when this process must be gone"
	}
	return "their jobs are left to their leases"
}

// stopNotice is how long before the deadline handlers are told to end, at most; of it
// the second half is for giving back what they hold.
const stopNotice = time.Second

// untilEnd is how long until nobody waits any longer.
func untilEnd(ctx context.Context) time.Duration {
	if deadline, bounded := ctx.Deadline(); bounded && ctx.Err() == nil {
		return max(time.Until(deadline), 0)
	}
	return stopNotice
}

// limitsOf says when handlers are told to end, when their jobs are given back and
// when nobody waits any longer: a moment before the deadline and at it. A context
// that is cancelled gives handlers a moment after.
func limitsOf(ctx context.Context) (soft, last, hard <-chan struct{}, free context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if bounded {
		left := max(time.Until(deadline), 0)
		notice := min(left/5, stopNotice)
		early, cancel := context.WithTimeout(ctx, left-notice)
		later, cancelLater := context.WithTimeout(ctx, left-notice/2)
		return early.Done(), later.Done(), ctx.Done(), func() { cancel(); cancelLater() }
	}
	later, cancelLater := context.WithCancel(context.WithoutCancel(ctx))
	end, cancel := context.WithCancel(context.WithoutCancel(ctx))
	told := context.AfterFunc(ctx, func() {
		rest(end, stopNotice/2)
		cancelLater()
		rest(end, stopNotice/2)
		cancel()
	})
	return ctx.Done(), later.Done(), end.Done(), func() { told(); cancelLater(); cancel() }
}
