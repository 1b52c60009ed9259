package domain_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

var rule = domain.Rule{Policy: domain.RetryPolicy{Base: time.Second, Factor: 2, Cap: time.Minute, MaxAttempts: 3}}

func TestJudge(t *testing.T) {
	boom := errors.New("boom")
	for _, tc := range []struct {
		name     string
		err      error
		timedOut bool
		attempts int // settled before this one
		own      int // the job's own max attempts
		want     domain.Verdict
	}{
		{name: "success", want: domain.Verdict{To: domain.Done, Counts: true, Event: domain.EventCompleted}},
		{name: "success on an attempt past the last", attempts: 9, want: domain.Verdict{To: domain.Done, Counts: true, Event: domain.EventCompleted}},
		{name: "nil after the timeout", timedOut: true, want: retried(time.Second, domain.ErrTimeout.Error())},
		{name: "nil after the last timeout", timedOut: true, attempts: 2, want: died(domain.ErrTimeout.Error())},
		{name: "failure", err: boom, want: retried(time.Second, "boom")},
		{name: "failure after the timeout", err: boom, timedOut: true, want: retried(time.Second, "boom")},
		{name: "second failure", err: boom, attempts: 1, want: retried(2*time.Second, "boom")},
		{name: "last failure", err: boom, attempts: 2, want: died("boom")},
		{name: "the job's own attempts are more", err: boom, attempts: 2, own: 4, want: retried(4*time.Second, "boom")},
		{name: "the job's own attempts are fewer", err: boom, own: 1, want: died("boom")},
		{name: "attempts were lowered meanwhile", err: boom, attempts: 7, own: 2, want: died("boom")},
		{name: "bury", err: domain.Bury(boom), want: died("boom")},
		{name: "bury without a reason", err: domain.Bury(nil), want: died("no reason given")},
		{name: "bury, wrapped", err: fmt.Errorf("mail: %w", domain.Bury(boom)), want: died("mail: boom")},
		{name: "bury, joined", err: errors.Join(io.EOF, domain.Bury(boom)), want: died("EOF\nboom")},
		{name: "retry after", err: domain.RetryAfter(time.Hour, boom), want: retried(time.Hour, "boom")},
		{name: "retry after, on the last attempt", err: domain.RetryAfter(time.Hour, boom), attempts: 2, want: died("boom")},
		{name: "retry after nothing", err: domain.RetryAfter(0, nil), want: retried(time.Millisecond, "no reason given")},
		{name: "retry after less than nothing", err: domain.RetryAfter(-time.Hour, boom), want: retried(time.Millisecond, "boom")},
		{name: "retry after too long", err: domain.RetryAfter(1<<63-1, boom), want: retried(domain.MaxDelay, "boom")},
		{name: "cancel", err: domain.Cancel(boom), want: cancelled("boom")},
		{name: "cancel on the last attempt", err: domain.Cancel(boom), attempts: 2, want: cancelled("boom")},
		{name: "snooze", err: domain.Snooze(time.Hour), want: snoozed(time.Hour)},
		{name: "snooze on the last attempt", err: domain.Snooze(time.Hour), attempts: 2, want: snoozed(time.Hour)},
		{name: "short snooze", err: domain.Snooze(-1), want: snoozed(domain.MinSnooze)},
		{name: "long snooze", err: domain.Snooze(1<<63 - 1), want: snoozed(domain.MaxDelay)},
		{name: "the outer wish counts", err: domain.Bury(domain.Snooze(time.Hour)), want: died("snoozed for 1h0m0s")},
		{name: "the lease was lost", err: domain.ErrLeaseLost, want: retried(time.Second, domain.ErrLeaseLost.Error())},
	} {
		t.Run(tc.name, func(t *testing.T) {
			job := &domain.Job{Attempts: tc.attempts, MaxAttempts: tc.own, Error: "an old error"}
			got := domain.Judge(job, domain.Attempt{Err: tc.err, TimedOut: tc.timedOut, Random: 0.5}, rule)
			checkNote(t, job, got)
			if got.History = ""; got != tc.want {
				t.Errorf("got %+v\nwant %+v", got, tc.want)
			}
			if act := domain.CanMove(domain.ActSettle, domain.Running, got.To); !act {
				t.Errorf("a running job cannot become %v", got.To)
			}
		})
	}
}

func retried(after time.Duration, msg string) domain.Verdict {
	return domain.Verdict{To: domain.Scheduled, After: after, Counts: true, Error: msg, Event: domain.EventRetried}
}

func died(msg string) domain.Verdict {
	return domain.Verdict{To: domain.Dead, Counts: true, Error: msg, Event: domain.EventDied}
}

func cancelled(msg string) domain.Verdict {
	return domain.Verdict{To: domain.Cancelled, Error: msg, Event: domain.EventCancelled}
}

func snoozed(after time.Duration) domain.Verdict {
	return domain.Verdict{To: domain.Scheduled, After: after, Snoozed: true, Error: "an old error", Event: domain.EventSnoozed}
}

