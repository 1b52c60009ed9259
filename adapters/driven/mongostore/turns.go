package mongostore

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// A job's place in its turns is a field of its document, written with whatever
// moves it: there is no second write that a crash could lose. It is run_at for a
// mutex and due_at for a chain; one that ended has none, unless it is dead and
// blocks its chains.

// What becomes of a place hangs on fields that never change.
var (
	inChain     = bson.E{Key: "turn", Value: domain.TurnChain}
	inNoChain   = bson.E{Key: "turn", Value: bson.D{{Key: "$ne", Value: domain.TurnChain}}}
	keepsPlace  = bson.E{Key: "on_dead", Value: int(domain.Block)}
	leavesPlace = bson.E{Key: "on_dead", Value: bson.D{{Key: "$ne", Value: int(domain.Block)}}}
	hasPlace    = bson.E{Key: "place", Value: bson.D{{Key: "$exists", Value: true}}}
	blocking    = bson.E{Key: "blocks", Value: 1}
)

// leave gives up the place, for good or until an operator's retry.
func (c *change) leave() { c.drop("place", "blocks") }

// block keeps the place of a dead one.
func (c *change) block() { c.put("blocks", 1) }

// die is what its turns become when the job is dead.
func (r *row) die(c *change) {
	switch {
	case r.Turn == domain.NoTurn:
	case r.OnDead == int(domain.Block):
		c.block()
	default:
		c.leave()
	}
}

// follow is what its turns become when the job, which has its place, is due at another time.
func (r *row) follow(c *change, runAt int64) {
	if r.Turn == domain.TurnMutex {
		c.put("place", runAt)
	}
}

// comeBack is what its turns become when an operator retries the job, and the
// guard of that: a chain's place is the due_at that was read.
func (r *row) comeBack(c *change, runAt int64) bson.D {
	c.drop("blocks")
	if r.Turn == domain.TurnMutex {
		c.put("place", runAt)
		return nil
	}
	c.put("place", r.DueAt)
	return bson.D{{Key: "due_at", Value: r.DueAt}}
}

// head is the job whose turn it is at a key, nil where there is none: one step
// down the index `turns`.
func (s *store) head(ctx context.Context, of string) (*row, error) {
	var r row
	err := s.jobs.FindOne(ctx, bson.D{{Key: "keys", Value: of}, hasPlace}, firstTurn()).Decode(&r)
	if isNone(err) {
		return nil, nil
	}
	return &r, err
}

// Heads is one step down the index `turns` for each key.
func (s *store) Heads(ctx context.Context, keys []string) (heads map[string]domain.JobID, err error) {
	heads = make(map[string]domain.JobID, len(keys))
	err = s.look(ctx, "list whose turn it is", func(ctx context.Context) error {
		for _, of := range keys {
			if k, _ := domain.ParseBoundKey(of); !k.Sort.Turns() {
				continue
			}
			first, err := s.head(ctx, of)
			if err != nil {
				return err
			}
			if first != nil {
				heads[of] = domain.JobID(first.ID)
			}
		}
		return nil
	})
	return heads, err
}

// BlockedKeys finds the keys one after another, by one step down the index `blocked` each.
func (s *store) BlockedKeys(ctx context.Context, after string, limit int) (keys []string, err error) {
	err = s.look(ctx, "list blocked keys", func(ctx context.Context) error {
		keys, err = s.names(ctx, "blocked_on", bson.D{{Key: "state", Value: domain.Blocked}}, after, limit)
		return err
	})
	return keys, err
}

// Chains groups the keys of the dead that block, as many as there are: a document
// is in the index under each of its keys, and the server sorts such documents by
// the least of them only.
func (s *store) Chains(ctx context.Context, after string, limit int) (chains []domain.Chain, err error) {
	behind := bson.E{Key: "keys", Value: bson.D{{Key: "$gt", Value: after}}}
	err = s.bounded(ctx, "list chains", func(ctx context.Context, _ int64) error {
		if limit <= 0 {
			return nil
		}
		cursor, err := s.jobs.Aggregate(ctx, bson.A{
			bson.D{{Key: "$match", Value: bson.D{blocking, behind}}},
			bson.D{{Key: "$project", Value: bson.D{{Key: "keys", Value: 1}, {Key: "place", Value: 1}}}},
			bson.D{{Key: "$unwind", Value: "$keys"}},
			bson.D{{Key: "$match", Value: bson.D{behind}}},
			bson.D{{Key: "$sort", Value: bson.D{{Key: "keys", Value: 1}, {Key: "place", Value: 1}, {Key: "_id", Value: 1}}}},
			bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$keys"}, {Key: "job", Value: bson.D{{Key: "$first", Value: "$_id"}}}}}},
			bson.D{{Key: "$sort", Value: bson.D{{Key: "_id", Value: 1}}}},
			bson.D{{Key: "$limit", Value: limit}},
		})
		if err != nil {
			return err
		}
		var found []struct {
			Key string `bson:"_id"`
			Job key    `bson:"job"`
		}
		err = cursor.All(ctx, &found)
		for _, f := range found {
			chains = append(chains, domain.Chain{Key: f.Key, Job: domain.JobID(f.Job)})
		}
		return err
	})
	return chains, err
}

// Unchain takes the places of the dead that block a chain, at their other keys too.
func (s *store) Unchain(ctx context.Context, chain string) (answer driven.Unchained, err error) {
	err = s.bounded(ctx, "release chain", func(ctx context.Context, _ int64) error {
		dead := bson.D{{Key: "keys", Value: chain}, blocking}
		if err := s.jobs.Distinct(ctx, "keys", dead).Decode(&answer.Keys); err != nil {
			return err
		}
		slices.Sort(answer.Keys)
		var ch change
		ch.leave()
		res, err := s.jobs.UpdateMany(ctx, dead, ch.update())
		if err == nil {
			answer.Dead = int(res.MatchedCount)
		}
		return err
	})
	return answer, err
}
