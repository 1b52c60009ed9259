package runner

import (
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// release is the outcome of a claim that is given back: the row is as it was,
// due at once or after a wait, and no attempt is used.
func (a *attempt) release(after, ran time.Duration) settling {
	job := &a.claim.Job
	out := driven.Outcome{
		Ticket: a.claim.Ticket(), To: domain.Ready, Ran: ran, Error: job.Error, History: job.History,
	}
	if after > 0 {
		out.To, out.After = domain.Scheduled, after
	}
	return settling{attempt: a, outcome: out, event: domain.EventReleased}
}

// giveBack gives back a claim that no worker took.
func (s *session) giveBack(a *attempt) {
	if a.move(waiting, finished) || a.move(admitting, finished) {
		s.completer.add(a.release(0, 0))
	}
}

// drop ends an attempt whose claim was lost: its outcome is not recorded. Where
// the store itself said so there is nothing left to do. Where the runner only
// could not vouch for the claim any longer, it says that it is done with it: the
// ticket keeps that from whoever took the job meanwhile, and a job that nobody
// took need not wait for a sweep, which never touches a living runner's claims.
func (s *session) drop(a *attempt, ran time.Duration) {
	if a.refused.Load() {
		s.waker.end(a)
		s.held.forget(a)
		ring(s.changed)
		return
	}
	back := a.release(min(30*time.Second, s.cfg.Lease/2), ran)
	if ran > 0 {
		back.outcome.History = a.claim.Job.History.Add(domain.Note{
			At: s.clock.source.Now(), Attempt: a.claim.Job.Attempts + 1, Ran: ran, Message: errLeaseLost.Error(), Runner: s.id,
		})
	}
	s.completer.add(back)
}
