package storekit

import (
	"errors"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

var ids = system.IDs()

// Jobs makes n jobs of one queue, "q", and kind, "k".
func Jobs(n int) []domain.NewJob {
	out := make([]domain.NewJob, n)
	for i := range out {
		out[i] = domain.NewJob{ID: ids.NewJobID(), Kind: "k", Queue: "q", Args: []byte(`{}`)}
	}
	return out
}

// Request asks for such jobs, under a fresh token and a lease of a minute.
func Request(n int) driven.ClaimRequest {
	return driven.ClaimRequest{Token: ids.NewToken(), Runner: "r", Lease: time.Minute, Queue: "q", Kinds: []string{"k"}, N: n}
}

// Add inserts n jobs.
func Add(t testing.TB, b driven.Backend, n int) []domain.NewJob {
	t.Helper()
	in := Jobs(n)
	if _, err := b.Store.Insert(t.Context(), in); err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	return in
}

// Claim claims at most n of them.
func Claim(t testing.TB, b driven.Backend, n int) []driven.Claimed {
	t.Helper()
	got, err := b.Store.Claim(t.Context(), Request(n))
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	return got.Jobs
}

// Running inserts and claims one job, and gives the outcome that would end it.
// What others left due is claimed before, so that the job is the new one.
func Running(t testing.TB, b driven.Backend) (domain.JobID, []driven.Outcome) {
	t.Helper()
	Claim(t, b, 1000)
	Add(t, b, 1)
	got := Claim(t, b, 1)
	if len(got) != 1 {
		t.Fatal("the job is not claimed")
	}
	return got[0].Job.ID, []driven.Outcome{{Ticket: got[0].Ticket(), To: domain.Done, Counts: true, Keep: time.Hour}}
}
