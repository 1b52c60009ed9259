package rowlock_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/test/servers"
)

// BenchmarkCap compares a limit that is as large as the worker's concurrency with
// none; an operation is a job, so give it some thousands: -benchtime 3000x.
func BenchmarkCap(b *testing.B) {
	stores := map[string]func(testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "q.db") },
		"postgres": func(t testing.TB) string { return servers.Postgres(t) },
		"mysql":    func(t testing.TB) string { return servers.URL(servers.MySQL(t)) },
	}
	for name, dsn := range stores {
		for _, run := range []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond} {
			for _, capped := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/run=%v/capped=%v", name, run, capped), func(b *testing.B) { benchCap(b, dsn, run, capped) })
			}
		}
	}
}

func benchCap(b *testing.B, dsn func(testing.TB) string, run time.Duration, capped bool) {
	const workers = 10
	items := make([]enqueue.Item, b.N)
	for i := range items {
		items[i] = enqueue.Item{Args: followUp{}}
	}
	opts := []work.Option{work.Timeout(time.Minute)}
	if capped {
		opts = append(opts, work.Limited(work.Limit{N: workers}))
	}
	q, err := rowlock.Open(b.Context(), dsn(b), rowlock.Migrate())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	rowlock.Handle(q, func(context.Context, work.Job[followUp]) error {
		if run > 0 {
			<-time.After(run)
		}
		return nil
	}, opts...)
	if _, err := q.EnqueueMany(b.Context(), items); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	got, err := q.Drain(b.Context(), rowlock.DrainOptions{}, rowlock.Concurrency(workers))
	b.StopTimer()
	if err != nil || got.Completed != b.N {
		b.Fatalf("%+v, %v", got, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
