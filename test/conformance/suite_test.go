package conformance

import (
	"fmt"
	"strings"
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

// TestCapabilityWithoutHarness: what a backend can do is never left untested in silence.
func TestCapabilityWithoutHarness(t *testing.T) {
	schema := struct{ driven.Migrator }{}
	for _, k := range []struct {
		category string
		harness  Harness
		fails    bool
		says     string
	}{
		{"hosttx", Harness{Backend: driven.Backend{Tx: atOnce{}}}, true, "set Harness.Begin"},
		{"hosttx", Harness{Backend: driven.Backend{Tx: atOnce{}}, Begin: func(testing.TB) HostTx { return HostTx{} }}, false, ""},
		{"hosttx", Harness{Backend: driven.Backend{Name: "plain"}}, false, "plain has no such capability"},
		{"migrate", Harness{Backend: driven.Backend{Schema: schema}}, true, "set Harness.Bare"},
		{"claim", Harness{}, false, ""},
	} {
		for _, cat := range categories() {
			if cat.name != k.category {
				continue
			}
			failed, said := record(t, func(r *recorder) { cat.judge(r, k.harness) })
			if failed != k.fails || !strings.Contains(fmt.Sprint(said), k.says) {
				t.Errorf("%s: failed %v, said %q", k.category, failed, said)
			}
		}
	}
}

// TestExceptNeedsAReason: an exception is of a case that exists, has a reason, and is printed.
func TestExceptNeedsAReason(t *testing.T) {
	for _, k := range []struct {
		name, reason string
		fails        bool
	}{
		{"claim/queues", "no loose scan, see issue 7", false},
		{"notify", "not yet", false},
		{"claim/queues", " ", true},
		{"claim/no-such-case", "a reason", true},
	} {
		failed, said := record(t, func(r *recorder) {
			newSettings(r, []Option{Except(k.name, k.reason)}).skipExcepted(r, k.name)
			r.Fatal("the case was not left out")
		})
		if failed != k.fails || !k.fails && !strings.Contains(fmt.Sprint(said), k.reason) {
			t.Errorf("except %q for %q: failed %v, said %q", k.name, k.reason, failed, said)
		}
	}
}

// TestLifecycle drives the services over the reference store.
func TestLifecycle(t *testing.T) { RunLifecycle(t, memory, system.Clock(), system.IDs()) }

func TestLifecycleInRealTime(t *testing.T) {
	RunLifecycle(t, func(t testing.TB) driven.Backend {
		return openMemory(t, memstore.Config{Now: system.Clock().Now})
	}, system.Clock(), system.IDs())
}