// checkNote: what failed has one note more, with the error; what did not has none more.
func checkNote(t *testing.T, job *domain.Job, v domain.Verdict) {
	t.Helper()
	notes, err := v.History.Notes()
	failed := v.To != domain.Done && !v.Snoozed
	switch {
	case err != nil || failed != (len(notes) == 1):
		t.Errorf("the history is %q, %v", v.History, err)
	case failed && (notes[0].Message != v.Error || notes[0].Attempt != job.Attempts+1):
		t.Errorf("the note is %+v", notes[0])
	}
}

func TestJudgeKeepsHistory(t *testing.T) {
	old := domain.History("").Add(domain.Note{Attempt: 1, Message: "first"})
	job := &domain.Job{Attempts: 1, History: old, Error: "first"}
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for _, err := range []error{nil, domain.Snooze(time.Second)} {
		if v := domain.Judge(job, domain.Attempt{Err: err, At: at}, rule); v.History != old {
			t.Errorf("%v changed the history to %s", err, v.History)
		}
	}
	v := domain.Judge(job, domain.Attempt{Err: io.EOF, Stack: "main.go:1", At: at, Ran: 5, Runner: "r1"}, rule)
	notes, err := v.History.Notes()
	want := domain.Note{At: at, Attempt: 2, Ran: 5, Message: "EOF", Stack: "main.go:1", Runner: "r1"}
	if err != nil || len(notes) != 2 || notes[0].Message != "first" || notes[1] != want {
		t.Errorf("the history is %s, %v", v.History, err)
	}
}

// nilError is a pointer whose methods panic when it is nil: the usual slip of a typed nil.
type nilError struct{ cause error }

func (e *nilError) Error() string { return e.cause.Error() }
func (e *nilError) Unwrap() error { return e.cause }

func TestJudgeOutlivesWhatHandlersReturn(t *testing.T) {
	var typedNil *nilError
	for name, err := range map[string]error{
		"typed nil":         typedNil,
		"typed nil, buried": domain.Bury(typedNil),
		"20 MiB":            errors.New(strings.Repeat("\x00", 20<<20)),
		"bad UTF-8":         errors.New("a\xff\xfe\x00b"),
		"empty":             errors.New(""),
	} {
		v := domain.Judge(&domain.Job{}, domain.Attempt{Err: err, Stack: strings.Repeat("s", 1<<20), Runner: "\xff"}, rule)
		checkClean(t, v.Error, domain.MaxMessage, v.Error)
		checkHistory(t, v.History, 1)
		if v.To == domain.Done {
			t.Errorf("%s: the job is done", name)
		}
	}
	if v := domain.Judge(&domain.Job{}, domain.Attempt{Err: typedNil}, rule); !strings.Contains(v.Error, "*domain_test.nilError") {
		t.Errorf("the error is %q: it does not name the type", v.Error)
	}
}

func TestBackoffFunctionOfAKind(t *testing.T) {
	for name, tc := range map[string]struct {
		f    domain.Backoff
		want time.Duration
	}{
		"its answer":      {func(n int, _ error) time.Duration { return time.Duration(n) * time.Minute }, 2 * time.Minute},
		"below the range": {func(int, error) time.Duration { return -1 }, time.Millisecond},
		"above the range": {func(int, error) time.Duration { return 1<<63 - 1 }, domain.MaxDelay},
		"a panic":         {func(int, error) time.Duration { panic("slip") }, 2 * time.Second},
	} {
		r := domain.Rule{Policy: rule.Policy, Backoff: tc.f}
		v := domain.Judge(&domain.Job{Attempts: 1}, domain.Attempt{Err: io.EOF}, r)
		if v.To != domain.Scheduled || v.After != tc.want {
			t.Errorf("%s: %v in %v, want %v", name, v.To, v.After, tc.want)
		}
	}
	var seen error
	spy := func(_ int, err error) time.Duration { seen = err; return time.Second }
	domain.Judge(&domain.Job{}, domain.Attempt{Err: io.EOF}, domain.Rule{Policy: rule.Policy, Backoff: spy})
	if !errors.Is(seen, io.EOF) {
		t.Errorf("the function was given %v", seen)
	}
}

func TestRuleWithoutAPolicyTriesOnce(t *testing.T) {
	if v := domain.Judge(&domain.Job{}, domain.Attempt{Err: io.EOF}, domain.Rule{}); v.To != domain.Dead {
		t.Errorf("the job is %v", v.To)
	}
}

func TestOutcomeErrorsUnwrap(t *testing.T) {
	for _, err := range []error{domain.Bury(io.EOF), domain.RetryAfter(1, io.EOF), domain.Cancel(io.EOF)} {
		if !errors.Is(err, io.EOF) || err.Error() != "EOF" {
			t.Errorf("%q hides its cause", err)
		}
	}
	if got := domain.Snooze(time.Minute).Error(); got != "snoozed for 1m0s" {
		t.Errorf("got %q", got)
	}
}
