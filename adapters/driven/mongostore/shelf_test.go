package mongostore_test

import (
	"context"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/test/servers"
)

// tooMany documents are dropped with their database: what a server keeps of them
// would make it slow for those who come after.
const tooMany = 1000

// shelf keeps installed databases for the cases of one test: to build the indexes
// takes a server longer than most cases do. A case has one for itself alone, and
// empty: whatever it left is removed, and what it changed is put right.
type shelf struct {
	test   testing.TB // which drops them all in the end
	client *mongo.Client

	mu   sync.Mutex
	free []string
}

func newShelf(t testing.TB) *shelf {
	t.Helper()
	return &shelf{test: t, client: connect(t, servers.Mongo(t))}
}

// take gives the URI of a database until the test ends.
func (s *shelf) take(t testing.TB) string {
	t.Helper()
	uri := s.next()
	if uri == "" {
		uri = servers.Mongo(s.test)
		b, err := mongostore.FromClient(t.Context(), s.client, mongostore.Config{Database: database(t, uri)})
		if err == nil {
			_, err = b.Schema.Up(t.Context(), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		n, err := s.clear(context.WithoutCancel(t.Context()), database(t, uri))
		if err != nil {
			t.Errorf("the database is not empty again: %v", err)
		}
		if err == nil && n <= tooMany && !t.Failed() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.free = append(s.free, uri)
		}
	})
	return uri
}

func (s *shelf) next() (uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		uri, s.free = s.free[n-1], s.free[:n-1]
	}
	return uri
}

// clear empties the store's collections, drops those of others, and says how many
// documents there were.
func (s *shelf) clear(ctx context.Context, name string) (n int64, err error) {
	db := s.client.Database(name)
	names, err := db.ListCollectionNames(ctx, bson.D{})
	for _, one := range names {
		c := db.Collection(one)
		switch one {
		case "rowlock_migrations":
		case "rowlock_jobs", "rowlock_bounds", "rowlock_slots", "rowlock_runners", "rowlock_hints", "rowlock_batches", "rowlock_schedules", "rowlock_switches":
			var gone *mongo.DeleteResult
			if gone, err = c.DeleteMany(ctx, bson.D{}); err == nil {
				n += gone.DeletedCount
			}
		default:
			err = c.Drop(ctx)
		}
		if err != nil {
			return n, err
		}
	}
	return n, err
}
