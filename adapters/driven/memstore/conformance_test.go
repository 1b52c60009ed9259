package memstore_test

import (
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/test/conformance"
)

func TestConformance(t *testing.T) { conformance.Run(t, open) }

func TestLifecycle(t *testing.T) {
	conformance.RunLifecycle(t, open, system.Clock(), system.IDs())
}

func open(t testing.TB) conformance.Harness {
	clock := conformance.NewClock()
	backend, err := memstore.Open(memstore.Config{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return conformance.Harness{
		Backend: backend,
		Advance: clock.Advance,
		Begin: func(t testing.TB) conformance.HostTx {
			tx, err := memstore.Begin(backend)
			if err != nil {
				t.Fatal(err)
			}
			return conformance.HostTx{Tx: tx, Commit: tx.Commit, Rollback: tx.Rollback}
		},
	}
}
