package storekit

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// EachState makes one job in each state that a store without bounds can make.
func EachState(t *testing.T, b driven.Backend) map[domain.JobID]domain.State {
	t.Helper()
	want := map[domain.JobID]domain.State{}
	for _, state := range []domain.State{domain.Done, domain.Dead, domain.Cancelled, domain.Scheduled} {
		id, out := Running(t, b)
		out[0].To, out[0].After = state, time.Hour
		if _, err := b.Store.Settle(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		want[id] = state
	}
	id, _ := Running(t, b)
	want[id] = domain.Running
	want[Add(t, b, 1)[0].ID] = domain.Ready
	return want
}

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
