package memstore

import (
	"maps"
	"slices"
	"time"

	"github.com/rowlock/rowlock/ports/driven"
)

// share is where a tenant's ready jobs of a kind wait.
type share struct{ tenant, kind string }

// shareOut begins to keep a queue's ready rows by tenant: only who serves tenants
// in turn pays for that.
func (s *store) shareOut(queue string) {
	if s.shares[queue] != nil {
		return
	}
	s.shares[queue] = map[share]*index{}
	for at, line := range s.lines {
		if at.queue == queue {
			for r := range line.up() {
				addTo(s.shares[queue], share{r.Tenant, r.Kind}, byTurn, r)
			}
		}
	}
}

// claimFair takes from each tenant its share, beginning behind the one that was
// served last, and then from whoever has more.
func (s *store) claimFair(req *driven.ClaimRequest, claims *driven.Claims, now time.Time) {
	s.shareOut(req.Queue)
	claims.Tenant = req.After
	tenants := s.tenantsAfter(req)
	for len(tenants) > 0 && len(claims.Jobs) < req.N {
		each := (req.N - len(claims.Jobs) + len(tenants) - 1) / len(tenants)
		tenants = slices.DeleteFunc(tenants, func(tenant string) bool {
			most := min(len(claims.Jobs)+each, req.N)
			for len(claims.Jobs) < most {
				r := s.firstOf(req, tenant)
				if r == nil {
					return true
				}
				claims.Jobs = append(claims.Jobs, s.take(r, req, now))
				claims.Tenant = tenant
			}
			return false
		})
	}
	claims.More = req.N > 0 && len(s.tenantsAfter(req)) > 0
}

// tenantsAfter lists the tenants with ready jobs of the kinds, in turn.
func (s *store) tenantsAfter(req *driven.ClaimRequest) []string {
	found := map[string]bool{}
	for at := range s.shares[req.Queue] {
		if slices.Contains(req.Kinds, at.kind) {
			found[at.tenant] = true
		}
	}
	names := slices.Sorted(maps.Keys(found))
	from, same := slices.BinarySearch(names, req.After)
	if same {
		from++
	}
	return slices.Concat(names[from:], names[:from])
}

// firstOf is the first job of a tenant.
func (s *store) firstOf(req *driven.ClaimRequest, tenant string) *row {
	var fronts []*row
	for _, kind := range req.Kinds {
		if r := s.shares[req.Queue][share{tenant, kind}].first(); r != nil {
			fronts = append(fronts, r)
		}
	}
	if i := least(fronts); i >= 0 {
		return fronts[i]
	}
	return nil
}
