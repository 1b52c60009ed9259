package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// runner is a beat and how long it counts.
type runner struct {
	info  domain.RunnerInfo
	until time.Time
}

func (s *store) Beat(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error {
	return s.do(ctx, "beat", func(now time.Time) error {
		maps.DeleteFunc(s.runners, func(_ string, old runner) bool { return !old.until.After(now) })
		r = copyRunner(r)
		r.StartedAt, r.SeenAt = cut(r.StartedAt), now
		s.runners[r.ID] = runner{info: r, until: now.Add(ttl)}
		return nil
	})
}

func (s *store) Leave(ctx context.Context, id string) error {
	return s.do(ctx, "leave", func(time.Time) error {
		delete(s.runners, id)
		return nil
	})
}

func (s *store) ListRunners(ctx context.Context, limit int) (live []domain.RunnerInfo, err error) {
	err = s.do(ctx, "list runners", func(now time.Time) error {
		for _, id := range slices.Sorted(maps.Keys(s.runners)) {
			if r := s.runners[id]; len(live) < limit && r.until.After(now) {
				live = append(live, copyRunner(r.info))
			}
		}
		return nil
	})
	return live, err
}

func copyRunner(r domain.RunnerInfo) domain.RunnerInfo {
	r.Kinds, r.Queues = clone(r.Kinds), clone(r.Queues)
	return r
}
