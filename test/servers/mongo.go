package servers

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Mongo returns the URI of a fresh MongoDB database, named in its path. The
// server makes it with the first write.
func Mongo(t testing.TB, opts ...Option) string {
	t.Helper()
	given := lookup(t, "mongo")
	name := uniqueName(t)
	uri := inDatabase(t, given, name)
	t.Cleanup(func() { dropMongo(t, given, name) })
	return With(uri, opts...)
}

// inDatabase is the URI with another database. The path also names the one that
// a user is known in, so that is said apart.
func inDatabase(t testing.TB, uri, name string) string {
	t.Helper()
	u := parse(t, uri, "mongodb", "mongodb+srv")
	if query := u.Query(); u.User != nil && query.Get("authSource") == "" {
		query.Set("authSource", cmp.Or(strings.TrimPrefix(u.Path, "/"), "admin"))
		u.RawQuery = query.Encode()
	}
	u.Path = "/" + name
	return u.String()
}

func dropMongo(t testing.TB, uri, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err == nil {
		err = client.Database(name).Drop(ctx)
		_ = client.Disconnect(ctx)
	}
	if err != nil {
		t.Errorf("the test's database %s cannot be dropped: %v", name, err)
	}
}
