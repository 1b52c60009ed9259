package mongostore_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
)

// TestConformance is the store on a client of the host's, whose connections the
// suite breaks between any two commands.
func TestConformance(t *testing.T) {
	all := newShelf(t)
	conformance.Run(t, func(t testing.TB) conformance.Harness {
		wait := "10000"
		if strings.Contains(t.Name(), "/faults/") { // where the server is away on purpose
			wait = "1000" // twice what the driver lets pass between two looks at a server
		}
		uri := servers.With(all.take(t), servers.Param("serverSelectionTimeoutMS", wait))
		clock, plan := conformance.NewClock(), faults.NewPlan()
		h := harness(t, mongostore.Config{URI: uri, Now: clock.Now}, func(o *options.ClientOptions) { o.SetDialer(faults.Dialer{Plan: plan}) })
		h.Advance, h.Faults = clock.Advance, plan
		return h
	})
}

// TestConformanceOnASet is what a replica set adds and what it does otherwise,
// over a server that plays one.
func TestConformanceOnASet(t *testing.T) {
	opts := except("the commands are those of a stand-alone server, where TestConformance shows it",
		"claim", "order", "fair", "settle", "lease", "recover", "edit", "find", "prune", "runners", "errors", "identity", "time", "payload", "tenancy", "model",
		"bulk/settle", "bulk/edit", "bulk/recover", "concurrency/claim", "concurrency/promote", "concurrency/settle", "concurrency/recover",
		"concurrency/renew", "concurrency/sweepers", "concurrency/cancel", "concurrency/retry", "concurrency/prune",
		"slot", "turn", "bound/many", "bound/interleave", "bound/keys", "bound/names", "bound/race", "bound/declared", "bound/apart",
		"failure", "batch/create", "batch/again", "batch/ends", "batch/once", "batch/callback", "batch/table", "batch/many", "batch/barrier", "batch/sweep",
		"batch/edited", "batch/retried", "batch/pruned", "batch/forgotten", "batch/find",
		"schedule/declare", "schedule/changed", "schedule/taken", "schedule/many", "schedule/race", "schedule/due", "schedule/paused", "schedule/kinds",
		"schedule/add", "schedule/resume", "schedule/delete", "schedule/find", "schedule/names")
	if os.Getenv("ROWLOCK_STRESS") != "1" {
		opts = append(opts, except("of its commands only the inserts are a set's, which insert, bulk and hosttx show; the long campaigns have it",
			"bound", "concurrency/everything", "bulk/stress", "migrate")...)
	}
	all := newShelf(t)
	conformance.Run(t, func(t testing.TB) conformance.Harness {
		clock := conformance.NewClock()
		_, uri := newSet(t, all.take(t))
		h := harness(t, mongostore.Config{URI: uri, Now: clock.Now})
		h.Advance = clock.Advance
		return h
	}, opts...)
}

// except leaves cases and categories out.
func except(why string, names ...string) []conformance.Option {
	opts := make([]conformance.Option, len(names))
	for i, name := range names {
		opts[i] = conformance.Except(name, why)
	}
	return opts
}

// TestLifecycle has the server's own clock.
func TestLifecycle(t *testing.T) {
	all := newShelf(t)
	conformance.RunLifecycle(t, func(t testing.TB) conformance.Harness {
		return harness(t, mongostore.Config{URI: all.take(t)})
	}, system.Clock(), system.IDs())
}

// harness is a store on a client of the test's own.
func harness(t testing.TB, cfg mongostore.Config, more ...func(*options.ClientOptions)) conformance.Harness {
	t.Helper()
	client := connect(t, cfg.URI, more...)
	cfg.Database = database(t, cfg.URI)
	b, err := mongostore.FromClient(t.Context(), client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	h := conformance.Harness{
		Backend: b,
		Again:   func(t testing.TB) driven.Backend { return open(t, cfg) },
		Bare: func(t testing.TB) func() driven.Backend {
			bare := cfg
			bare.CollectionPrefix = "bare_"
			return func() driven.Backend { return open(t, bare) }
		},
	}
	if b.Tx != nil {
		h.Begin = func(t testing.TB) conformance.HostTx { return begin(t, client) }
	}
	return h
}

func begin(t testing.TB, client *mongo.Client) conformance.HostTx {
	t.Helper()
	session, err := client.StartSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { session.EndSession(ctx) })
	return conformance.HostTx{
		Tx:       mongostore.Session(session),
		Commit:   func() error { return session.CommitTransaction(ctx) },
		Rollback: func() error { return session.AbortTransaction(ctx) },
	}
}
