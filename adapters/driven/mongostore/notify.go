package mongostore

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// hintWait is how long one write of hints may take. A lost hint costs a poll.
const hintWait = 5 * time.Second

// notifier wakes other processes on a replica set: a hint is a counter of its
// queue, and who listens follows that small collection by a change stream, not
// the jobs themselves. While one write is on its way the next hints gather.
type notifier struct {
	s     *store
	hints *mongo.Collection

	mu      sync.Mutex
	pending map[string]bool
	writing sync.WaitGroup // one writer at most, which ends when nothing is pending
	busy    bool
}

func newNotifier(s *store) *notifier {
	return &notifier{s: s, hints: s.db.Collection(s.prefix + "hints"), pending: map[string]bool{}}
}

// Notify leaves the hints to a writer and never waits for it.
func (n *notifier) Notify(queues ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.s.closed.Load() {
		return
	}
	for _, q := range queues {
		n.pending[q] = true
	}
	if !n.busy && len(n.pending) > 0 {
		n.busy = true
		n.writing.Go(n.write)
	}
}

// close closes the store and waits for the last hints.
func (n *notifier) close() error {
	n.mu.Lock()
	n.s.closed.Store(true)
	n.mu.Unlock()
	n.writing.Wait()
	return nil
}

// write sends what is pending until nothing is.
func (n *notifier) write() {
	for {
		n.mu.Lock()
		queues := n.pending
		n.pending = map[string]bool{}
		if n.busy = len(queues) > 0; !n.busy {
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		var writes []mongo.WriteModel
		for q := range queues {
			writes = append(writes, mongo.NewUpdateOneModel().SetUpsert(true).SetFilter(bson.D{{Key: "_id", Value: q}}).
				SetUpdate(bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: int64(1)}}}}))
		}
		ctx, cancel := context.WithTimeout(context.Background(), hintWait)
		_, _ = n.hints.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false)) // a hint may be lost
		cancel()
	}
}

// Listen follows the hints until the context ends or the stream cannot go on.
func (n *notifier) Listen(ctx context.Context, hear func(queue string)) error {
	const op = "listen"
	if err := n.s.begin(ctx); err != nil {
		return fault(ctx, op, err)
	}
	stream, err := n.hints.Watch(mongo.NewSessionContext(ctx, nil), mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "operationType", Value: bson.D{{Key: "$in", Value: bson.A{"insert", "update", "replace"}}}}}}},
		{{Key: "$project", Value: bson.D{{Key: "documentKey", Value: 1}}}},
	})
	if err != nil {
		return fault(ctx, op, err)
	}
	defer func() { _ = stream.Close(context.WithoutCancel(ctx)) }()
	hear("")
	for stream.Next(ctx) {
		var event struct {
			Key struct {
				Queue string `bson:"_id"`
			} `bson:"documentKey"`
		}
		if err := stream.Decode(&event); err != nil {
			return fault(ctx, op, err)
		}
		hear(event.Key.Queue)
	}
	if ctx.Err() != nil {
		return nil
	}
	return fault(ctx, op, errors.Join(errStreamEnded, stream.Err()))
}

// errStreamEnded says that a change stream ended by itself, as one does whose collection was dropped.
var errStreamEnded = errors.New("mongostore: the change stream ended")
