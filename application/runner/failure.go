package runner

import (
	"cmp"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// mourn gives the outcome of a job that dies its failure job, if it has one. Where
// that cannot be built the job dies without it.
func (a *attempt) mourn(out *driven.Outcome) error {
	job := &a.claim.Job
	kind := job.FailsInto(a.plan.failure)
	if kind == "" {
		return nil
	}
	most := cmp.Or(job.MaxAttempts, a.plan.rule.Policy.MaxAttempts)
	made, err := domain.FailureJob(job, kind, a.claim.Token, job.Attempts+1, most, out.Error)
	if err == nil {
		out.Failure = &made
	}
	return err
}

// bereaved tells of a death that is written: the failure job that came with it may be
// claimed, or there is none though there should be.
func (s *session) bereaved(done *settling, refused bool) {
	err := done.unmade
	if refused {
		err = &domain.Fault{
			Code: domain.Invalid, Op: "add failure job", Subject: done.attempt.claim.Job.ID.String(),
			Hint: "the store refused it; the job is dead without it",
		}
	}
	switch made := done.outcome.Failure; {
	case err != nil:
		e := done.attempt.event(domain.EventFailureJobNotAdded)
		e.Err = err
		s.observe(e)
	case made != nil:
		s.rouseQueue(made.Queue)
	}
}

// rouseQueue tells the lanes, here and elsewhere, that a job of a queue became due. A
// drain needs no hint: its quiet rounds look at every queue.
func (s *session) rouseQueue(queue string) {
	if s.sleeps {
		s.hear(queue)
	}
	if s.deps.Wake != nil {
		s.deps.Wake.Notify(queue)
	}
}
