package mongostore

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

var pruneFields = bson.D{
	{Key: "batch_id", Value: 1},
	{Key: "finished_at", Value: 1},
	{Key: "own", Value: 1},
	{Key: "todo", Value: 1},
}

// Prune looks for documents of each terminal state whose time is over and
// removes them by their ids, under a guard that says so again: one that an
// operator retried meanwhile stays.
func (s *store) Prune(ctx context.Context, req driven.PruneRequest) (answer driven.Pruned, err error) {
	err = s.do(ctx, "prune", func(ctx context.Context, now int64) error {
		looked := 0
		for _, state := range []domain.State{domain.Done, domain.Dead, domain.Cancelled} {
			if looked >= req.Limit {
				break
			}
			over := lapsed(state, now)
			if req.Tenant != "" {
				over = append(over, bson.E{Key: "tenant", Value: req.Tenant})
			}
			found, err := readAll(ctx, s.jobs, over, options.Find().SetProjection(pruneFields).SetBatchSize(writeBound).
				SetSort(bson.D{{Key: "wake_at", Value: 1}}).SetLimit(int64(req.Limit-looked)))
			if err != nil {
				return err
			}
			looked += len(found)
			n, err := s.prune(ctx, found, over, now, req.Defer)
			if err != nil {
				return err
			}
			answer.Removed += n
		}
		answer.More = looked > 0 && looked == req.Limit
		return nil
	})
	return answer, err
}

// prune removes those that nothing keeps and puts off the others.
func (s *store) prune(ctx context.Context, found []row, over bson.D, now int64, later time.Duration) (removed int, err error) {
	open, err := s.unfinished(ctx, found)
	if err != nil {
		return 0, err
	}
	var gone, members, own []key
	for i := range found {
		r := &found[i]
		if r.Todo != nil {
			if err := s.redo(ctx, now, bson.E{Key: "_id", Value: r.ID}); err != nil {
				return 0, err
			}
		}
		switch {
		case open[r.Batch]:
			members = append(members, r.ID)
		case r.Own > 0 && r.FinishedAt > now-ms(ownLife):
			own = append(own, r.ID)
		default:
			gone = append(gone, r.ID)
		}
	}
	if err := s.putOff(ctx, members, over, now+ms(later)); err != nil {
		return 0, err
	}
	if err := s.putOff(ctx, own, over, now+ms(ownLife)); err != nil {
		return 0, err
	}
	for _, part := range chunks(gone, small) {
		res, err := s.jobs.DeleteMany(ctx, append(bson.D{among(part)}, over...))
		if err != nil {
			return removed, err
		}
		removed += int(res.DeletedCount)
	}
	return removed, nil
}

// unfinished says which batches of the documents are there and not finished.
func (s *store) unfinished(ctx context.Context, found []row) (map[key]bool, error) {
	open := map[key]bool{}
	var ids []key
	for i := range found {
		if id := found[i].Batch; !id.IsZero() && !open[id] {
			ids = append(ids, id)
			open[id] = true
		}
	}
	clear(open)
	for _, part := range chunks(ids, small) {
		filter := bson.D{among(part), {Key: "stage", Value: bson.D{{Key: "$lt", Value: stageFinished}}}}
		rows, err := s.readBatches(ctx, filter, onlyIDs())
		if err != nil {
			return nil, err
		}
		for i := range rows {
			open[rows[i].ID] = true
		}
	}
	return open, nil
}

// putOff has documents come again later, so that they lie in nobody's way meanwhile.
func (s *store) putOff(ctx context.Context, ids []key, over bson.D, until int64) error {
	for _, part := range chunks(ids, small) {
		_, err := s.jobs.UpdateMany(ctx, append(bson.D{among(part)}, over...), bson.D{{Key: "$set", Value: bson.D{{Key: "wake_at", Value: until}}}})
		if err != nil {
			return err
		}
	}
	return nil
}
