package upkeep

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// recoverBatch bounds one call, hence one transaction.
const recoverBatch = 100

// recoverLoop sweeps for ever. After the store was out of reach, leases have run
// out whose runners live: they get one renewal interval before anybody judges them.
func (s *Service) recoverLoop(ctx context.Context) {
	if !rest(ctx, first(s.cfg.Every)) {
		return
	}
	last := s.now()
	for {
		if s.slept(last) && !rest(ctx, s.cfg.Renew) {
			return
		}
		_, err := s.Sweep(ctx)
		if err != nil {
			s.fail(ctx, "recover", err)
			if !s.regain(ctx) {
				return
			}
			last = s.now()
			continue
		}
		last = s.now()
		if !rest(ctx, jittered(s.cfg.Every)) {
			return
		}
	}
}

// now is zero where there is no clock.
func (s *Service) now() (now time.Time) {
	if s.deps.Clock != nil {
		now = s.deps.Clock.Now()
	}
	return now
}

// slept says that this process was held up for so long that the runners beside
// it may have been too.
func (s *Service) slept(last time.Time) bool { return s.now().Sub(last) > s.cfg.Every+s.cfg.Every/2 }

// regain waits until the store answers again, and one renewal interval more.
func (s *Service) regain(ctx context.Context) bool {
	for rest(ctx, jittered(min(s.cfg.Every, max(s.cfg.Renew, time.Millisecond)))) {
		err := s.probe(ctx)
		if err == nil {
			return rest(ctx, s.cfg.Renew)
		}
		s.fail(ctx, "recover", err)
	}
	return false
}

// probe asks the store for a write that changes nothing: the renewal of a claim
// that cannot be.
func (s *Service) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := s.deps.Store.Renew(ctx, driven.RenewRequest{
		Lease: s.cfg.Every, Tickets: []driven.Renewal{{Ticket: domain.Ticket{Token: domain.Token{1}}}},
	})
	return err
}

// Sweep puts back every claim whose lease ran out now, and says how many. Then it
// looks after slots and who waits for them, and after batches; what of that fails is
// only reported.
func (s *Service) Sweep(ctx context.Context) (recovered int, err error) {
	recovered, err = s.putBack(ctx)
	if code := domain.CodeOf(err); code != domain.Unavailable && code != domain.Canceled {
		s.follow(ctx)
	}
	return recovered, err
}

func (s *Service) putBack(ctx context.Context) (recovered int, err error) {
	for {
		answer, err := s.sweep(ctx)
		if err != nil {
			return recovered, err
		}
		recovered += len(answer.Jobs)
		s.tell(answer.Jobs)
		s.bereft(ctx, answer.Jobs)
		if !answer.More || len(answer.Jobs) == 0 {
			return recovered, nil
		}
	}
}

func (s *Service) sweep(ctx context.Context) (driven.Recovered, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return s.deps.Store.Recover(ctx, driven.RecoverRequest{
		Limit: recoverBatch, Stalls: s.cfg.Stalls, KeepDead: s.cfg.Keep.Dead, Except: s.deps.Runner,
		Failures: s.deps.Failures, Attempts: s.deps.Attempts,
	})
}

// tell reports what was put back and wakes its queues, so that runners learn
// when it is due.
func (s *Service) tell(jobs []driven.Recovery) {
	var queues []string
	for _, job := range jobs {
		e := domain.Event{
			Type: domain.EventStalled, Job: job.ID, Kind: job.Kind, Queue: job.Queue, Delay: job.After,
			Count: job.Stalls, Err: errors.New(domain.StallMessage(job.Runner)),
		}
		if job.To == domain.Dead {
			e.Type = domain.EventDied
		}
		waits := job.To != domain.Dead || !job.Failed.IsZero() // itself, or its failure job
		if waits && !slices.Contains(queues, job.Queue) {
			queues = append(queues, job.Queue)
		}
		s.observe(e)
		if job.Refused {
			e.Type, e.Err = domain.EventFailureJobNotAdded, &domain.Fault{
				Code: domain.Invalid, Op: "add failure job", Subject: job.ID.String(), Hint: "the job is dead without it",
			}
			s.observe(e)
		}
	}
	s.notify(queues)
}

func (s *Service) notify(queues []string) {
	if s.deps.Wake != nil && len(queues) > 0 {
		s.deps.Wake.Notify(queues...)
	}
}
