package mongostore

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
)

// batchRow is the document of a batch. `total` is there when it is sealed and its
// members are counted; `waits` is there from the seal on until it is finished and
// its callback is added.
type batchRow struct {
	ID          key              `bson:"_id"`
	Name        string           `bson:"name,omitempty"`
	Tenant      string           `bson:"tenant,omitempty"`
	Callback    string           `bson:"callback,omitempty"`
	Keep        int64            `bson:"keep"`
	Stage       int              `bson:"stage"`
	Adding      map[string]int64 `bson:"adding,omitempty"` // calls under way, and since when
	Joined      key              `bson:"joined,omitempty"` // the last transaction of a host's that added to it
	Waits       int              `bson:"waits,omitempty"`
	Finishing   key              `bson:"finishing,omitempty"` // who counts its ends
	CreatedAt   int64            `bson:"created_at"`
	SealedAt    int64            `bson:"sealed_at,omitempty"`
	FinishedAt  int64            `bson:"finished_at,omitempty"`
	ExpiresAt   int64            `bson:"expires_at,omitempty"`
	Total       *int64           `bson:"total,omitempty"`
	Done        int64            `bson:"done,omitempty"`
	CallbackJob key              `bson:"callback_job,omitempty"`
}

// The stages of a batch.
const (
	stageOpen = iota
	stageSealed
	stageFinished
)

const (
	pendingMost = 10_000                // members that are counted of a batch that is looked up
	sealTries   = 100                   // how often a seal looks whether the calls under way are over
	sealPause   = 50 * time.Millisecond // between two of them
)

// batch is the document as the domain knows it. A callback that somebody broke is
// one that cannot be added.
func (b *batchRow) batch() domain.Batch {
	out := domain.Batch{
		ID: domain.BatchID(b.ID), Name: b.Name, Tenant: b.Tenant, Keep: keepSpan(b.Keep), CreatedAt: at(b.CreatedAt),
		SealedAt: moment(b.SealedAt), FinishedAt: moment(b.FinishedAt), Done: b.Done, CallbackJob: domain.JobID(b.CallbackJob),
	}
	if b.Total != nil {
		out.Total = *b.Total
	}
	if b.Callback != "" {
		t, err := domain.ParseTemplate(b.Callback)
		if err != nil {
			t = domain.Template{}
		}
		out.Callback = &t
	}
	return out
}

// batched is do for what needs the collection of batches.
func (s *store) batched(ctx context.Context, op string, work func(ctx context.Context, now int64) error) error {
	return s.after(ctx, op, batchesStep, work)
}

func noBatch(op string, id key) error {
	return &domain.Fault{Code: domain.NotFound, Op: op, Subject: domain.BatchID(id).String(), Hint: "there is no such batch"}
}

// ofTenant chooses one document, of a tenant or of any.
func ofTenant(id any, tenant string) bson.D {
	filter := bson.D{{Key: "_id", Value: id}}
	if tenant != "" {
		filter = append(filter, bson.E{Key: "tenant", Value: tenant})
	}
	return filter
}

// readBatch reads one batch.
func (s *store) readBatch(ctx context.Context, op string, id key, tenant string) (*batchRow, error) {
	var b batchRow
	err := s.batches.FindOne(ctx, ofTenant(id, tenant)).Decode(&b)
	if isNone(err) {
		return nil, noBatch(op, id)
	}
	return &b, err
}

// readBatches reads what a filter chooses.
func (s *store) readBatches(ctx context.Context, filter bson.D, opts *options.FindOptionsBuilder) (all []batchRow, err error) {
	cursor, err := s.batches.Find(ctx, filter, opts)
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &all)
	return all, err
}

// CreateBatch writes the document.
func (s *store) CreateBatch(ctx context.Context, n domain.NewBatch) error {
	const op = "create batch"
	return s.batched(ctx, op, func(ctx context.Context, now int64) error {
		b := batchRow{ID: key(n.ID), Name: n.Name, Tenant: n.Tenant, Keep: keepMS(n.Keep), CreatedAt: now}
		if n.Keep == 0 {
			b.Keep = keepMS(domain.DefaultBatchKeep)
		}
		if n.Callback != nil {
			text, err := n.Callback.Text()
			if err != nil {
				return err
			}
			b.Callback = text
		}
		_, err := s.batches.InsertOne(ctx, b)
		if has(err, duplicateKey) {
			return &domain.Fault{Code: domain.Conflict, Op: op, Subject: n.ID.String(), Hint: "there is a batch of this id"}
		}
		return err
	})
}

// SealBatch closes the batch to newcomers and counts the members when those who
// were under way are there. A call that is cut short between the two is completed
// by the next one, or by FinishBatches.
func (s *store) SealBatch(ctx context.Context, id domain.BatchID, tenant string) (answer domain.Sealed, err error) {
	const op = "seal batch"
	err = s.batched(ctx, op, func(ctx context.Context, now int64) error {
		var ch change
		ch.put("stage", stageSealed)
		ch.put("sealed_at", now)
		ch.put("waits", 1)
		filter := append(ofTenant(key(id), tenant), bson.E{Key: "stage", Value: stageOpen})
		if _, err := s.batches.UpdateOne(ctx, filter, ch.update()); err != nil {
			return err
		}
		b, err := s.readBatch(ctx, op, key(id), tenant)
		if err != nil {
			return err
		}
		answer.Again = b.Total != nil
		answer.Total, err = s.members(ctx, b, now, sealTries)
		return err
	})
	return answer, err
}

// members counts the members of a sealed batch, once.
func (s *store) members(ctx context.Context, b *batchRow, now int64, tries int) (int64, error) {
	const op = "seal batch"
	for try := 1; b.Total == nil; try++ {
		var err error
		switch wait := b.underWay(now); {
		case wait && try >= tries:
			return 0, &domain.Fault{Code: domain.Contended, Op: op, Subject: domain.BatchID(b.ID).String(), Hint: "a call that adds to the batch is under way; try again when it has ended"}
		case wait:
			err = pause(ctx, sealPause)
		default:
			err = s.countMembers(ctx, b.ID)
		}
		if err == nil {
			b, err = s.readBatch(ctx, op, b.ID, "")
		}
		if err != nil {
			return 0, err
		}
	}
	return *b.Total, nil
}

func (s *store) countMembers(ctx context.Context, id key) error {
	n, err := s.jobs.CountDocuments(ctx, bson.D{{Key: "batch_id", Value: id}})
	if err != nil {
		return err
	}
	_, err = s.batches.UpdateOne(ctx, bson.D{
		{Key: "_id", Value: id}, {Key: "total", Value: bson.D{{Key: "$exists", Value: false}}},
	}, bson.D{{Key: "$set", Value: bson.D{{Key: "total", Value: n}}}})
	return err
}

// ForgetBatch removes the document. One that was finished by a call that died has
// its callback first.
func (s *store) ForgetBatch(ctx context.Context, id domain.BatchID, tenant string) error {
	const op = "forget batch"
	return s.batched(ctx, op, func(ctx context.Context, now int64) error {
		b, err := s.readBatch(ctx, op, key(id), tenant)
		if err != nil {
			return err
		}
		if b.owes() {
			if _, err := s.callBack(ctx, b, now); err != nil {
				return err
			}
		}
		_, err = s.batches.DeleteOne(ctx, ofTenant(key(id), tenant))
		return err
	})
}
