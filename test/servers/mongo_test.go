package servers

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func dial(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	return client
}

// named is the database of a URI that has no user.
func named(uri string) string {
	_, path, _ := strings.Cut(strings.TrimPrefix(uri, "mongodb://"), "/")
	name, _, _ := strings.Cut(path, "?")
	return name
}

func TestMongoIsolatedAndDropped(t *testing.T) {
	watch := dial(t, Mongo(t))
	var one, two string
	t.Run("inner", func(t *testing.T) {
		for _, name := range []*string{&one, &two} {
			uri := Mongo(t)
			*name = named(uri)
			if _, err := dial(t, uri).Database(*name).Collection("things").InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}}); err != nil {
				t.Fatal(err)
			}
		}
	})
	left, err := watch.ListDatabaseNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	if one == two || slices.Contains(left, one) || slices.Contains(left, two) {
		t.Errorf("%s and %s were made, %v are left", one, two, left)
	}
}

// The database in the path of a given URI is where its user is known; that stays so.
func TestMongoKeepsTheUsersDatabase(t *testing.T) {
	for given, want := range map[string]string{
		"mongodb://u:p@h:1/accounts":                  "authSource=accounts",
		"mongodb://u:p@h:1/":                          "authSource=admin",
		"mongodb://u:p@h:1/accounts?authSource=other": "authSource=other",
	} {
		if got := inDatabase(t, given, "fresh"); !strings.Contains(got, "/fresh?") || !strings.Contains(got, want) {
			t.Errorf("%s became %s, want %s", given, got, want)
		}
	}
	if got := inDatabase(t, "mongodb://h:1/accounts", "fresh"); got != "mongodb://h:1/fresh" {
		t.Errorf("without a user: %s", got)
	}
}
