package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Batch reads one batch and counts the members that are not terminal.
func (s *store) Batch(ctx context.Context, id domain.BatchID, tenant string) (found domain.Batch, err error) {
	const op = "get batch"
	err = s.batched(ctx, op, func(ctx context.Context, _ int64) error {
		b, err := s.readBatch(ctx, op, key(id), tenant)
		if err != nil {
			return err
		}
		if found = b.batch(); b.FinishedAt == 0 {
			found.Pending, err = s.jobs.CountDocuments(ctx, unended(key(id)), options.Count().SetLimit(pendingMost))
		}
		return err
	})
	return found, err
}

// unended chooses the members of a batch that are not terminal.
func unended(id key) bson.D {
	return bson.D{{Key: "batch_id", Value: id}, {Key: "state", Value: bson.D{{Key: "$lte", Value: domain.Running}}}}
}

// ListBatches reads one page, along an index where a state or tenant is asked for.
func (s *store) ListBatches(ctx context.Context, f domain.BatchFilter, p domain.BatchPage) (all []domain.Batch, err error) {
	if p.Size <= 0 {
		p.Size = domain.DefaultPage
	}
	filter := bson.D{}
	if f.Tenant != "" {
		filter = append(filter, bson.E{Key: "tenant", Value: f.Tenant})
	}
	if f.State != domain.AnyBatch {
		filter = append(filter, bson.E{Key: "stage", Value: int(f.State-domain.BatchOpen) + stageOpen})
	}
	if !p.Before.IsZero() {
		filter = append(filter, bson.E{Key: "_id", Value: bson.D{{Key: "$lt", Value: key(p.Before)}}})
	}
	err = s.batched(ctx, "list batches", func(ctx context.Context, _ int64) error {
		rows, err := s.readBatches(ctx, filter, options.Find().SetSort(bson.D{{Key: "_id", Value: -1}}).SetLimit(int64(p.Size)))
		for i := range rows {
			all = append(all, rows[i].batch())
		}
		return err
	})
	return all, err
}

// OpenBatches lists those that are sealed and wait: for calls that add, to be
// counted, for members, or for their callback.
func (s *store) OpenBatches(ctx context.Context, after domain.BatchID, limit int) (ids []domain.BatchID, err error) {
	err = s.batched(ctx, "list open batches", func(ctx context.Context, _ int64) error {
		if limit <= 0 {
			return nil
		}
		filter := bson.D{stillWaits, {Key: "_id", Value: bson.D{{Key: "$gt", Value: key(after)}}}}
		rows, err := s.readBatches(ctx, filter, onlyIDs().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(limit)))
		for i := range rows {
			ids = append(ids, domain.BatchID(rows[i].ID))
		}
		return err
	})
	return ids, err
}

// PruneBatches removes by id what it found, under a guard that says so again. A
// callback that comes back after the look was terminal at it.
func (s *store) PruneBatches(ctx context.Context, req driven.PruneRequest) (answer driven.Pruned, err error) {
	err = s.batched(ctx, "prune batches", func(ctx context.Context, now int64) error {
		if req.Limit <= 0 {
			return nil
		}
		over := bson.D{
			{Key: "expires_at", Value: bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: now}}},
			{Key: "waits", Value: bson.D{{Key: "$exists", Value: false}}},
		}
		if req.Tenant != "" {
			over = append(over, bson.E{Key: "tenant", Value: req.Tenant})
		}
		found, err := s.readBatches(ctx, over, options.Find().SetBatchSize(writeBound).SetSort(bson.D{{Key: "expires_at", Value: 1}}).
			SetLimit(int64(req.Limit)).SetProjection(bson.D{{Key: "callback_job", Value: 1}}))
		if err != nil {
			return err
		}
		answer.More = len(found) == req.Limit
		kept, gone, err := s.calling(ctx, found)
		if err != nil {
			return err
		}
		for _, part := range chunks(kept, small) {
			later := bson.D{{Key: "$set", Value: bson.D{{Key: "expires_at", Value: now + ms(req.Defer)}}}}
			if _, err := s.batches.UpdateMany(ctx, append(bson.D{among(part)}, over...), later); err != nil {
				return err
			}
		}
		for _, part := range chunks(gone, small) {
			res, err := s.batches.DeleteMany(ctx, append(bson.D{among(part)}, over...))
			if err != nil {
				return err
			}
			answer.Removed += int(res.DeletedCount)
		}
		return nil
	})
	return answer, err
}

// calling parts batches whose callback is there and not terminal from the others.
func (s *store) calling(ctx context.Context, found []batchRow) (calling, others []key, err error) {
	var callbacks []key
	for i := range found {
		if id := found[i].CallbackJob; !id.IsZero() {
			callbacks = append(callbacks, id)
		}
	}
	live := map[key]bool{}
	for _, part := range chunks(callbacks, small) {
		rows, err := readAll(ctx, s.jobs, bson.D{among(part), {Key: "state", Value: bson.D{{Key: "$lte", Value: domain.Running}}}}, onlyIDs())
		if err != nil {
			return nil, nil, err
		}
		for i := range rows {
			live[rows[i].ID] = true
		}
	}
	for i := range found {
		if live[found[i].CallbackJob] {
			calling = append(calling, found[i].ID)
		} else {
			others = append(others, found[i].ID)
		}
	}
	return calling, others, nil
}
