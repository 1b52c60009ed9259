package runner

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// renewChunk bounds one renewal statement.
const renewChunk = 500

// patience is how long a prefetched job may wait for a worker before it is given
// back for others to run.
const patience = time.Second

// keepRenewing renews every held lease in time. There is one renewal at a time,
// however slow the store; a failed one is tried again before the next is due.
func (s *session) keepRenewing() {
	wait := s.cfg.Renew
	for rest(s.ctx, wait) {
		wait = s.cfg.Renew
		if !s.renewAll() {
			wait = max(s.cfg.Renew/4, time.Millisecond)
		}
	}
}

func (s *session) renewAll() (good bool) {
	good = true
	for chunk := range slices.Chunk(s.held.renewable(), renewChunk) {
		if err := s.renew(chunk); err != nil {
			good = false
			s.fail("renew", "", err)
		}
	}
	return good
}

func (s *session) renew(chunk []*attempt) error {
	sent := s.clock.now() // before, for the lease may count from then
	req := driven.RenewRequest{Lease: s.cfg.Lease, Tickets: make([]driven.Renewal, len(chunk))}
	for i, a := range chunk {
		req.Tickets[i] = driven.Renewal{Ticket: a.claim.Ticket(), Stuck: a.overdue(sent) > 0}
	}
	answer, err := inTime(&s.renewal, s, s.cfg.Renew, s.deps.Store.Renew, req)
	if err != nil {
		return err
	}
	s.renewed(chunk, answer, func(a *attempt) { a.good.Store(int64(sent)) })
	return nil
}

// keepWatch looks at every attempt now and then, apart from the renewals: those
// may hang, and what they then fail to do must still be noticed.
func (s *session) keepWatch() {
	for rest(s.ctx, max(s.cfg.Renew/4, time.Millisecond)) {
		s.watch()
	}
}

func (s *session) watch() {
	now := s.clock.now()
	for _, a := range s.held.list() {
		switch {
		case s.doubtful(a, now):
			s.lose(a, false)
		case a.overdue(now) >= s.cfg.Lease:
			s.outlive(a, 0)
		case a.phase.Load() == waiting && now-a.taken >= patience:
			s.giveBack(a)
		}
	}
}

// doubtful says that the lease has at most one renewal interval left, so that
// it may be gone before it can be renewed.
func (s *session) doubtful(a *attempt, now time.Duration) bool {
	return a.vouched(now) >= s.cfg.Lease-s.cfg.Renew
}

// lose gives a claim up. An outcome that is with the completer stands: its
// ticket tells the store whether it still counts.
func (s *session) lose(a *attempt, refused bool) {
	if refused {
		a.refused.Store(true)
	}
	s.giveUp(a, domain.EventLeaseLost, errLeaseLost)
}

// outlive records the timed-out attempt of a handler that does not heed its
// context. It keeps its worker for as long as it runs. Its next attempt is not before least.
func (s *session) outlive(a *attempt, least time.Duration) {
	if !a.move(running, outlived) {
		return
	}
	at := s.clock.source.Now()
	ran := s.clock.now() - time.Duration(a.started.Load())
	s.complete(a, ending{err: errTimeout, timedOut: true, at: at, ran: ran, least: least})
}

// shutDown ends the context of every running handler. One that is past its
// timeout already has used its attempt.
func (s *session) shutDown() {
	now := s.clock.now()
	for _, a := range s.held.list() {
		if a.overdue(now) > 0 {
			s.outlive(a, s.leaves(now))
		}
		_ = a.ctx.end(errShutdown)
	}
}

// keepBeating says that the runner lives, for others to see; nothing rests on it.
func (s *session) keepBeating() {
	var within deadline
	for {
		err := within.call(s, s.cfg.Renew, func(ctx context.Context) error {
			return s.deps.Store.Beat(ctx, s.info(), max(s.cfg.Lease, 3*s.cfg.Renew))
		})
		if err != nil {
			s.fail("beat", "", err)
		}
		if !rest(s.ctx, s.cfg.Renew) {
			return
		}
	}
}

// leave takes the runner off the list; the store calls' context has ended by now.
func (s *session) leave() {
	ctx, cancel := context.WithTimeout(s.base, time.Second)
	defer cancel()
	if err := s.deps.Store.Leave(ctx, s.id); err != nil {
		s.observe(domain.Event{Type: domain.EventError, Operation: "leave", Err: err})
	}
}
