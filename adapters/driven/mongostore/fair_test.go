package mongostore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
)

// fairClaim claims in turn and gives the tenants in the order they were served.
func fairClaim(t testing.TB, s driven.Store, n int, after string) (tenants []string, claims driven.Claims) {
	t.Helper()
	claims, err := s.Claim(t.Context(), driven.ClaimRequest{
		Token: ids.NewToken(), Runner: "runner", Lease: time.Hour, Queue: "default", Kinds: []string{"test/job"}, N: n, Fair: true, After: after,
	})
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	for _, c := range claims.Jobs {
		tenants = append(tenants, c.Job.Tenant)
		if c.Job.State != domain.Running {
			t.Errorf("%v", c.Job.State)
		}
	}
	return tenants, claims
}

// ofTenants inserts one job of each tenant that is named, in order.
func ofTenants(t testing.TB, s driven.Store, tenants ...string) []domain.NewJob {
	t.Helper()
	all := jobs(len(tenants))
	for i := range all {
		all[i].Tenant = tenants[i]
	}
	if _, err := s.Insert(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFairClaimsGoRound(t *testing.T) {
	t.Parallel()
	s := opened(t, mongostore.Config{URI: servers.Mongo(t)}).Store
	ofTenants(t, s, "b", "b", "b", "b", "a", "", "c", "c")
	after := ""
	for i, want := range []string{"[a b c] c true", "[ b c] c true", "[b b] b false", "[] b false"} {
		tenants, claims := fairClaim(t, s, 3, after)
		after = claims.Tenant
		if got := fmt.Sprint(tenants, " ", after, " ", claims.More); got != want {
			t.Errorf("claim %d: %s, want %s", i, got, want)
		}
	}
}

// Beyond the bound of tenants all have their turn, though the first could fill
// every claim's room.
func TestFairClaimsOfMoreTenantsThanOneLooksAt(t *testing.T) {
	t.Parallel()
	s := opened(t, mongostore.Config{URI: servers.Mongo(t)}).Store
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("t%02d", i))
	}
	ofTenants(t, s, slices.Concat(slices.Repeat([]string{"t00"}, 300), names[1:])...)
	first, claims := fairClaim(t, s, 64, "")
	if len(first) != 64 || claims.Tenant != "t31" || !claims.More {
		t.Errorf("%d jobs, last of %q", len(first), claims.Tenant)
	}
	second, _ := fairClaim(t, s, 64, claims.Tenant)
	if len(second) != 64 || !slices.Equal(second[:8], names[32:]) {
		t.Errorf("%q", second)
	}
}

// Jobs of other kinds ahead of a tenant's own are looked through, up to a bound;
// behind that its jobs are taken as any claim would.
func TestFairClaimsLookThroughOtherKinds(t *testing.T) {
	t.Parallel()
	s := opened(t, mongostore.Config{URI: servers.Mongo(t)}).Store
	for tenant, n := range map[string]int{"near": 90, "far": 200} {
		other := jobs(n)
		for i := range other {
			other[i].Tenant, other[i].Kind = tenant, "test/other"
		}
		if _, err := s.Insert(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	ofTenants(t, s, slices.Concat(slices.Repeat([]string{"big"}, 9), []string{"near", "near", "near", "far"})...)
	if got, c := fairClaim(t, s, 6, ""); fmt.Sprint(got, c.Tenant) != "[big big near near big big]near" {
		t.Errorf("%v, last of %s", got, c.Tenant)
	}
	if got, c := fairClaim(t, s, 9, "near"); fmt.Sprint(got, c.More) != "[big big big near big big far] false" {
		t.Errorf("%v, more: %v", got, c.More)
	}
}

// Those of no tenant have their turn behind a flood of another's.
func TestFairClaimsOfNoTenantBehindAFlood(t *testing.T) {
	t.Parallel()
	s := opened(t, mongostore.Config{URI: servers.Mongo(t)}).Store
	ofTenants(t, s, append(slices.Repeat([]string{"big"}, 500), "", "")...)
	if got, _ := fairClaim(t, s, 4, ""); fmt.Sprint(got) != "[big big  ]" {
		t.Errorf("%q", got)
	}
}

// Fair and plain claimers at once: each job once.
func TestFairAndPlainClaimersTakeEachJobOnce(t *testing.T) {
	t.Parallel()
	cfg := mongostore.Config{URI: servers.Mongo(t)}
	s := opened(t, cfg).Store
	var tenants []string
	for i := range 400 {
		tenants = append(tenants, []string{"", "a", "b", "c"}[i%4])
	}
	all := ofTenants(t, s, tenants...)
	var mu sync.Mutex
	times := map[domain.JobID]int{}
	var claimers sync.WaitGroup
	for i := range 4 {
		claimers.Go(func() {
			after := ""
			for idle := 0; idle < 3; idle++ {
				got, err := s.Claim(context.WithoutCancel(t.Context()), driven.ClaimRequest{
					Token: ids.NewToken(), Runner: "runner", Lease: time.Hour, Queue: "default", Kinds: []string{"test/job"}, N: 30, Fair: i > 0, After: after,
				})
				if domain.CodeOf(err) != domain.Contended && err != nil || len(got.Jobs) > 30 {
					t.Errorf("%d jobs, %v", len(got.Jobs), err)
					return
				}
				if err != nil || got.More || len(got.Jobs) > 0 {
					idle = -1
				}
				after = got.Tenant
				mu.Lock()
				for _, j := range got.Jobs {
					times[j.Job.ID]++
				}
				mu.Unlock()
			}
		})
	}
	claimers.Wait()
	for i := range all {
		if n := times[all[i].ID]; n != 1 {
			t.Fatalf("job %d was claimed %d times, want once", i, n)
		}
	}
}
