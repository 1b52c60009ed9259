package mongostore

import (
	"context"
	"maps"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// firstTurn reads the first of the turns at a key.
func firstTurn() *options.FindOneOptionsBuilder {
	return options.FindOne().SetSort(bson.D{{Key: "place", Value: 1}, {Key: "_id", Value: 1}}).SetProjection(waiterFields)
}

var waiterFields = bson.D{{Key: "state", Value: 1}, {Key: "blocked_on", Value: 1}, {Key: "queue", Value: 1}}

// Wake only looks at what is there: whoever frees a slot, leaves a place or parks
// a job calls it after that write, so of two such calls the later one sees both.
func (s *store) Wake(ctx context.Context, keys []string) (woken driven.Woken, err error) {
	err = s.bounded(ctx, "wake", func(ctx context.Context, now int64) error {
		keys := slices.Compact(slices.Sorted(slices.Values(keys)))
		slots, err := s.takenSlots(ctx, keys, now)
		if err != nil {
			return err
		}
		taken := map[string]int{}
		for i := range slots {
			taken[slots[i].Bound]++
		}
		allowed, err := s.allowed(ctx, keys)
		if err != nil {
			return err
		}
		var free []row
		for _, of := range keys {
			some, err := s.startable(ctx, of, allowed[of], taken[of])
			if err != nil {
				return err
			}
			free = append(free, some...)
		}
		woken, err = s.ready(ctx, free)
		return err
	})
	return woken, err
}

// startable lists the blocked jobs of a key that may try again. Of a turn it is
// the first in place alone, if it waits for this very key: any other would come
// back without its turn, again and again.
func (s *store) startable(ctx context.Context, of string, allowed, taken int) ([]row, error) {
	k, ok := domain.ParseBoundKey(of)
	switch {
	case !ok:
		return nil, nil
	case !k.Sort.Turns():
		return s.waiters(ctx, bson.E{Key: "blocked_on", Value: of}, turn, min(allowed-taken, writeBound))
	case taken > 0:
		return nil, nil
	}
	first, err := s.head(ctx, of)
	if err != nil || first == nil || first.State != domain.Blocked || first.BlockedOn != of {
		return nil, err
	}
	return []row{*first}, nil
}

// waiters reads the first blocked jobs that wait for a key, or keys.
func (s *store) waiters(ctx context.Context, on bson.E, order bson.D, n int, more ...bson.E) ([]row, error) {
	if n <= 0 {
		return nil, nil
	}
	filter := append(bson.D{{Key: "state", Value: domain.Blocked}, on}, more...)
	opts := options.Find().SetLimit(int64(n)).SetBatchSize(int32(min(n, writeBound))).SetProjection(waiterFields)
	if order != nil {
		opts.SetSort(order)
	}
	return readAll(ctx, s.jobs, filter, opts)
}

// ready makes blocked jobs ready that still wait for what they waited for.
func (s *store) ready(ctx context.Context, rows []row) (woken driven.Woken, err error) {
	mark := newMark()
	var ch change
	ch.put("state", domain.Ready)
	ch.put("mark", mark)
	ch.drop("blocked_on")
	writes := make([]mongo.WriteModel, len(rows))
	for i := range rows {
		filter := bson.D{{Key: "_id", Value: rows[i].ID}, {Key: "state", Value: domain.Blocked}, {Key: "blocked_on", Value: rows[i].BlockedOn}}
		writes[i] = mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(ch.update())
	}
	t, err := s.bulk(ctx, s.jobs, writes)
	if err == nil {
		err = t.contended // the call is made again for those that are left
	}
	if err != nil {
		return woken, err
	}
	done, err := s.written(ctx, t, idsOf(rows), mark)
	queues := map[string]bool{}
	for i := range rows {
		if done[rows[i].ID] {
			woken.Jobs++
			queues[rows[i].Queue] = true
		}
	}
	woken.Queues = slices.Sorted(maps.Keys(queues))
	return woken, err
}

// Loosen looks at the lines of every group that a kind declares, or did.
func (s *store) Loosen(ctx context.Context, r driven.LoosenRequest) (answer driven.Loosened, err error) {
	limit := max(r.Limit, 0)
	err = s.bounded(ctx, "loosen", func(ctx context.Context, _ int64) error {
		kinds, err := s.readDeclared(ctx, bson.D{{Key: "kind", Value: bson.D{{Key: "$gt", Value: ""}}}}, options.Find())
		if err != nil {
			return err
		}
		groups := map[domain.Declaration][]string{} // kinds of each
		for _, k := range kinds {
			group := domain.Declaration{Sort: k.Sort, Group: k.Group}
			if groups[group] == nil {
				groups[group] = []string{}
			}
			if k.Off == 0 {
				groups[group] = append(groups[group], k.Kind)
			}
		}
		var free []row
		for group, kinds := range groups {
			some, err := s.strangers(ctx, group, kinds, r.Depth, limit+1-len(free))
			if err != nil {
				return err
			}
			if free = append(free, some...); len(free) > limit {
				break
			}
		}
		answer.More = len(free) > limit
		answer.Woken, err = s.ready(ctx, free[:min(len(free), limit)])
		return err
	})
	return answer, err
}

// strangers finds, among the first who wait in a group, jobs of other kinds than its own.
func (s *store) strangers(ctx context.Context, group domain.Declaration, kinds []string, depth, limit int) (found []row, err error) {
	low, high := group.Range()
	keys := bson.D{{Key: "$gte", Value: low}, {Key: "$lt", Value: high}}
	if depth == 0 {
		depth = math.MaxInt32
	}
	cursor, err := s.jobs.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "state", Value: domain.Blocked}, {Key: "blocked_on", Value: keys}}}},
		{{Key: "$sort", Value: append(bson.D{{Key: "blocked_on", Value: 1}}, turn...)}},
		{{Key: "$limit", Value: depth}},
		{{Key: "$match", Value: bson.D{{Key: "kind", Value: bson.D{{Key: "$nin", Value: kinds}}}}}},
		{{Key: "$limit", Value: limit}},
		{{Key: "$project", Value: waiterFields}},
	})
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &found)
	return found, err
}
