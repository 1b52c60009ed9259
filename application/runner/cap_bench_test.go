package runner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/work"
)

// BenchmarkCap compares a limit that is as large as the runner's concurrency with
// none, over the memory store: what the bookkeeping costs.
func BenchmarkCap(b *testing.B) {
	for _, run := range []time.Duration{0, 5 * time.Millisecond} {
		for _, capped := range []bool{false, true} {
			b.Run(fmt.Sprintf("run=%v/capped=%v", run, capped), func(b *testing.B) {
				const jobs, workers = 5000, 10
				var opts []work.Option
				if capped {
					opts = append(opts, limited(workers))
				}
				var used time.Duration
				for range b.N {
					before := cpu(b)
					rush(b, 0, run, jobs, workers, opts...)
					used += cpu(b) - before
				}
				b.ReportMetric(float64(used.Microseconds())/float64(b.N*jobs), "cpu-us/job")
				b.ReportMetric(float64(b.N*jobs)/b.Elapsed().Seconds(), "jobs/s")
			})
		}
	}
}
