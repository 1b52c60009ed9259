package conformance

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// fairly worsens claims that serve tenants in turn, and no others.
func fairly(ask func(*driven.ClaimRequest), answer func(driven.ClaimRequest, *driven.Claims)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
			asked := r
			if r.Fair && ask != nil {
				ask(&r)
			}
			got, err := b.Store.Claim(ctx, r)
			if asked.Fair && answer != nil {
				answer(asked, &got)
			}
			return got, err
		}
	}
}

func fairMutants() []mutant {
	return []mutant{
		{"serves no tenants in turn", fairly(func(r *driven.ClaimRequest) { r.Fair = false }, func(r driven.ClaimRequest, got *driven.Claims) {
			if got.Tenant = r.After; len(got.Jobs) > 0 {
				got.Tenant = got.Jobs[len(got.Jobs)-1].Job.Tenant
			}
		}), []string{"fair/turns", "fair/late", "fair/wraps"}},
		{"begins with the first tenant each time", fairly(func(r *driven.ClaimRequest) { r.After = "" }, nil), []string{"fair/turns", "fair/wraps", "fair/bounded"}},
		{"forgets whom it served", fairly(nil, func(r driven.ClaimRequest, got *driven.Claims) { got.Tenant = r.After }), []string{"fair/turns", "fair/bounded"}},
		{"leaves the room that a tenant has no use for", fairly(func(r *driven.ClaimRequest) { r.N = (r.N + 1) / 2 }, nil), []string{"fair/room", "fair/order", "fair/bounded"}},
		{"gives tenants jobs of any kind", fairly(func(r *driven.ClaimRequest) { r.Kinds = []string{kind, other} }, nil), []string{"fair/kinds"}},
		{"takes a tenant's jobs by id alone", inserting(func(n *domain.NewJob) { n.Priority, n.Due = 0, domain.Due{} }), []string{"fair/order"}},
		{"gives a job of a tenant twice", fairly(nil, twice), []string{"fair/once"}},
		{"serves no jobs that time has made due", fairly(nil, func(_ driven.ClaimRequest, got *driven.Claims) {
			got.Jobs = slices.DeleteFunc(got.Jobs, func(j driven.Claimed) bool { return j.Job.RunAt.After(j.Job.CreatedAt) })
		}), []string{"fair/promote"}},
	}
}

// twice gives the first job of a claim once more.
func twice(_ driven.ClaimRequest, got *driven.Claims) {
	if len(got.Jobs) > 0 {
		got.Jobs = append(got.Jobs, got.Jobs[0])
	}
}
