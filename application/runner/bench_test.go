package runner_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
)

// cpu is the processor time of this process.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWork is the whole way of no-op jobs through the runner over the
// memory store. The metric cpu-us/job is processor time, the store's part too.
func BenchmarkWork(b *testing.B) {
	for _, workers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) { benchWork(b, workers) })
	}
}

func benchWork(b *testing.B, workers int) {
	const jobs = 20_000
	ids := system.IDs()
	rows := make([]domain.NewJob, jobs)
	var used time.Duration
	b.ReportAllocs()
	for range b.N {
		b.StopTimer()
		backend, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
		if err != nil {
			b.Fatal(err)
		}
		for i := range rows {
			rows[i] = domain.NewJob{ID: ids.NewJobID(), Kind: "nop", Queue: "default", Args: []byte(`{"n":1}`)}
		}
		if _, err := backend.Store.Insert(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
		registry := work.NewRegistry()
		if err := registry.AddBuiltin(nop{}); err != nil {
			b.Fatal(err)
		}
		r, err := runner.New(runner.Config{Queues: runner.Queues{"default": workers}}, runner.Deps{
			Store: backend.Store, Registry: registry, IDs: ids, Clock: system.Clock(),
		})
		if err != nil {
			b.Fatal(err)
		}
		before := cpu(b)
		b.StartTimer()
		got, err := r.Drain(b.Context(), drainAll)
		b.StopTimer()
		used += cpu(b) - before
		if err != nil || got.Completed != jobs {
			b.Fatalf("%+v, %v", got, err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(used.Microseconds())/float64(b.N*jobs), "cpu-us/job")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*jobs), "us/job")
}
