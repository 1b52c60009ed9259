package customadapter

import (
	"maps"
	"slices"

	"github.com/rowlock/rowlock/ports/driven"
)

// inTurn picks from the due jobs, which are in order, a share for each tenant,
// beginning behind the one that was served last, and then from whoever has more.
// It says who was served last.
func inTurn(due []record, req driven.ClaimRequest) (picked []record, last string) {
	byTenant := map[string][]record{}
	for _, r := range due {
		byTenant[r.Tenant] = append(byTenant[r.Tenant], r)
	}
	names := slices.Sorted(maps.Keys(byTenant))
	from, same := slices.BinarySearch(names, req.After)
	if same {
		from++
	}
	names, last = slices.Concat(names[from:], names[:from]), req.After
	for len(names) > 0 && len(picked) < req.N {
		each := (req.N - len(picked) + len(names) - 1) / len(names)
		names = slices.DeleteFunc(names, func(tenant string) bool {
			own := byTenant[tenant]
			n := min(each, req.N-len(picked), len(own))
			if n > 0 {
				picked, last = append(picked, own[:n]...), tenant
			}
			byTenant[tenant] = own[n:]
			return n == len(own)
		})
	}
	return picked, last
}
