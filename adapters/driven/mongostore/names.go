package mongostore

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
)

// Queues finds the names one after another, among ready documents and among
// scheduled ones, by one step down an index each.
func (s *store) Queues(ctx context.Context, after string, limit int) (names []string, err error) {
	err = s.look(ctx, "list queues", func(ctx context.Context) error {
		for _, state := range []domain.State{domain.Ready, domain.Scheduled} {
			some, err := s.names(ctx, "queue", bson.D{{Key: "state", Value: state}}, after, limit)
			if err != nil {
				return err
			}
			names = append(names, some...)
		}
		slices.Sort(names)
		names = slices.Compact(names)
		names = names[:min(len(names), max(limit, 0))]
		return nil
	})
	return names, err
}

// names lists the values of a field, in byte order, at most limit after the given
// one: a loose scan, which never walks the documents of one name.
func (s *store) names(ctx context.Context, field string, where bson.D, after string, limit int) (names []string, err error) {
	opts := options.FindOne().SetSort(bson.D{{Key: field, Value: 1}}).SetProjection(bson.D{{Key: field, Value: 1}, {Key: "_id", Value: 0}})
	for len(names) < limit {
		filter := append(slices.Clone(where), bson.E{Key: field, Value: bson.D{{Key: "$gt", Value: after}}})
		found := map[string]string{}
		err := s.jobs.FindOne(ctx, filter, opts).Decode(&found)
		if isNone(err) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		after = found[field]
		names = append(names, after)
	}
	return names, nil
}
