package runner

import (
	"cmp"
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// drainTries is how many claims in a row may fail before a drain gives up.
const drainTries = 10

// Drain runs what is due of the handled kinds, also what its handlers enqueue,
// and returns when two rounds in a row found nothing to claim and nothing ran.
// It does not wait for back-offs; with IncludeDelayed it makes them, and all that is
// delayed, due whenever nothing else is left. When the context or the time limit ends first,
// it stops as Stop does and answers a Canceled fault beside the counts. On a
// started runner it is a Conflict.
func (r *Runner) Drain(ctx context.Context, o driving.DrainOptions) (driving.Drained, error) {
	r.mu.Lock()
	if err := r.enter(draining, "drain"); err != nil {
		r.mu.Unlock()
		return driving.Drained{}, err
	}
	s, err := newSession(ctx, r)
	if err != nil {
		r.state = idle
		r.mu.Unlock()
		return driving.Drained{}, err
	}
	for _, l := range s.lanes {
		l.hungry = s.changed // one place to wait for whatever moves
	}
	r.session = s
	r.mu.Unlock()
	defer r.rest(draining)

	s.run()
	over := make(chan struct{}) // closed: no round takes anything in any more
	for _, l := range s.lanes {
		s.loops.Go(func() {
			defer l.close()
			<-s.quit
			<-over
		})
	}
	go s.finish()
	bounded, cancel := limited(ctx, o.Limit)
	defer cancel()
	err = func() error { defer close(over); return s.drain(bounded, o) }()
	if stopErr := s.endDrain(ctx, err); err == nil {
		err = stopErr
	}
	return s.drained(), err
}

// drainLimit is how long a drain may take that names no limit.
const drainLimit = 10 * time.Second

func limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit < 0 { // driving.NoLimit
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, cmp.Or(limit, drainLimit))
}

// rest makes a runner idle again, unless it was stopped.
func (r *Runner) rest(from state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == from {
		r.state = idle
	}
}

// endDrain stops the session: a quiet one ends at once; handlers of one that was
// cancelled get as long as Work gives them, or a moment where the time limit came.
// Where Runner.Stop ended the drain, its deadline holds.
func (s *session) endDrain(ctx context.Context, drainErr error) error {
	limit := s.cfg.StopTimeout
	switch {
	case s.stopping():
		<-s.ctx.Done() // everything is written, or Stop gave up
		limit = time.Second
	case drainErr != nil && ctx.Err() == nil:
		limit = min(limit, 2*time.Second)
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return s.stop(bounded)
}

func (s *session) drain(ctx context.Context, o driving.DrainOptions) error {
	if len(s.kinds) == 0 {
		return nil
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	tell := s.teller(o.Progress)
	defer tell(true)
	for quiet, failed := 0, 0; quiet < 2; tell(false) {
		if s.stopping() || ctx.Err() != nil {
			return s.broken(ctx)
		}
		followed := s.followed() // a round that was begun before a wake-up or a callback saw too little
		wait, calm, err := s.round()
		if calm = s.quiet(calm) && followed; calm && o.IncludeDelayed && err == nil {
			var n int
			n, err = s.hasten(ctx)
			calm, wait = n == 0, 0
		}
		switch {
		case err != nil:
			if failed++; failed >= drainTries {
				return err
			}
			quiet = 0
			rest(ctx, wait)
			continue
		case calm:
			quiet++
		case wait > 0:
			quiet = 0
			s.stir(ctx, wait)
		default:
			quiet = 0
		}
		failed = 0
	}
	return nil
}

// recallsMost is how often in a row a drain looks who else may have a slot that is free:
// there may be a whole line of those whom nobody claims.
const recallsMost = walkFirst

// quiet says after a calm round that nothing is left to do.
func (s *session) quiet(calm bool) bool {
	switch {
	case !calm || s.held.size() > 0:
		s.recalls = 0
		return false
	case !s.followed():
		return false
	case s.recalls < recallsMost && s.waker.recallNow():
		s.recalls++
		return false
	}
	return true
}

// followed says that nothing is left to do of what outcomes set going.
func (s *session) followed() bool { return s.waker.idle() && s.finisher.idle() }

// ready tells the store what the kinds declare, and wakes who may try.
func (s *session) ready(ctx context.Context) error {
	wait := backoff{first: 100 * time.Millisecond, cap: time.Second, jitter: true}
	for failed := 1; ; failed++ {
		err := s.declare(ctx)
		if err == nil {
			err = s.release(ctx, drainDepth)
		}
		switch {
		case err == nil || domain.CodeOf(err).Lasting():
			return err
		case s.stopping() || ctx.Err() != nil:
			return s.broken(ctx)
		case failed >= drainTries:
			return err
		}
		s.fail("declare bounds", "", err)
		rest(ctx, wait.next())
	}
}

// broken says that a drain was ended from outside.
func (s *session) broken(ctx context.Context) error {
	return &domain.Fault{Code: domain.Canceled, Op: "drain", Hint: "it was stopped before the queues were quiet", Err: context.Cause(ctx)}
}

// round lets each lane with room claim once. calm says that every lane had room
// and nothing is left; wait is how long to rest where no lane took anything.
func (s *session) round() (wait time.Duration, calm bool, err error) {
	calm, wait = true, s.cfg.Poll
	for _, l := range s.lanes {
		if len(l.kinds) == 0 {
			continue
		}
		if err := l.admit(l.due()); err != nil {
			return l.halt("admit", err)
		}
		if l.waits() > 0 {
			wait = min(wait, tryFirst)
		}
		room := l.room()
		if room <= 0 {
			calm, wait = false, min(wait, l.laidFor())
			continue
		}
		t, err := l.roundTrip(room)
		if err != nil {
			return l.halt("claim", err)
		}
		nap := min(l.sleep(t), l.laidFor())
		if t.took > 0 {
			nap = 0
		} else if s.held.size() == 0 {
			l.spend() // who is parked may be all that is left
		}
		wait = min(wait, nap)
		calm = calm && t.quiet && t.took == 0
	}
	return wait, calm, nil
}

// halt ends a round that failed.
func (l *lane) halt(op string, err error) (wait time.Duration, calm bool, _ error) {
	l.session.fail(op, l.queue, err)
	l.spend()
	return l.pause(err), false, err
}

// roundTrip claims once, or from one queue after the other until one gives
// something: whether a lane of several queues is quiet is known when all were asked.
func (l *lane) roundTrip(room int) (turn, error) {
	for {
		t, err := l.turn(room)
		if err != nil || t.took > 0 || t.quiet || l.queue != "" || l.turns.over() {
			return t, err
		}
	}
}

// teller calls progress now and then, and at the end.
func (s *session) teller(progress func(driving.Drained)) func(last bool) {
	told := s.clock.now()
	return func(last bool) {
		if now := s.clock.now(); progress != nil && (last || now-told >= 200*time.Millisecond) {
			told = now
			progress(s.drained())
		}
	}
}

// stir waits until something moved, at most so long.
func (s *session) stir(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-s.changed:
	case <-timer.C:
	case <-s.quit:
	case <-ctx.Done():
	}
}

func (s *session) drained() driving.Drained {
	count := func(e domain.EventType) int { return int(s.counts[e].Load()) }
	return driving.Drained{
		Completed: count(domain.EventCompleted), Retried: count(domain.EventRetried), Snoozed: count(domain.EventSnoozed),
		Dead: count(domain.EventDied), Cancelled: count(domain.EventCancelled),
	}
}
