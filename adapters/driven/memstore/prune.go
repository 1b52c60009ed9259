package memstore

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) Prune(ctx context.Context, req driven.PruneRequest) (answer driven.Pruned, err error) {
	err = s.do(ctx, "prune", func(now time.Time) error {
		looked := 0
		for _, state := range domain.States() {
			if !state.Terminal() {
				continue
			}
			for _, r := range s.expired(state, req.Tenant, req.Limit-looked, now) {
				looked++
				if s.unfinished(r.Batch) {
					s.change(r, func() { r.expires = cut(now.Add(req.Defer)) })
					continue
				}
				s.remove(r)
				answer.Removed++
			}
		}
		answer.More = looked > 0 && looked == req.Limit
		return nil
	})
	return answer, err
}

// PruneBatches walks all batches, for there are few beside jobs: one that is kept is
// passed over, and need not be put off to keep nobody.
func (s *store) PruneBatches(ctx context.Context, req driven.PruneRequest) (answer driven.Pruned, err error) {
	err = s.do(ctx, "prune batches", func(now time.Time) error {
		for id, b := range s.batches {
			over := !b.FinishedAt.IsZero() && b.Keep >= 0 && !cut(b.FinishedAt.Add(b.Keep)).After(now)
			switch callback := s.rows[b.CallbackJob]; {
			case !over || req.Tenant != "" && b.Tenant != req.Tenant:
			case callback != nil && !callback.State.Terminal():
			case answer.Removed == req.Limit:
				answer.More = true
			default:
				delete(s.batches, id)
				answer.Removed++
			}
		}
		return nil
	})
	return answer, err
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
