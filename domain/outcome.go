package domain

import (
	"errors"
	"fmt"
	"time"
)

// Causes in a handler's context; context.Cause gives them.
var (
	// ErrTimeout ended an attempt that ran over its timeout.
	ErrTimeout = errors.New("rowlock: the attempt ran over its timeout")
	// ErrLeaseLost says that the runner can no longer vouch for its claim: another runner may take the job.
	ErrLeaseLost = errors.New("rowlock: the lease was lost")
	// ErrCancelled says that an operator cancelled the job: it is over, whatever the handler answers.
	ErrCancelled = errors.New("rowlock: the job was cancelled")
	// ErrShutdown says that the runner's deadline for stopping came.
	ErrShutdown = errors.New("rowlock: the runner is shutting down")
)

// MinSnooze is the shortest snooze.
const MinSnooze = time.Second

// wish is what a handler's error asks for.
type wish uint8

const (
	wishRetry wish = iota // the retry policy decides
	wishRetryAfter
	wishBury
	wishSnooze
	wishCancel
)

type outcomeError struct {
	wish  wish
	after time.Duration
	err   error
}

func (e *outcomeError) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	if e.wish == wishSnooze {
		return "snoozed for " + e.after.String()
	}
	return "no reason given"
}

func (e *outcomeError) Unwrap() error { return e.err }

// Bury makes the job dead at once, whatever attempts are left.
func Bury(err error) error { return &outcomeError{wish: wishBury, err: err} }

// RetryAfter fails the attempt and names the wait before the next one. On the
// last attempt the job is dead all the same.
func RetryAfter(d time.Duration, err error) error {
	return &outcomeError{wish: wishRetryAfter, after: d, err: err}
}

// Snooze puts the job off, at least MinSnooze; no attempt is used, the snooze is counted.
func Snooze(d time.Duration) error {
	return &outcomeError{wish: wishSnooze, after: min(max(d, MinSnooze), MaxDelay)}
}

// Cancel gives the job up: it is cancelled, not dead, and not tried again.
func Cancel(err error) error { return &outcomeError{wish: wishCancel, err: err} }

// Backoff is a retry function of a kind: the wait after the n-th failed attempt.
type Backoff func(attempt int, err error) time.Duration

// Rule is what a kind declares about failing.
type Rule struct {
	Policy  RetryPolicy
	Backoff Backoff // before Policy's wait, when set
}

// Attempt is what the runner saw of one run of a handler.
type Attempt struct {
	Err      error
	Stack    string // of a panic
	TimedOut bool   // nil returned after the timeout is a timed-out attempt
	At       time.Time
	Ran      time.Duration
	Runner   string
	Random   float64 // from 0 to below 1, for the jitter
}

// Verdict is what becomes of the job after an attempt.
type Verdict struct {
	To      State
	After   time.Duration // the wait, for Scheduled
	Counts  bool          // the attempt is used up
	Snoozed bool
	Error   string // the last error from now on
	History History
	Event   EventType
}

// Judge turns what a handler did into what becomes of its job. It is the only
// place that decides so.
func Judge(job *Job, a Attempt, rule Rule) Verdict {
	err := a.Err
	if err == nil && a.TimedOut {
		err = ErrTimeout
	}
	if err == nil {
		return Verdict{To: Done, Counts: true, History: job.History, Event: EventCompleted}
	}
	asked := wishOf(err)
	if asked.wish == wishSnooze {
		return Verdict{To: Scheduled, After: asked.after, Snoozed: true, Error: job.Error, History: job.History, Event: EventSnoozed}
	}
	v := Verdict{Counts: asked.wish != wishCancel, Error: CleanText(errorText(err), MaxMessage)}
	attempt := job.Attempts + 1
	v.History = job.History.Add(Note{At: a.At, Attempt: attempt, Ran: a.Ran, Message: v.Error, Stack: a.Stack, Runner: a.Runner})
	switch {
	case asked.wish == wishCancel:
		v.To, v.Event = Cancelled, EventCancelled
	case asked.wish == wishBury || attempt >= attemptsOf(job, rule):
		v.To, v.Event = Dead, EventDied
	case asked.wish == wishRetryAfter:
		v.To, v.After, v.Event = Scheduled, ClampDelay(asked.after), EventRetried
	default:
		v.To, v.After, v.Event = Scheduled, rule.wait(attempt, err, a.Random), EventRetried
	}
	return v
}

// wishOf finds what the error asks for. Like errorText it outlives an error
// whose methods panic, e.g. a nil pointer in an error.
func wishOf(err error) (asked outcomeError) {
	defer func() { _ = recover() }()
	if o := (*outcomeError)(nil); errors.As(err, &o) {
		asked = *o
	}
	return asked
}

func attemptsOf(job *Job, rule Rule) int {
	if job.MaxAttempts > 0 {
		return job.MaxAttempts
	}
	return max(rule.Policy.MaxAttempts, 1)
}

// wait asks the kind's own function first; one that panics leaves it to the policy.
func (r Rule) wait(attempt int, err error, random float64) (d time.Duration) {
	d = r.Policy.Delay(attempt, random)
	if r.Backoff == nil {
		return d
	}
	defer func() { _ = recover() }()
	return ClampDelay(r.Backoff(attempt, err))
}

// errorText reads an error's text; an Error method that panics must not lose the attempt.
func errorText(err error) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("an error of type %T, whose text cannot be read", err)
		}
	}()
	return err.Error()
}
