package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Claim costs a few tree steps for each job it gives, whatever is queued behind
// them or ahead of them in other queues and kinds.
func (s *store) Claim(ctx context.Context, req driven.ClaimRequest) (claims driven.Claims, err error) {
	err = s.do(ctx, "claim", func(now time.Time) error {
		s.promote(now)
		claims.Next = s.next(now)
		if req.Fair {
			s.claimFair(&req, &claims, now)
			return nil
		}
		fronts := s.fronts(req.Queue, req.Kinds)
		for len(claims.Jobs) < req.N {
			i := least(fronts)
			if i < 0 {
				break
			}
			claims.Jobs = append(claims.Jobs, s.take(fronts[i], &req, now))
			fronts[i] = s.lines[line{req.Queue, fronts[i].Kind}].first()
		}
		claims.More = req.N > 0 && least(fronts) >= 0
		return nil
	})
	return claims, err
}

// promote makes ready what time has made due. All of it, so that the order of
// claims is right; each row pays for it once.
func (s *store) promote(now time.Time) {
	for r := s.states[domain.Scheduled].first(); r != nil && !r.RunAt.After(now); r = s.states[domain.Scheduled].first() {
		s.change(r, func() { r.State = domain.Ready })
	}
}

// fronts are the first jobs of each kind's line.
func (s *store) fronts(queue string, kinds []string) []*row {
	var fronts []*row
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
		if r := s.lines[line{queue, kind}].first(); r != nil {
			fronts = append(fronts, r)
		}
	}
	return fronts
}

// least is the index of the row whose turn is first, -1 where there is none.
func least(rows []*row) int {
	best := -1
	for i, r := range rows {
		if r != nil && (best < 0 || byTurn(r, rows[best]) < 0) {
			best = i
		}
	}
	return best
}

func (s *store) take(r *row, req *driven.ClaimRequest, now time.Time) driven.Claimed {
	s.change(r, func() {
		r.State, r.token, r.Runner = domain.Running, req.Token, req.Runner
		r.ClaimedAt, r.LeaseUntil = now, cut(now.Add(req.Lease))
	})
	return driven.Claimed{Token: req.Token, Job: r.copy()}
}

// next is how long until a scheduled job becomes due.
func (s *store) next(now time.Time) time.Duration {
	r := s.states[domain.Scheduled].first()
	if r == nil {
		return driven.NoNext
	}
	return min(r.RunAt.Sub(now), driven.NoNext)
}

// Queues sorts the names of the queues that hold something; rows are not looked at.
func (s *store) Queues(ctx context.Context, after string, limit int) (names []string, err error) {
	err = s.do(ctx, "list queues", func(time.Time) error {
		names = page(s.waiting, after, limit)
		return nil
	})
	return names, err
}
