package mongostore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/rowlock/rowlock/domain"
)

// Index builds of several processes at once may wait for each other; a
// compatible server answers that with an InternalError, to one of them each time.
const (
	buildTries = 20
	buildPause = 20 * time.Millisecond // doubled each time, up to buildMost
	buildMost  = 2 * time.Second
)

// run does one command of a step. What is done already is no fault, so that a
// step may be run again by anybody at any time.
func (s *store) run(ctx context.Context, command bson.D) error {
	if command[0].Key == "createIndexes" {
		return s.build(ctx, command)
	}
	err := s.db.RunCommand(ctx, command).Err()
	if has(err, namespaceExists, namespaceNotFound, indexNotFound) {
		return nil
	}
	return err
}

// build creates the indexes that are not there and replaces those that stand in
// their way, left with other options.
func (s *store) build(ctx context.Context, command bson.D) error {
	collection := s.db.Collection(fmt.Sprint(command[0].Value))
	wanted, _ := field(command, "indexes").(bson.A)
	wait := buildPause
	for try := 1; ; try++ {
		absent, err := s.absent(ctx, collection, wanted)
		for i := 0; i < len(absent) && err == nil; i++ { // each by itself: the less is lost to another's
			err = s.db.RunCommand(ctx, bson.D{command[0], {Key: "indexes", Value: absent[i : i+1]}}).Err()
		}
		if err == nil || try == buildTries || !crossed(err) {
			return err
		}
		if err := pause(ctx, rand.N(wait)); err != nil {
			return err
		}
		wait = min(2*wait, buildMost)
	}
}

// crossed says that an index build met that of another process.
func crossed(err error) bool {
	code, _ := codeOf(err)
	return code == domain.Contended || has(err, internalError, indexOptionsDiffer, indexKeysDiffer, indexNotFound)
}

func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// absent gives those of the wanted indexes that are not there as they should be.
// What is there under the name or the key of one, and differs, is dropped.
func (s *store) absent(ctx context.Context, collection *mongo.Collection, wanted bson.A) (absent bson.A, err error) {
	cursor, err := collection.Indexes().List(ctx)
	if err != nil {
		return nil, err
	}
	var there []bson.D
	if err := cursor.All(ctx, &there); err != nil {
		return nil, err
	}
	for _, one := range wanted {
		index, _ := one.(bson.D)
		found := false
		for _, old := range there {
			switch {
			case same(old, index, "name", "key", "unique", "partialFilterExpression"):
				found = true
			case same(old, index, "name"), same(old, index, "key"):
				if err := collection.Indexes().DropOne(ctx, fmt.Sprint(field(old, "name"))); err != nil {
					return nil, err
				}
			}
		}
		if !found {
			absent = append(absent, index)
		}
	}
	return absent, nil
}

// same compares fields of two indexes by their text, whatever the widths of the numbers are.
func same(a, b bson.D, fields ...string) bool {
	for _, name := range fields {
		if canonical(field(a, name)) != canonical(field(b, name)) {
			return false
		}
	}
	return true
}

func canonical(value any) string {
	if value == false { // is the same as absent
		value = nil
	}
	text, err := bson.MarshalExtJSON(bson.D{{Key: "v", Value: value}}, false, false)
	if err != nil {
		return ""
	}
	return string(text)
}

func field(d bson.D, name string) any {
	for _, e := range d {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}
