package domain

import (
	"strings"
	"testing"
)

func TestScope(t *testing.T) {
	for tenant, code := range map[string]Code{
		"": "", "acme": "", strings.Repeat("x", MaxTenant): "", strings.Repeat("x", MaxTenant+1): Invalid, "a\x00": Invalid, "a\xff": Invalid,
	} {
		ctx := WithTenant(t.Context(), tenant)
		got, err := ScopeOf(ctx)
		if CodeOf(err) != code || err == nil && got != tenant {
			t.Errorf("%.10q: %q, %v", tenant, got, err)
		}
		if f, err := (Filter{}).Scope(ctx); CodeOf(err) != code || err == nil && f.Tenant != tenant {
			t.Errorf("%.10q: the filter is %+v, %v", tenant, f, err)
		}
	}
	if tenant, err := ScopeOf(t.Context()); tenant != "" || err != nil {
		t.Errorf("none: %q, %v", tenant, err)
	}
}

func TestAFailureJobFailsIntoNothing(t *testing.T) {
	for _, c := range []struct{ own, declared, want string }{
		{"", "", ""}, {"", "d", "d"}, {"o", "d", "o"}, {"k", "d", ""}, {"k", "", ""}, {"", "k", ""},
	} {
		job := Job{Kind: "k", FailureKind: c.own}
		if got := job.FailsInto(c.declared); got != c.want {
			t.Errorf("own %q, declared %q: %q, want %q", c.own, c.declared, got, c.want)
		}
	}
	made, err := FailureJob(&Job{Kind: "k", Queue: "q", Args: []byte("{}")}, "f", Token{1}, 1, 1, "no")
	if err != nil {
		t.Fatal(err)
	}
	if job := (Job{Kind: made.Kind, FailureKind: made.FailureKind}); job.FailsInto("other") != "" {
		t.Error("a failure job has one itself")
	}
}
