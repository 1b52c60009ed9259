package memstore

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// BenchmarkClaimAndSettle works a full queue that stands behind 100,000 jobs of
// another kind and beside 100,000 scheduled ones.
func BenchmarkClaimAndSettle(b *testing.B) {
	s := open(b)
	const crowd, batch = 100_000, 100
	for _, change := range []func(*domain.NewJob){
		func(n *domain.NewJob) { n.Kind, n.Priority = "foreign", -1 },
		func(n *domain.NewJob) { n.Due.After = time.Hour },
		func(n *domain.NewJob) {},
	} {
		jobs := make([]domain.NewJob, crowd)
		for i := range jobs {
			jobs[i] = s.job()
			change(&jobs[i])
		}
		s.add(jobs...)
	}
	for b.Loop() {
		claims := s.claim(batch)
		outcomes := make([]driven.Outcome, len(claims.Jobs))
		for i, c := range claims.Jobs {
			outcomes[i] = driven.Outcome{Ticket: c.Ticket(), To: domain.Ready}
		}
		if _, err := s.Settle(b.Context(), outcomes); err != nil || len(claims.Jobs) != batch {
			b.Fatalf("%d claimed: %v", len(claims.Jobs), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/job")
}
