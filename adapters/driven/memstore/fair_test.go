package memstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestFairClaims(t *testing.T) {
	s := open(t)
	for _, tenant := range []string{"b", "b", "b", "b", "a", "", "c", "c"} {
		n := s.job()
		n.Tenant = tenant
		s.add(n)
	}
	after := ""
	for i, want := range []string{"[a b c] c true", "[ b c] c true", "[b b] b false", "[] b false"} {
		claims, err := s.Claim(t.Context(), driven.ClaimRequest{
			Token: s.ids.NewToken(), Runner: "r", Lease: time.Minute, Queue: "q", Kinds: []string{"k"}, N: 3, Fair: true, After: after,
		})
		if err != nil {
			t.Fatal(err)
		}
		var tenants []string
		for _, c := range claims.Jobs {
			tenants = append(tenants, c.Job.Tenant)
			if c.Job.State != domain.Running {
				t.Errorf("%v", c.Job.State)
			}
		}
		after = claims.Tenant
		if got := fmt.Sprint(tenants, " ", claims.Tenant, " ", claims.More); got != want {
			t.Errorf("claim %d: %s, want %s", i, got, want)
		}
	}
}
