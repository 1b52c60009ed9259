package conformance

import (
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/ports/driven"
)

// memory is the store by which the suite is judged.
func memory(t testing.TB) Harness {
	clock := NewClock()
	b := openMemory(t, memstore.Config{Now: clock.Now})
	return Harness{Backend: b, Advance: clock.Advance, Begin: beginMemory(b)}
}

func openMemory(t testing.TB, cfg memstore.Config) driven.Backend {
	t.Helper()
	b, err := memstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func beginMemory(b driven.Backend) func(testing.TB) HostTx {
	return func(t testing.TB) HostTx {
		tx, err := memstore.Begin(b)
		if err != nil {
			t.Fatal(err)
		}
		return HostTx{Tx: tx, Commit: tx.Commit, Rollback: tx.Rollback}
	}
}

// TestReference runs the suite with a test clock.
func TestReference(t *testing.T) { Run(t, memory) }

// TestReferenceInRealTime runs it with short real leases and waits.
func TestReferenceInRealTime(t *testing.T) {
	Run(t, func(t testing.TB) driven.Backend {
		b := openMemory(t, memstore.Config{Now: system.Clock().Now})
		b.Tx = nil // without its harness field it would fail, as it should
		return b
	})
}
