package storekit

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Complete checks that every step is recorded and that a job can be run.
func Complete(t *testing.T, b driven.Backend) {
	t.Helper()
	steps, err := b.Schema.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.AppliedAt.IsZero() {
			t.Errorf("step %d is not recorded", s.Number)
		}
	}
	Running(t, b)
	if err := b.Store.Beat(t.Context(), domain.RunnerInfo{ID: "r"}, time.Hour); err != nil {
		t.Error(err)
	}
}
