package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// stillWaits chooses batches that somebody has yet to finish.
var stillWaits = bson.E{Key: "waits", Value: 1}

// FinishBatches ends each batch by one guarded write, which is the decision, and
// adds its callback after it. In between the batch owes it: whoever looks next adds
// it, under the same id, so that it is one job.
//
// The members are looked at and counted one after another. A retry that brings
// one back meanwhile takes the mark of the count from the batch, after its write:
// the decision then does not find it, and the batch waits for that member.
func (s *store) FinishBatches(ctx context.Context, ids []domain.BatchID) (all []driven.Finished, err error) {
	err = s.batched(ctx, "finish batches", func(ctx context.Context, now int64) error {
		for _, part := range chunks(ids, small) {
			keys := make([]key, len(part))
			for i, id := range part {
				keys[i] = key(id)
			}
			found, err := s.readBatches(ctx, bson.D{among(keys), stillWaits}, options.Find().SetBatchSize(writeBound))
			if err != nil {
				return err
			}
			for i := range found {
				done, err := s.finish(ctx, &found[i], now)
				if err != nil {
					return err
				}
				all = append(all, done...)
			}
		}
		return nil
	})
	return all, err
}

// finish ends one batch, if it is over.
func (s *store) finish(ctx context.Context, b *batchRow, now int64) ([]driven.Finished, error) {
	if b.owes() {
		return s.callBack(ctx, b, now)
	}
	total, err := s.members(ctx, b, now, 1)
	if domain.CodeOf(err) == domain.Contended || domain.CodeOf(err) == domain.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b.Total = &total
	if waits, err := s.waits(ctx, b.ID); err != nil || waits {
		return nil, err
	}
	b.Finishing = newMark()
	res, err := s.batches.UpdateOne(ctx, bson.D{{Key: "_id", Value: b.ID}, {Key: "stage", Value: stageSealed}}, bson.D{{Key: "$set", Value: bson.D{{Key: "finishing", Value: b.Finishing}}}})
	if err != nil || res.MatchedCount == 0 {
		return nil, err
	}
	if waits, err := s.waits(ctx, b.ID); err != nil || waits {
		return nil, err
	}
	if b.Done, err = s.jobs.CountDocuments(ctx, bson.D{{Key: "batch_id", Value: b.ID}, {Key: "state", Value: domain.Done}}); err != nil {
		return nil, err
	}
	return s.decide(ctx, b, now)
}

// waits says whether a member of the batch is not terminal.
func (s *store) waits(ctx context.Context, id key) (bool, error) {
	var r row
	err := s.jobs.FindOne(ctx, unended(id), options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})).Decode(&r)
	if isNone(err) {
		return false, nil
	}
	return err == nil, err
}

// decide finishes a batch whose ends were counted, unless somebody took the mark.
func (s *store) decide(ctx context.Context, b *batchRow, now int64) ([]driven.Finished, error) {
	b.FinishedAt = now
	b.Stage, b.Waits = stageFinished, 1
	ended := b.batch()
	job, unmade := callback(&ended)
	var ch change
	ch.put("stage", stageFinished)
	ch.put("finished_at", now)
	ch.put("done", b.Done)
	if until := expiry(now, keepSpan(b.Keep)); until > 0 {
		ch.put("expires_at", until)
	}
	ch.drop("finishing", "joined", "adding")
	if job != nil {
		b.CallbackJob = key(job.ID)
		ch.put("callback_job", b.CallbackJob)
	} else {
		ch.drop("waits")
	}
	res, err := s.batches.UpdateOne(ctx, bson.D{{Key: "_id", Value: b.ID}, {Key: "finishing", Value: b.Finishing}}, ch.update())
	if err != nil || res.MatchedCount == 0 {
		return nil, err
	}
	if job == nil {
		return []driven.Finished{{Batch: ended, Refused: unmade != nil}}, nil
	}
	return s.callBack(ctx, b, now)
}

// callback is the job that a batch adds, nil where it has none or none that could
// be added.
func callback(b *domain.Batch) (*domain.NewJob, error) {
	job, err := b.Finish()
	if err != nil {
		return nil, err
	}
	return job, nil
}

// owes says whether the batch is finished and its callback not added.
func (b *batchRow) owes() bool { return b.Stage == stageFinished && b.Waits > 0 }

// callBack adds the callback of a finished batch. Whose write says that it is added
// tells of it.
func (s *store) callBack(ctx context.Context, b *batchRow, now int64) ([]driven.Finished, error) {
	answer := driven.Finished{Batch: b.batch()}
	job, err := callback(&answer.Batch)
	answer.Refused = err != nil
	if job != nil {
		answer.Queue = job.Queue
		refused, err := s.addOwn(ctx, []*domain.NewJob{job}, now)
		if err != nil {
			return nil, err
		}
		answer.Refused = refused[0]
	}
	res, err := s.batches.UpdateOne(ctx, bson.D{{Key: "_id", Value: b.ID}, {Key: "stage", Value: stageFinished}, stillWaits}, bson.D{{Key: "$unset", Value: bson.D{{Key: "waits", Value: ""}}}})
	if err != nil || res.MatchedCount == 0 {
		return nil, err
	}
	return []driven.Finished{answer}, nil
}

// disturb has batches whose ends are being counted wait again: members of them
// came back.
func (s *store) disturb(ctx context.Context, ids []key) error {
	for _, part := range chunks(ids, small) {
		filter := bson.D{among(part), {Key: "finishing", Value: bson.D{{Key: "$exists", Value: true}}}}
		if _, err := s.batches.UpdateMany(ctx, filter, bson.D{{Key: "$unset", Value: bson.D{{Key: "finishing", Value: ""}}}}); err != nil {
			return err
		}
	}
	return nil
}
