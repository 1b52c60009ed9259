package mongostore

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
)

// goneAfter is how long a runner that fell silent stays in the collection.
const goneAfter = time.Hour

// life is a runner's document.
type life struct {
	ID        string   `bson:"_id"`
	Kinds     []string `bson:"kinds,omitempty"`
	Queues    []string `bson:"queues,omitempty"` // none: all
	StartedAt int64    `bson:"started_at,omitempty"`
	SeenAt    int64    `bson:"seen_at"`
	LivesTo   int64    `bson:"lives_to"`
}

// living is do for what needs the collection of runners.
func (s *store) living(ctx context.Context, op string, work func(ctx context.Context, now int64) error) error {
	return s.call(ctx, op, runnersStep, func(ctx context.Context) error { return s.timed(ctx, work) })
}

// Beat writes the runner's document anew and forgets those that fell silent long ago.
func (s *store) Beat(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error {
	return s.living(ctx, "beat", func(ctx context.Context, now int64) error {
		l := life{ID: r.ID, Kinds: r.Kinds, Queues: r.Queues, SeenAt: now, LivesTo: now + ms(ttl)}
		if !r.StartedAt.IsZero() {
			l.StartedAt = r.StartedAt.UnixMilli()
		}
		_, err := s.runners.ReplaceOne(ctx, bson.D{{Key: "_id", Value: r.ID}}, l, options.Replace().SetUpsert(true))
		if err != nil {
			return err
		}
		_, err = s.runners.DeleteMany(ctx, bson.D{{Key: "lives_to", Value: bson.D{{Key: "$lt", Value: now - ms(goneAfter)}}}})
		return err
	})
}

// Leave removes the runner's document.
func (s *store) Leave(ctx context.Context, id string) error {
	return s.call(ctx, "leave", runnersStep, func(ctx context.Context) error {
		_, err := s.runners.DeleteOne(ctx, bson.D{{Key: "_id", Value: id}})
		return err
	})
}

// ListRunners lists who lives.
func (s *store) ListRunners(ctx context.Context, limit int) (live []domain.RunnerInfo, err error) {
	err = s.living(ctx, "list runners", func(ctx context.Context, now int64) error {
		if limit <= 0 {
			return nil
		}
		cursor, err := s.runners.Find(ctx, bson.D{{Key: "lives_to", Value: bson.D{{Key: "$gt", Value: now}}}},
			options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(limit)))
		if err != nil {
			return err
		}
		var all []life
		err = cursor.All(ctx, &all)
		for _, l := range all {
			live = append(live, domain.RunnerInfo{ID: l.ID, Kinds: l.Kinds, Queues: l.Queues, StartedAt: moment(l.StartedAt), SeenAt: at(l.SeenAt)})
		}
		return err
	})
	return live, err
}
