package runner

import (
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// renewed tells each of the attempts what the store said of its claim: it lives
// on, it is lost, or an operator cancelled the job.
func (s *session) renewed(chunk []*attempt, answer driven.Renewed, good func(*attempt)) {
	lost, cancelled := setOf(answer.Lost), setOf(answer.Cancelled)
	for _, a := range chunk {
		switch id := a.claim.Job.ID; {
		case lost[id]:
			s.lose(a, true)
		case cancelled[id]:
			s.cancelled(a)
		default:
			good(a)
		}
	}
}

// cancelled gives up a claim whose job an operator cancelled: the row is as it
// shall be, so nothing is written for it. What it holds of its bounds it gives back
// when its handler is gone.
func (s *session) cancelled(a *attempt) {
	a.refused.Store(true)
	if s.giveUp(a, domain.EventCancelled, errCancelled) {
		s.counts[domain.EventCancelled].Add(1)
	}
}

// giveUp ends the handler's context for a reason, which is reported; false where
// the attempt is over, or was given up before.
func (s *session) giveUp(a *attempt, what domain.EventType, why error) bool {
	if !a.move(running, lost) && !a.move(waiting, lost) && !a.move(admitting, lost) {
		return false
	}
	if a.keeps() { // its handler may run on
		s.waker.keepNow()
	}
	_ = a.ctx.end(why)
	e := a.event(what)
	e.Err = why
	s.observe(e)
	return true
}

// overtaken lets go of claims that an admission did not find: another claim, or an
// operator, was faster. A renewal knows which; without its answer they count as lost.
func (l *lane) overtaken(gone []*attempt) {
	if len(gone) == 0 {
		return
	}
	s := l.session
	req := driven.RenewRequest{Lease: s.cfg.Lease, Tickets: make([]driven.Renewal, len(gone))}
	for i, a := range gone {
		req.Tickets[i].Ticket = a.claim.Ticket()
	}
	answer, err := inTime(&l.within, s, s.cfg.Renew, s.deps.Store.Renew, req)
	if err != nil {
		s.fail("renew", "", err)
	}
	s.renewed(gone, answer, func(a *attempt) { s.lose(a, true) })
	for _, a := range gone {
		l.refuse(a)
	}
}
