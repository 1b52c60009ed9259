package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// work is one worker: a goroutine that lives as long as its lane. A handler that
// calls runtime.Goexit ends the goroutine, not the worker.
func (l *lane) work() {
	clean := false
	defer func() {
		if !clean {
			go l.work()
			return
		}
		l.session.workers.Done()
	}()
	for seat := newSeat(); ; {
		waiting := l.line.size()
		if waiting <= l.low() {
			ring(l.hungry)
		}
		if waiting == 0 {
			ring(l.session.completer.lull)
		}
		a := l.line.take(seat)
		if a == nil {
			clean = true
			return
		}
		if l.line.size() <= l.low() && !l.brief() { // else it is soon back and says so
			ring(l.hungry)
		}
		l.session.take(a)
	}
}

// take runs an attempt, unless the runner stops or the claim was given up while
// it waited.
func (s *session) take(a *attempt) {
	if s.stopping() {
		s.giveBack(a)
	}
	now := s.clock.now()
	if s.doubtful(a, now) { // this process may have slept for long
		s.lose(a, false)
	}
	a.started.Store(int64(now))
	if a.move(waiting, running) {
		a.began.Store(true)
		s.handle(a, now)
		return
	}
	a.lane.load.Add(-1)
	if a.phase.Load() == lost {
		s.drop(a, 0)
	}
}

// ending is how a handler ended.
type ending struct {
	err      error
	stack    string
	returned bool // neither a panic nor runtime.Goexit
	timedOut bool
	shutDown bool // its context ended because the runner stops
	at       time.Time
	ran      time.Duration
	least    time.Duration // the next attempt is not before
}

func (s *session) handle(a *attempt, now time.Duration) {
	s.prepare(a, now)
	var end ending
	defer func() {
		if !end.returned {
			end.err, end.stack = failure(recover()), string(debug.Stack())
		}
		s.ended(a, end)
	}()
	end.err = a.plan.run(&a.ctx, &a.task)
	end.returned = true
}

func failure(panicked any) error {
	if panicked == nil {
		return errors.New("the handler ended its goroutine (runtime.Goexit) or panicked with nil")
	}
	return fmt.Errorf("panic: %v", panicked)
}

func (s *session) prepare(a *attempt, now time.Duration) {
	job := &a.claim.Job
	ctx := s.base
	if job.Tenant != "" {
		ctx = domain.WithTenant(ctx, job.Tenant)
	}
	a.ctx.base = work.WithResult(ctx, &a.result)
	a.ctx.clock, a.ctx.began, a.ctx.limit = s.clock, now, a.limit
	a.task = driven.Task{
		ID: job.ID, Kind: job.Kind, Queue: job.Queue, Tenant: job.Tenant, Runner: s.id,
		Attempt: job.Attempts + 1, MaxAttempts: job.MaxAttempts, EnqueuedAt: job.CreatedAt,
		Batch: job.Batch, Tags: job.Tags, Meta: job.Meta, Args: job.Args,
	}
	if a.task.MaxAttempts == 0 {
		a.task.MaxAttempts = a.plan.rule.Policy.MaxAttempts
	}
}

// ended decides what becomes of an attempt whose handler is gone.
func (s *session) ended(a *attempt, end ending) {
	end.at = s.clock.source.Now()
	end.ran = end.at.Sub(s.clock.epoch) - time.Duration(a.started.Load())
	cause := a.ctx.end(context.Canceled)
	end.shutDown = errors.Is(cause, errShutdown)
	end.timedOut = errors.Is(cause, errTimeout) || a.limit > 0 && end.ran >= a.limit && !end.shutDown
	switch {
	case a.move(running, finished):
		s.pass(a)
		s.complete(a, end)
	case a.phase.Load() == lost:
		s.drop(a, end.ran)
	default:
		if a.phase.Load() == released { // too late: whoever takes the job next does it again
			e := a.event(domain.EventOutcomeDropped)
			e.Ran, e.Err = end.ran, end.err
			s.observe(e)
		}
		s.held.leave(a, s.waker.end)
		ring(s.changed)
	}
	a.lane.ran(end.ran, end.at.Sub(s.clock.epoch)) // last: what is to be written counts before the place is free
}

// complete hands the outcome of an attempt to the completer.
func (s *session) complete(a *attempt, end ending) {
	job := &a.claim.Job
	if end.timedOut {
		e := a.event(domain.EventTimedOut)
		e.Ran, e.Err = end.ran, errTimeout
		s.observe(e)
		if errors.Is(end.err, context.DeadlineExceeded) {
			end.err = fmt.Errorf("%w: %w", errTimeout, end.err)
		}
	}
	if end.shutDown && gaveUp(end.err) {
		s.completer.add(a.release(0, end.ran))
		return
	}
	seen := domain.Attempt{Err: end.err, Stack: end.stack, TimedOut: end.timedOut, At: end.at, Ran: end.ran, Runner: s.id}
	if end.err != nil {
		seen.Random = rand.Float64()
	}
	v := judge(job, seen, a.plan.rule)
	if v.To == domain.Scheduled {
		v.After = max(v.After, end.least)
	}
	out := driven.Outcome{
		Ticket: a.claim.Ticket(), To: v.To, After: v.After, Counts: v.Counts, Snoozed: v.Snoozed,
		Ran: end.ran, Error: v.Error, History: v.History,
	}
	if v.To.Terminal() {
		out.Keep = job.Keep.For(v.To, a.plan.keep)
	}
	if v.To == domain.Done {
		out.Result, out.ForgetArgs = a.result.JSON(), job.ForgetArgs || a.plan.forget
	}
	done := settling{attempt: a, outcome: out, event: v.Event, err: end.err}
	if v.To == domain.Dead {
		done.unmade = a.mourn(&done.outcome)
	}
	s.completer.add(done)
}

// judge is domain.Judge, safe from what the host wrote: an error's methods or a
// Backoff function that panic must not lose the attempt.
func judge(job *domain.Job, seen domain.Attempt, rule domain.Rule) (v domain.Verdict) {
	defer func() {
		if recover() == nil {
			return
		}
		if rule.Backoff == nil {
			seen.Err = fmt.Errorf("an error of type %T, which cannot be read", seen.Err)
		}
		v = judge(job, seen, domain.Rule{Policy: rule.Policy})
	}()
	return domain.Judge(job, seen, rule)
}

// gaveUp says that a handler ended because its context did.
func gaveUp(err error) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return errors.Is(err, context.Canceled) || errors.Is(err, errShutdown)
}
