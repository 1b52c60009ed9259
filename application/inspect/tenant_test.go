package inspect_test

import (
	"strings"
	"testing"

	"github.com/rowlock/rowlock/application/inspect"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// untouched fails a test whose store is asked anything.
type untouched struct {
	driven.Finder
	driven.Runners
}

func TestATenantThatCannotBeSeesNothing(t *testing.T) {
	s := inspect.New(inspect.Deps{Finder: untouched{}, Runners: untouched{}}) // a call would panic
	ctx := domain.WithTenant(t.Context(), strings.Repeat("x", domain.MaxTenant+1))
	_, get := s.Get(ctx, domain.JobID{1})
	_, list := s.List(ctx, domain.Filter{}, domain.Page{})
	_, count := s.Count(ctx, domain.Filter{})
	_, stats := s.Stats(ctx)
	for i, err := range []error{get, list, count, stats} {
		if domain.CodeOf(err) != domain.Invalid {
			t.Errorf("door %d: %v", i, err)
		}
	}
}
