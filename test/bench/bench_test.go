package bench_test

import (
	"flag"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/test/bench"
)

// memory opens the store in memory, whose figures are those of everything but a database.
func memory(b *testing.B) bench.Kit {
	backend, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := backend.Close(); err != nil {
			b.Error(err)
		}
	})
	return bench.Kit{Backend: backend, IDs: system.IDs(), Clock: system.Clock()}
}

func BenchmarkEnqueue(b *testing.B)     { bench.Enqueue(b, memory) }
func BenchmarkEnqueueMany(b *testing.B) { bench.EnqueueMany(b, memory) }
func BenchmarkWork(b *testing.B)        { bench.Work(b, memory) }
func BenchmarkPrune(b *testing.B)       { bench.Prune(b, memory) }

// TestBenchmarksRun keeps them from rotting between two measurements.
func TestBenchmarksRun(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime").Value
	defer func(was string) { _ = benchtime.Set(was) }(benchtime.String())
	if err := benchtime.Set("2500x"); err != nil {
		t.Fatal(err)
	}
	for name, fn := range map[string]func(*testing.B, bench.Factory){"Enqueue": bench.Enqueue, "EnqueueMany": bench.EnqueueMany, "Work": bench.Work} {
		r := testing.Benchmark(func(b *testing.B) { fn(b, memory) })
		if r.N == 0 {
			t.Errorf("%s failed", name)
		}
		if cost, ok := r.Extra["cpu-us/job"]; !ok || cost < 0 {
			t.Errorf("%s reports no cost: %v", name, r)
		}
	}
	r := testing.Benchmark(func(b *testing.B) { bench.Prune(b, memory) })
	if r.Extra["ratio"] <= 0 || r.Extra["pruned/job"] <= 0 {
		t.Errorf("Prune reports %v", r)
	}
}
