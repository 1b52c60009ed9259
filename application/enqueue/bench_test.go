package enqueue_test

import (
	"context"
	"testing"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// sink takes rows and keeps none.
type sink struct {
	fake
	answer []driven.Inserted
}

func (s *sink) Insert(_ context.Context, rows []domain.NewJob) ([]driven.Inserted, error) {
	return s.answer[:len(rows)], nil
}

func BenchmarkEnqueueMany(b *testing.B) {
	s := &sink{answer: make([]driven.Inserted, 1000)}
	c := enqueue.New(enqueue.Config{Store: s, IDs: s, Clock: s})
	items := make([]enqueue.Item, 1000)
	for i := range items {
		items[i].Args = hello{Name: "somebody at some place in the world, with a longer text to carry", F: 1.5}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.EnqueueMany(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/job")
}
