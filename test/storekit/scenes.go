package storekit

import (
	"context"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
)

// scenes are the calls that write.
func scenes(h conformance.Harness) map[string]scene {
	s := h.Backend.Store
	return map[string]scene{
		"insert": insertScene(h.Backend),
		"claim":  claimScene(h),
		"prune":  pruneScene(h),
		"cancel": editScene(h.Backend, s.Cancel, domain.Cancelled),
		"retry":  editScene(h.Backend, s.Retry, domain.Scheduled),
		"move":   editScene(h.Backend, s.Reschedule, domain.Scheduled),
		"beat": func(t testing.TB) (func() error, func()) {
			return func() error { return s.Beat(t.Context(), domain.RunnerInfo{ID: "r"}, time.Hour) }, func() {}
		},
		"settle": func(t testing.TB) (func() error, func()) {
			id, out := Running(t, h.Backend)
			return func() error { _, err := s.Settle(t.Context(), out); return err }, IsIn(t, s, id, domain.Done)
		},
		"renew": func(t testing.TB) (func() error, func()) {
			id, out := Running(t, h.Backend)
			r := driven.RenewRequest{Tickets: []driven.Renewal{{Ticket: out[0].Ticket}}, Lease: time.Hour}
			return func() error { _, err := s.Renew(t.Context(), r); return err }, IsIn(t, s, id, domain.Running)
		},
		"recover": func(t testing.TB) (func() error, func()) {
			id, _ := Running(t, h.Backend)
			h.Advance(2 * time.Hour)
			r := driven.RecoverRequest{Limit: 1000, Stalls: domain.DefaultStalls()}
			return func() error { _, err := s.Recover(t.Context(), r); return err }, IsIn(t, s, id, domain.Scheduled)
		},
	}
}

// IsIn checks the state of a job.
func IsIn(t testing.TB, s driven.Store, id domain.JobID, want domain.State) func() {
	return func() {
		if j, err := s.Job(t.Context(), id, ""); err != nil || j.State != want {
			t.Errorf("the job is %v, want %v: %v", j.State, want, err)
		}
	}
}

func insertScene(b driven.Backend) scene {
	return func(t testing.TB) (func() error, func()) {
		in := Jobs(3)
		in[0].Unique, in[1].Unique = &domain.Unique{Key: in[0].ID.String()}, &domain.Unique{Key: in[0].ID.String()}
		var got []driven.Inserted
		call := func() (err error) { got, err = b.Store.Insert(t.Context(), in); return err }
		return call, func() {
			if got[0].Result != domain.InsertedNew || got[1].ID != in[0].ID || got[2].Result != domain.InsertedNew {
				t.Errorf("answers %+v", got)
			}
		}
	}
}

// claimScene has one ready job and one that is to be promoted.
func claimScene(h conformance.Harness) scene {
	return func(t testing.TB) (func() error, func()) {
		h.Advance(24 * time.Hour)
		Claim(t, h.Backend, 1000)
		in := Jobs(2)
		in[1].Due.After = time.Minute
		if _, err := h.Backend.Store.Insert(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		h.Advance(time.Minute)
		var got driven.Claims
		call := func() (err error) { got, err = h.Backend.Store.Claim(t.Context(), Request(5)); return err }
		return call, func() {
			if len(got.Jobs) != 2 {
				t.Errorf("claimed %d of 2", len(got.Jobs))
			}
		}
	}
}

func pruneScene(h conformance.Harness) scene {
	return func(t testing.TB) (func() error, func()) {
		s := h.Backend.Store
		_, out := Running(t, h.Backend)
		if _, err := s.Settle(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		h.Advance(2 * time.Hour)
		call := func() error { _, err := s.Prune(t.Context(), driven.PruneRequest{Limit: 1000}); return err }
		return call, func() {
			if n, _, err := s.Count(t.Context(), domain.Filter{States: []domain.State{domain.Done}}, 10); n != 0 || err != nil {
				t.Errorf("%d rows are left: %v", n, err)
			}
		}
	}
}

func editScene(b driven.Backend, do func(context.Context, driven.EditRequest) ([]domain.Edited, error), want domain.State) scene {
	return func(t testing.TB) (func() error, func()) {
		id := Add(t, b, 1)[0].ID
		r := driven.EditRequest{IDs: []domain.JobID{id}, Due: domain.Due{After: time.Hour}, Keep: time.Hour}
		return func() error { _, err := do(t.Context(), r); return err }, IsIn(t, b.Store, id, want)
	}
}
