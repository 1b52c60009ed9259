package domain_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

// wantFault checks the code, and that subject and hint hold the texts given.
func wantFault(t *testing.T, err error, code domain.Code, subject, hint string) {
	t.Helper()
	var f *domain.Fault
	switch {
	case !errors.As(err, &f):
		t.Errorf("got %v, want a fault of code %s", err, code)
	case f.Code != code || !strings.Contains(f.Subject, subject) || !strings.Contains(f.Hint, hint):
		t.Errorf("got %q, want code %s, subject %q, hint %q", err, code, subject, hint)
	}
}

// uncomparable is an error type that == panics on.
type uncomparable []string

func (u uncomparable) Error() string { return strings.Join(u, ", ") }

func TestFaultIsMatchesTheBareCode(t *testing.T) {
	full := &domain.Fault{Code: domain.Conflict, Op: "enqueue", Subject: "id", Hint: "wait", Err: uncomparable{"a"}}
	for _, tc := range []struct {
		name   string
		target error
		want   bool
	}{
		{"bare, same code", &domain.Fault{Code: domain.Conflict}, true},
		{"bare, other code", &domain.Fault{Code: domain.Stale}, false},
		{"same code, with an operation", &domain.Fault{Code: domain.Conflict, Op: "enqueue"}, false},
		{"same code, with a cause", &domain.Fault{Code: domain.Conflict, Err: uncomparable{"a"}}, false},
		{"itself", full, true},
		{"something else", io.EOF, false},
	} {
		if got := errors.Is(fmt.Errorf("wrapped: %w", full), tc.target); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestCodeOf(t *testing.T) {
	fault := &domain.Fault{Code: domain.Contended, Hint: "again", Err: context.Canceled}
	for _, tc := range []struct {
		err  error
		code domain.Code
		hint string
	}{
		{nil, "", ""},
		{io.EOF, domain.Internal, ""},
		{context.Canceled, domain.Canceled, ""},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), domain.Canceled, ""},
		{fault, domain.Contended, "again"},
		{fmt.Errorf("x: %w", fault), domain.Contended, "again"},
		{errors.Join(io.EOF, fault), domain.Contended, "again"},
	} {
		if code, hint := domain.CodeOf(tc.err), domain.HintOf(tc.err); code != tc.code || hint != tc.hint {
			t.Errorf("%v: code %q, hint %q, want %q, %q", tc.err, code, hint, tc.code, tc.hint)
		}
	}
}

func TestFaultText(t *testing.T) {
	secret := errors.New("column holds 'card 4111'")
	for _, tc := range []struct {
		fault domain.Fault
		want  string
	}{
		{domain.Fault{Code: domain.Internal}, "internal"},
		{domain.Fault{Code: domain.Internal, Err: secret}, "internal"},
		{domain.Fault{Code: domain.Invalid, Op: "enqueue", Err: secret}, "enqueue: invalid"},
		{domain.Fault{Code: domain.Invalid, Op: "enqueue", Subject: "args.a", Hint: "mend it"}, "enqueue: args.a: invalid: mend it"},
	} {
		if got := tc.fault.Error(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
		if tc.fault.Err != nil && !errors.Is(&tc.fault, secret) {
			t.Errorf("%v hides its cause from errors.Is", &tc.fault)
		}
	}
}

func TestTenantInScope(t *testing.T) {
	ctx := t.Context()
	inner := domain.WithTenant(domain.WithTenant(ctx, "a"), "b")
	for want, ctx := range map[string]context.Context{
		"": domain.WithTenant(inner, ""), "b": inner, "a": domain.WithTenant(ctx, "a"),
	} {
		if got := domain.TenantOf(ctx); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := domain.TenantOf(ctx); got != "" {
		t.Errorf("nobody put %q in scope", got)
	}
}

func TestUnlessEnded(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	ended, other := &domain.Fault{Code: domain.Canceled}, &domain.Fault{Code: domain.Invalid}
	for _, c := range []struct {
		ctx       context.Context
		err, want error
	}{{over, nil, nil}, {over, ended, nil}, {over, context.Canceled, nil}, {over, other, other}, {t.Context(), nil, nil}, {t.Context(), ended, ended}} {
		if got := domain.UnlessEnded(c.ctx, c.err); !errors.Is(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%v, ended: %v: %v", c.err, c.ctx.Err(), got)
		}
	}
}
