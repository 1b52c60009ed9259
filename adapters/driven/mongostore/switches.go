package mongostore

import (
	"context"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
)

// switchesStep is the step of the schema that brings them.
const switchesStep = 6

// off is the document of what is paused.
type off struct {
	ID    string            `bson:"_id"` // of sort and name
	Sort  domain.SwitchSort `bson:"sort"`
	Name  string            `bson:"name"`
	Since int64             `bson:"since"`
}

func switchID(x domain.Switch) bson.D {
	return bson.D{{Key: "_id", Value: strconv.Itoa(int(x.Sort)) + ":" + x.Name}}
}

func (s *store) switches() *mongo.Collection { return s.db.Collection(s.prefix + "switches") }

// switched is do for what needs the collection of switches.
func (s *store) switched(ctx context.Context, op string, work func(ctx context.Context, now int64) error) error {
	return s.call(ctx, op, switchesStep, func(ctx context.Context) error { return s.timed(ctx, work) })
}

// Pause leaves the document of one that is paused already as it is.
func (s *store) Pause(ctx context.Context, x domain.Switch) error {
	return s.switched(ctx, "pause", func(ctx context.Context, now int64) error {
		fresh := bson.D{{Key: "sort", Value: int(x.Sort)}, {Key: "name", Value: x.Name}, {Key: "since", Value: now}}
		_, err := s.switches().UpdateOne(ctx, switchID(x), bson.D{{Key: "$setOnInsert", Value: fresh}}, options.UpdateOne().SetUpsert(true))
		if mongo.IsDuplicateKeyError(err) { // paused by another at this moment
			return nil
		}
		return err
	})
}

// Resume removes the document.
func (s *store) Resume(ctx context.Context, x domain.Switch) error {
	return s.switched(ctx, "resume", func(ctx context.Context, _ int64) error {
		_, err := s.switches().DeleteOne(ctx, switchID(x))
		return err
	})
}

// Paused lists the documents, of which there are few.
func (s *store) Paused(ctx context.Context, limit int) (all []domain.Paused, err error) {
	err = s.switched(ctx, "list paused", func(ctx context.Context, _ int64) error {
		if limit <= 0 {
			return nil
		}
		cursor, err := s.switches().Find(ctx, bson.D{},
			options.Find().SetSort(bson.D{{Key: "sort", Value: 1}, {Key: "name", Value: 1}}).SetLimit(int64(limit)))
		if err != nil {
			return err
		}
		var found []off
		err = cursor.All(ctx, &found)
		for _, x := range found {
			all = append(all, domain.Paused{Switch: domain.Switch{Sort: x.Sort, Name: x.Name}, Since: at(x.Since)})
		}
		return err
	})
	return all, err
}
