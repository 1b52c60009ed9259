package domain

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Scope checks the filter and narrows it to the tenant in scope: what a list, a
// count and a bulk call do first. A filter that names another tenant than the
// one in scope is refused.
func (f Filter) Scope(ctx context.Context) (Filter, error) {
	if err := f.Validate(); err != nil {
		return f, err
	}
	tenant, err := ScopeOf(ctx)
	if err != nil || tenant == "" {
		return f, err
	}
	if f.Tenant != "" && f.Tenant != tenant {
		return f, &Fault{Code: Invalid, Op: "check filter", Subject: f.Tenant, Hint: "another tenant is in scope, so this one's jobs cannot be seen"}
	}
	f.Tenant = tenant
	return f, nil
}

// Validate refuses what no store could have stored, so that no filter can fail inside one.
func (f Filter) Validate() error {
	for _, s := range f.States {
		if int(s) >= len(stateNames) {
			return &Fault{Code: Invalid, Op: "check filter", Subject: fmt.Sprintf("state %d", s), Hint: "the states are " + strings.Join(stateNames[:], ", ")}
		}
	}
	names := []struct {
		what, name string
		limit      int
	}{
		{"queue", f.Queue, MaxQueue},
		{"kind", f.Kind, MaxKind},
		{"tenant", f.Tenant, MaxTenant},
		{"tag", f.Tag, MaxTag},
		{"bound", f.Waits, MaxBound},
		{"error text", f.Error, MaxMessage},
	}
	for _, n := range names {
		if n.name == "" {
			continue
		}
		if err := ValidateName(n.what, n.name, n.limit); err != nil {
			return err
		}
	}
	for _, moment := range []time.Time{f.Since, f.Until} {
		if !moment.IsZero() && (moment.Before(minMoment) || moment.After(maxMoment)) {
			return &Fault{Code: Invalid, Op: "check filter", Hint: "since and until must lie between 1970 and 9999"}
		}
	}
	return nil
}
