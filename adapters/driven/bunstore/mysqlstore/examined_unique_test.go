package mysqlstore

import (
	"fmt"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// holders are inserts that change who holds their keys.
func (x *examiner) holders() {
	ctx, s, ids := x.Context(), x.s, system.IDs()
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
					x.Fatalf("answer %d is %v, want %v", i, got[i].Result, want)
				}
			}
			return err
		}
	}
	x.exec("DELETE FROM rowlock_jobs WHERE queue = 'q3'")
	x.judge("insert or replace, all new", 8*batch, insert(domain.Replace, domain.InsertedNew))
	x.judge("insert or replace, all held", 16*batch, insert(domain.Replace, domain.Replaced))
	x.judge("insert or reschedule, held", 16*batch, insert(domain.Reschedule, domain.Rescheduled))
}

// deaths are those that a failure job goes with.
func (x *examiner) deaths() {
	ctx, s, ids := x.Context(), x.s, system.IDs()
	got, err := s.Claim(ctx, asking([]string{"k5"}, batch))
	if err != nil || len(got.Jobs) != batch {
		x.Fatalf("claimed %d jobs: %v", len(got.Jobs), err)
	}
	deaths := make([]driven.Outcome, batch)
	for i := range deaths {
		deaths[i] = driven.Outcome{Ticket: got.Jobs[i].Ticket(), To: domain.Dead, Counts: true, Error: "no", Keep: -1}
		deaths[i].Failure = &domain.NewJob{ID: ids.NewJobID(), Kind: "sorry", Queue: "q4", Args: []byte(`{}`)}
	}
	x.judge("bury with failure jobs", 14*batch, func() error { _, err := s.Settle(ctx, deaths); return err })
	x.judge("bury them again", 14*batch, func() error { _, err := s.Settle(ctx, deaths); return err })
	x.exec("UPDATE rowlock_jobs FORCE INDEX (wake) SET wake_at = 1, failure_kind = 'sorry' WHERE state = 3 AND runner = 'other' LIMIT 100")
	x.judge("recover to death", 16*batch, func() error {
		got, err := s.Recover(ctx, driven.RecoverRequest{Limit: batch, Except: "r", KeepDead: -1})
		if len(got.Jobs) != batch || got.Jobs[0].Failed.IsZero() {
			x.Errorf("recovered %d: %+v", len(got.Jobs), got.Jobs[:1])
		}
		return err
	})
	x.exec("DELETE FROM rowlock_jobs WHERE state = 5")
}
