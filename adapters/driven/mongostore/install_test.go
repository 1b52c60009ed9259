package mongostore_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/test/servers"
)

// indexes lists a collection's indexes by name.
func indexes(t *testing.T, c *mongo.Collection) map[string]bson.M {
	t.Helper()
	cursor, err := c.Indexes().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []bson.M
	if err := cursor.All(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	byName := map[string]bson.M{}
	for _, one := range all {
		byName[one["name"].(string)] = one
	}
	return byName
}

// An index that was left with other options, or under another name, is replaced;
// the others stay as they are.
func TestInstallReplacesIndexesLeftWithOtherOptions(t *testing.T) {
	t.Parallel()
	uri := servers.Mongo(t)
	b := open(t, mongostore.Config{URI: uri})
	jobs := connect(t, uri).Database(database(t, uri)).Collection("rowlock_jobs")
	for _, left := range []mongo.IndexModel{
		{Keys: bson.D{{Key: "unique_lock", Value: 1}}, Options: named("unique")},                         // not unique
		{Keys: bson.D{{Key: "tenant", Value: 1}}, Options: named("tenant")},                              // another key
		{Keys: bson.D{{Key: "state", Value: 1}, {Key: "wake_at", Value: 1}}, Options: named("old_wake")}, // another name
		{Keys: bson.D{{Key: "mine", Value: 1}}, Options: named("host_own")},
	} {
		if _, err := jobs.Indexes().CreateOne(t.Context(), left); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := b.Schema.Up(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		got := indexes(t, jobs)
		for _, name := range []string{"ready", "wake", "later", "blocked", "unique", "windows", "todo", "batch", "tenant", "dead", "turns", "chains", "fair", "host_own"} {
			if got[name] == nil {
				t.Errorf("index %s is not there", name)
			}
		}
		if got["old_wake"] != nil || got["unique"]["unique"] != true || len(got) != 15 {
			t.Errorf("indexes: %v", got)
		}
	}
}

// What is installed right is not built again.
func TestInstallAgainBuildsNothing(t *testing.T) {
	t.Parallel()
	uri := servers.Mongo(t)
	var built []string
	client := connect(t, uri, watching(func(_ context.Context, command string) { built = append(built, command) }))
	b, err := mongostore.FromClient(t.Context(), client, mongostore.Config{Database: database(t, uri)})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		built = nil
		if _, err := b.Schema.Up(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, command := range built {
			if command == "createIndexes" || command == "dropIndexes" {
				n++
			}
		}
		if want := 25 * (1 - round); n != want {
			t.Errorf("round %d built or dropped %d times, want %d: %v", round, n, want, built)
		}
	}
}
