package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// holderFields are what is looked at of who holds a unique key.
var holderFields = bson.D{
	{Key: "unique_lock", Value: 1},
	{Key: "window_lock", Value: 1},
	{Key: "state", Value: 1},
	{Key: "turn", Value: 1},
	{Key: "keys", Value: 1},
}

// holders looks up who has the ids and keys that the rows want.
func (s *store) holders(ctx context.Context, in *intake) (h holders, err error) {
	h = holders{ids: map[key]bool{}, locks: map[string]*row{}}
	for _, part := range chunks(in.rows, small) {
		rows, err := readAll(ctx, s.jobs, bson.D{among(idsOf(part))}, onlyIDs())
		if err != nil {
			return h, err
		}
		for i := range rows {
			h.ids[rows[i].ID] = true
		}
		var locks []string
		for i := range part {
			if lock := part[i].lock(); lock != "" {
				locks = append(locks, lock)
			}
		}
		if err := s.locks(ctx, locks, h.locks); err != nil {
			return h, err
		}
	}
	return h, nil
}

// locks adds who holds the unique keys.
func (s *store) locks(ctx context.Context, locks []string, to map[string]*row) error {
	byField := map[string][]string{}
	for _, lock := range locks {
		byField[lockField(lock)] = append(byField[lockField(lock)], lock)
	}
	for _, field := range []string{"unique_lock", "window_lock"} {
		if len(byField[field]) == 0 {
			continue
		}
		filter := bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: byField[field]}}}}
		rows, err := readAll(ctx, s.jobs, filter, options.Find().SetBatchSize(writeBound).SetProjection(holderFields))
		if err != nil {
			return err
		}
		for i := range rows {
			to[rows[i].lock()] = &rows[i]
		}
	}
	return nil
}
