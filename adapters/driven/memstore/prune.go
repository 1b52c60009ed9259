package memstore

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) Prune(ctx context.Context, req driven.PruneRequest) (removed int, err error) {
	err = s.do(ctx, "prune", func(now time.Time) error {
		for _, state := range domain.States() {
			if !state.Terminal() {
				continue
			}
			for _, r := range s.expired(state, req.Tenant, req.Limit-removed, now) {
				s.remove(r)
				removed++
			}
		}
		return nil
	})
	return removed, err
}

// expired lists at most limit rows of a terminal state whose time is over.
func (s *store) expired(state domain.State, tenant string, limit int, now time.Time) []*row {
	var found []*row
	for r := range s.states[state].up() {
		if len(found) >= limit || r.expires.After(now) {
			break
		}
		if tenant == "" || r.Tenant == tenant {
			found = append(found, r)
		}
	}
	return found
}
