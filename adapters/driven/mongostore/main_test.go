package mongostore_test

import (
	"context"
	"flag"
	"net/url"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/ports/driven"
)

// atOnce is how many cases run at once, where -parallel does not say it: they wait
// for a server, and for the driver's own pauses after a broken connection.
const atOnce = "6"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// open opens a store that is closed when the test ends.
func open(t testing.TB, cfg mongostore.Config) driven.Backend {
	t.Helper()
	b, err := mongostore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// opened opens a store and installs it.
func opened(t testing.TB, cfg mongostore.Config) driven.Backend {
	t.Helper()
	b := open(t, cfg)
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// connect is a client of the test's own.
func connect(t testing.TB, uri string, more ...func(*options.ClientOptions)) *mongo.Client {
	t.Helper()
	opts := options.Client().ApplyURI(uri)
	for _, set := range more {
		set(opts)
	}
	client, err := mongo.Connect(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	return client
}

// watching sees the name of every command before it is sent.
func watching(see func(context.Context, string)) func(*options.ClientOptions) {
	return func(o *options.ClientOptions) {
		o.SetMonitor(&event.CommandMonitor{Started: func(ctx context.Context, e *event.CommandStartedEvent) { see(ctx, e.CommandName) }})
	}
}

func named(name string) *options.IndexOptionsBuilder { return options.Index().SetName(name) }

// database is the one that the URI names.
func database(t testing.TB, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}
