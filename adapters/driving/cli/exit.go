package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/domain"
)

// exitCode is the process's exit code for a fault's code.
func exitCode(code domain.Code) int {
	switch code {
	case "":
		return 0
	case domain.Invalid:
		return 2
	case domain.NotFound:
		return 3
	case domain.Conflict, domain.Stale:
		return 4
	case domain.Exhausted:
		return 5
	case domain.Unsupported, domain.Denied:
		return 6
	case domain.Unavailable, domain.Contended:
		return 7
	case domain.Canceled:
		return 130
	default:
		return 1
	}
}

const exitHelp = `Exit codes: 0 all went well, 1 internal fault, 2 bad input, 3 not found, 4 conflict or
refused, 5 a limit is used up, 6 not supported, or a right
is missing, 7 the store cannot be reached or is contended, 130 interrupted.`

// told ends a command whose answer says already what was refused: it sets the
// exit code and adds a line for people.
type told struct {
	code domain.Code
	line string
}

func (t *told) Error() string { return t.line }

// faultOf gives the fault inside an error; what carries none is internal.
func faultOf(err error) *domain.Fault {
	var f *domain.Fault
	if errors.As(err, &f) {
		return f
	}
	code := domain.CodeOf(err)
	if errors.Is(err, context.Canceled) {
		return &domain.Fault{Code: code, Hint: "interrupted"}
	}
	return &domain.Fault{Code: code}
}

type errorView struct {
	Error struct {
		Code    domain.Code `json:"code"`
		Message string      `json:"message"`
		Subject string      `json:"subject,omitempty"`
		Hint    string      `json:"hint,omitempty"`
	} `json:"error"`
}

// end prints what went wrong and gives the exit code. With --json the error is
// the document where no other was written.
func (s *shell) end(err error) int {
	if err == nil {
		return 0
	}
	var t *told
	if errors.As(err, &t) {
		s.say("%s", t.line)
		return exitCode(t.code)
	}
	s.say("%v", err)
	f := faultOf(err)
	if s.json && !s.answered {
		var v errorView
		v.Error.Code, v.Error.Message, v.Error.Subject, v.Error.Hint = f.Code, plain(err.Error()), plain(f.Subject), plain(f.Hint)
		if err := s.document(v); err != nil {
			return 1
		}
	}
	return exitCode(f.Code)
}

// say prints one line for people on standard error.
func (s *shell) say(format string, args ...any) {
	_, _ = fmt.Fprintln(s.Stderr, "rowlock: "+plain(fmt.Sprintf(format, args...)))
}

// invalid is a fault of the command line itself.
func invalid(op, subject, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: op, Subject: subject, Hint: hint}
}
