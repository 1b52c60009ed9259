package mongostore_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
)

// TestConformance is the store on a database of its own.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB) conformance.Harness {
		clock := conformance.NewClock()
		h := harness(t, mongostore.Config{URI: servers.Mongo(t), Now: clock.Now})
		h.Advance = clock.Advance
		return h
	})
}

// TestConformanceBroken is the store on a client of the host's whose connections
// break between any two commands.
func TestConformanceBroken(t *testing.T) {
	conformance.Run(t, func(t testing.TB) conformance.Harness { return brokenHarness(t) })
}

// TestLifecycle has the server's own clock.
func TestLifecycle(t *testing.T) {
	conformance.RunLifecycle(t, func(t testing.TB) conformance.Harness {
		return harness(t, mongostore.Config{URI: servers.Mongo(t)})
	}, system.Clock(), system.IDs())
}

func harness(t testing.TB, cfg mongostore.Config) conformance.Harness {
	return conformance.Harness{
		Backend: opened(t, cfg),
		Again:   func(t testing.TB) driven.Backend { return open(t, cfg) },
		Bare: func(t testing.TB) func() driven.Backend {
			bare := mongostore.Config{URI: servers.Mongo(t), Now: cfg.Now}
			return func() driven.Backend { return open(t, bare) }
		},
	}
}

func brokenHarness(t testing.TB) conformance.Harness {
	t.Helper()
	clock, plan := conformance.NewClock(), faults.NewPlan()
	cfg := mongostore.Config{URI: servers.Mongo(t, servers.Param("serverSelectionTimeoutMS", "800")), Now: clock.Now}
	cfg.Database = database(t, cfg.URI)
	client := connect(t, cfg.URI, func(o *options.ClientOptions) { o.SetDialer(faults.Dialer{Plan: plan}) })
	b, err := mongostore.FromClient(t.Context(), client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	h := harness(t, cfg)
	h.Backend, h.Advance, h.Faults = b, clock.Advance, plan
	return h
}
