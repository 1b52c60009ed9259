package pgstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// plansOfHolders are inserts that change who holds their keys.
func (x *explainer) plansOfHolders(t *testing.T, s *bunstore.Store) {
	ctx, ids := t.Context(), system.IDs()
	in := make([]domain.NewJob, batch)
	insert := func(how domain.OnConflict, want domain.Inserted) func() error {
		for i := range in {
			in[i] = domain.NewJob{ID: ids.NewJobID(), Kind: "new", Queue: "q3", Args: []byte(`{}`), Due: domain.Due{After: time.Hour}}
			in[i].Unique = &domain.Unique{Key: fmt.Sprint("held", i), OnConflict: how}
		}
		return func() error {
			got, err := s.Insert(ctx, in)
			for i := range got {
				if got[i].Result != want {
					t.Fatalf("answer %d is %v, want %v", i, got[i].Result, want)
				}
			}
			return err
		}
	}
	if _, err := x.db.ExecContext(ctx, "DELETE FROM rowlock_jobs WHERE queue = 'q3'"); err != nil {
		t.Fatal(err)
	}
	x.judge("insert or replace, all new", 2*batch, insert(domain.Replace, domain.InsertedNew))
	x.judge("insert or replace, all held", 4*batch, insert(domain.Replace, domain.Replaced))
	x.judge("insert or reschedule, all held", 5*batch, insert(domain.Reschedule, domain.Rescheduled))
	x.judge("insert or skip, all held", 3*batch, insert(domain.Skip, domain.Existing))
}

// plansOfFailures are deaths that a failure job goes with.
func (x *explainer) plansOfFailures(t *testing.T, s *bunstore.Store) {
	ctx, ids := t.Context(), system.IDs()
	got, err := s.Claim(ctx, driven.ClaimRequest{Token: ids.NewToken(), Runner: "r", Lease: time.Hour, Queue: "q", Kinds: []string{"k5"}, N: batch})
	if err != nil || len(got.Jobs) != batch {
		t.Fatalf("claimed %d jobs: %v", len(got.Jobs), err)
	}
	deaths := make([]driven.Outcome, batch)
	for i := range deaths {
		deaths[i] = driven.Outcome{Ticket: got.Jobs[i].Ticket(), To: domain.Dead, Counts: true, Error: "no", Keep: -1}
		deaths[i].Failure = &domain.NewJob{ID: ids.NewJobID(), Kind: "sorry", Queue: "q4", Args: []byte(`{}`)}
	}
	x.judge("bury with failure jobs", 6*batch, func() error { _, err := s.Settle(ctx, deaths); return err })
	x.judge("bury them again", 6*batch, func() error { _, err := s.Settle(ctx, deaths); return err })
	if _, err := x.db.ExecContext(ctx, "UPDATE rowlock_jobs SET wake_at = 1, failure_kind = 'sorry' WHERE id IN (SELECT id FROM rowlock_jobs WHERE state = 3 AND runner = 'other' LIMIT 100)"); err != nil {
		t.Fatal(err)
	}
	x.judge("recover to death", 6*batch, func() error {
		got, err := s.Recover(ctx, driven.RecoverRequest{Limit: batch, Except: "r", KeepDead: -1})
		if len(got.Jobs) != batch || got.Jobs[0].Failed.IsZero() {
			t.Errorf("recovered %d: %+v", len(got.Jobs), got.Jobs[:1])
		}
		return err
	})
	if _, err := x.db.ExecContext(ctx, "DELETE FROM rowlock_jobs WHERE state = 5"); err != nil {
		t.Fatal(err)
	}
}
