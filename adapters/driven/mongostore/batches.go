package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
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

// PruneBatches removes by id what it found, under a guard that says so again.
func (s *store) PruneBatches(ctx context.Context, tenant string, limit int) (removed int, err error) {
	err = s.batched(ctx, "prune batches", func(ctx context.Context, now int64) error {
		if limit <= 0 {
			return nil
		}
		over := bson.D{
			{Key: "expires_at", Value: bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: now}}},
			{Key: "waits", Value: bson.D{{Key: "$exists", Value: false}}},
		}
		if tenant != "" {
			over = append(over, bson.E{Key: "tenant", Value: tenant})
		}
		found, err := s.readBatches(ctx, over, onlyIDs().SetSort(bson.D{{Key: "expires_at", Value: 1}}).SetLimit(int64(limit)))
		if err != nil {
			return err
		}
		ids := make([]key, len(found))
		for i := range found {
			ids[i] = found[i].ID
		}
		for _, part := range chunks(ids, small) {
			res, err := s.batches.DeleteMany(ctx, append(bson.D{among(part)}, over...))
			if err != nil {
				return err
			}
			removed += int(res.DeletedCount)
		}
		return nil
	})
	return removed, err
}
