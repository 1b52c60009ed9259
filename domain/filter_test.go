package domain_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func TestFilterScope(t *testing.T) {
	free, acme := t.Context(), domain.WithTenant(t.Context(), "acme")
	cases := map[string]struct {
		ctx    context.Context
		filter domain.Filter
		tenant string
		hint   string // "" where the filter is good
	}{
		"nothing in scope":    {free, domain.Filter{}, "", ""},
		"named":               {free, domain.Filter{Tenant: "other"}, "other", ""},
		"in scope":            {acme, domain.Filter{Queue: "mail"}, "acme", ""},
		"in scope and named":  {acme, domain.Filter{Tenant: "acme"}, "acme", ""},
		"another":             {acme, domain.Filter{Tenant: "other"}, "", "another tenant is in scope"},
		"unknown state":       {free, domain.Filter{States: []domain.State{domain.Dead, 7}}, "", "ready, scheduled, blocked, running, done, dead, cancelled"},
		"NUL in a kind":       {free, domain.Filter{Kind: "a\x00"}, "", "NUL"},
		"bad UTF-8 in a text": {free, domain.Filter{Error: "\xff"}, "", "UTF-8"},
		"long queue":          {free, domain.Filter{Queue: strings.Repeat("q", domain.MaxQueue+1)}, "", "the limit is 120"},
		"long bound":          {free, domain.Filter{Waits: strings.Repeat("w", domain.MaxBound+1)}, "", "the limit is 400"},
		"before 1970":         {free, domain.Filter{Since: time.Unix(-1, 0)}, "", "between 1970"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := c.filter.Scope(c.ctx)
			if c.hint == "" {
				if err != nil || got.Tenant != c.tenant {
					t.Fatalf("got tenant %q, %v; want %q", got.Tenant, err, c.tenant)
				}
				return
			}
			if domain.CodeOf(err) != domain.Invalid || !strings.Contains(domain.HintOf(err), c.hint) {
				t.Fatalf("got %v, want Invalid with %q", err, c.hint)
			}
		})
	}
}
