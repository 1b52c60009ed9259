package mongostore_test

import (
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/servers"
)

// TestConformance is the store on a database of its own.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB) conformance.Harness {
		clock := conformance.NewClock()
		cfg := mongostore.Config{URI: servers.Mongo(t), Now: clock.Now}
		return conformance.Harness{
			Backend: opened(t, cfg),
			Advance: clock.Advance,
			Again:   func(t testing.TB) driven.Backend { return open(t, cfg) },
			Bare: func(t testing.TB) func() driven.Backend {
				bare := mongostore.Config{URI: servers.Mongo(t), Now: clock.Now}
				return func() driven.Backend { return open(t, bare) }
			},
		}
	})
}
