package domain

import (
	"context"
	"errors"
	"strings"
)

// Code says what sort of fault it is. Codes are stable: programs, HTTP statuses and exit codes rest on them.
type Code string

// The codes.
const (
	Invalid     Code = "invalid"     // the caller's input; nothing was written
	NotFound    Code = "not_found"   // no such thing
	Conflict    Code = "conflict"    // a unique key is held, or the state forbids it
	Stale       Code = "stale"       // the ticket no longer holds the job
	Exhausted   Code = "exhausted"   // a limit is used up; later it may work
	Unsupported Code = "unsupported" // the backend lacks the capability
	Denied      Code = "denied"      // the store's user lacks a right
	Contended   Code = "contended"   // deadlock, lock timeout, serialization: nothing was written, try again
	Unavailable Code = "unavailable" // the store cannot be reached or cannot write; whether a commit took is unknown
	Canceled    Code = "canceled"    // the context ended
	Internal    Code = "internal"    // a fault of Rowlock or of an adapter
)

// Lasting says that nothing was written and that another try would not do before somebody
// mends the input, the schema or a right.
func (c Code) Lasting() bool { return c == Invalid || c == Unsupported || c == Denied }

// Fault is the one error type of Rowlock. It says what failed, on what, and what to do next.
// Err is the cause for errors.Is and errors.As; its text is not shown, since a
// driver's message may hold job arguments.
type Fault struct {
	Code    Code
	Op      string // what was tried, e.g. "enqueue"
	Subject string // on what: a job id, a kind, a path in the args
	Hint    string // what to do next
	Err     error
}

// Error is the message for a person: operation, subject, code, hint.
func (f *Fault) Error() string {
	var b strings.Builder
	if f.Op != "" {
		b.WriteString(f.Op)
		b.WriteString(": ")
	}
	if f.Subject != "" {
		b.WriteString(f.Subject)
		b.WriteString(": ")
	}
	b.WriteString(string(f.Code))
	if f.Hint != "" {
		b.WriteString(": ")
		b.WriteString(f.Hint)
	}
	return b.String()
}

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Is matches a bare fault of the same code, so errors.Is(err, &Fault{Code: Conflict}) asks for the code alone.
func (f *Fault) Is(target error) bool {
	other, ok := target.(*Fault)
	return ok && *other == Fault{Code: f.Code}
}

// CodeOf gives the code of any error: "" for nil, Canceled for the context's
// errors, Internal for what carries no code.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var f *Fault
	switch {
	case errors.As(err, &f):
		return f.Code
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Canceled
	}
	return Internal
}

// HintOf gives the hint of a fault, else "".
func HintOf(err error) string {
	var f *Fault
	if errors.As(err, &f) {
		return f.Hint
	}
	return ""
}

// UnlessEnded gives the error, and nil where it says no more than that the context
// ended: for whoever was told to end before it began.
func UnlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && CodeOf(err) == Canceled {
		return nil
	}
	return err
}
