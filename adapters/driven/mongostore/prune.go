package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Prune looks for documents of each terminal state whose time is over and
// removes them by their ids, under a guard that says so again: one that an
// operator retried meanwhile stays.
func (s *store) Prune(ctx context.Context, req driven.PruneRequest) (removed int, err error) {
	err = s.do(ctx, "prune", func(ctx context.Context, now int64) error {
		for _, state := range []domain.State{domain.Done, domain.Dead, domain.Cancelled} {
			n, err := s.pruneState(ctx, lapsed(state, now), driven.PruneRequest{Limit: req.Limit - removed, Tenant: req.Tenant})
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	return removed, err
}

func (s *store) pruneState(ctx context.Context, over bson.D, req driven.PruneRequest) (removed int, err error) {
	if req.Limit <= 0 {
		return 0, nil
	}
	if req.Tenant != "" {
		over = append(over, bson.E{Key: "tenant", Value: req.Tenant})
	}
	found, err := readAll(ctx, s.jobs, over, onlyIDs().SetSort(bson.D{{Key: "wake_at", Value: 1}}).SetLimit(int64(req.Limit)))
	if err != nil {
		return 0, err
	}
	for _, part := range chunks(idsOf(found), small) {
		res, err := s.jobs.DeleteMany(ctx, append(bson.D{among(part)}, over...))
		if err != nil {
			return removed, err
		}
		removed += int(res.DeletedCount)
	}
	return removed, nil
}
