package storekit

import (
	"maps"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
)

// boundScenes are the calls for jobs that have bounds.
func boundScenes(h conformance.Harness) map[string]scene {
	all, s := sweepScenes(h), h.Backend.Store
	maps.Copy(all, map[string]scene{
		"insert with turns": func(t testing.TB) (func() error, func()) {
			in := turnJobs(t, h.Backend)
			return func() error { _, err := s.Insert(t.Context(), in); return err }, IsIn(t, s, in[1].ID, domain.Ready)
		},
		"admit": admitScene(h.Backend),
		"settle with bounds": func(t testing.TB) (func() error, func()) {
			out, _ := Admitted(t, h.Backend)
			return func() error { _, err := s.Settle(t.Context(), out[:1]); return err }, IsIn(t, s, out[0].Ticket.ID, domain.Done)
		},
		"hold": func(t testing.TB) (func() error, func()) {
			out, _ := Admitted(t, h.Backend)
			hold := []driven.Holding{{Ticket: out[0].Ticket, Slot: out[0].Slots[0].Slot, For: time.Minute}}
			return func() error { return s.Hold(t.Context(), hold) }, IsIn(t, s, out[0].Ticket.ID, domain.Running)
		},
		"recover with turns": func(t testing.TB) (func() error, func()) {
			out, _ := Admitted(t, h.Backend)
			h.Advance(2 * time.Hour)
			r := driven.RecoverRequest{Limit: 1000, Stalls: domain.DefaultStalls()}
			return func() error { _, err := s.Recover(t.Context(), r); return err }, IsIn(t, s, out[0].Ticket.ID, domain.Scheduled)
		},
		"unchain": func(t testing.TB) (func() error, func()) {
			return func() error { _, err := s.Unchain(t.Context(), "c0:none"); return err }, func() {}
		},
	})
	return all
}

// sweepScenes are the calls that free what jobs with bounds have left.
func sweepScenes(h conformance.Harness) map[string]scene {
	s := h.Backend.Store
	return map[string]scene{
		"wake": func(t testing.TB) (func() error, func()) {
			out, waiting := Admitted(t, h.Backend)
			if _, err := s.Settle(t.Context(), out); err != nil {
				t.Fatal(err)
			}
			keys := []string{out[0].Slots[0].Key, out[0].Slots[1].Key}
			return func() error { _, err := s.Wake(t.Context(), keys); return err }, IsIn(t, s, waiting, domain.Ready)
		},
		"loosen": func(t testing.TB) (func() error, func()) {
			_, waiting := Admitted(t, h.Backend)
			moved := []domain.Declaration{{Kind: "k", Sort: domain.BoundLimit, Group: "elsewhere", N: 1}, {Kind: "stays", Sort: domain.BoundLimit, Group: "g", N: 1}}
			if err := s.Declare(t.Context(), []string{"k", "stays"}, moved); err != nil {
				t.Fatal(err)
			}
			all := driven.LoosenRequest{Limit: 100_000} // with those of the scenes before
			return func() error { _, err := s.Loosen(t.Context(), all); return err }, IsIn(t, s, waiting, domain.Ready)
		},
		"expire": func(t testing.TB) (func() error, func()) {
			out, _ := Admitted(t, h.Backend)
			out[0].Slots[0].After = time.Minute
			if _, err := s.Settle(t.Context(), out); err != nil {
				t.Fatal(err)
			}
			h.Advance(2 * time.Minute)
			return func() error { _, err := s.Expire(t.Context(), 100); return err }, func() {}
		},
		"reap": func(t testing.TB) (func() error, func()) {
			Admitted(t, h.Backend)
			h.Advance(2 * time.Hour)
			if _, err := s.Recover(t.Context(), driven.RecoverRequest{Limit: 1000, Stalls: domain.DefaultStalls()}); err != nil {
				t.Fatal(err)
			}
			r := driven.ReapRequest{Limit: 1000}
			return func() error { _, err := s.Reap(t.Context(), r); return err }, func() {}
		},
	}
}

// turnJobs are two jobs of a kind with a limit of one that share a turn, both of
// their own.
func turnJobs(t testing.TB, b driven.Backend) []domain.NewJob {
	t.Helper()
	limit := domain.Declaration{Kind: "k", Sort: domain.BoundLimit, Group: "g", N: 1}
	if err := b.Store.Declare(t.Context(), []string{"k"}, []domain.Declaration{limit}); err != nil {
		t.Fatal(err)
	}
	in := Jobs(2)
	key := in[0].ID.String() + ` \'"%_é`
	for i := range in {
		in[i].Queue, in[i].LimitKey = key, key
		in[i].Turn, in[i].Keys = domain.TurnMutex, []string{key}
	}
	return in
}

// claimedTurns are two such jobs that run, not yet admitted.
func claimedTurns(t testing.TB, b driven.Backend) (r driven.AdmitRequest) {
	t.Helper()
	in := turnJobs(t, b)
	if _, err := b.Store.Insert(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	ask := Request(2)
	ask.Queue = in[0].Queue
	got, err := b.Store.Claim(t.Context(), ask)
	if err != nil || len(got.Jobs) != 2 {
		t.Fatalf("claimed %d: %v", len(got.Jobs), err)
	}
	for _, j := range got.Jobs {
		r.Wants = append(r.Wants, driven.Want{Ticket: j.Ticket(), Kind: "k", Limit: true, Turn: true, OwnLimit: j.Job.LimitKey})
	}
	return r
}

// admitScene has one of two start and the other one parked.
func admitScene(b driven.Backend) scene {
	return func(t testing.TB) (func() error, func()) {
		r := claimedTurns(t, b)
		var got driven.Admission
		call := func() (err error) { got, err = b.Store.Admit(t.Context(), r); return err }
		return call, func() {
			if len(got.Admitted) != 1 || len(got.Parked) != 1 || len(got.Admitted[0].Slots) != 2 {
				t.Errorf("answered %+v", got)
			}
		}
	}
}

// Admitted is the outcome of the one that started, and the one that waits.
func Admitted(t testing.TB, b driven.Backend) ([]driven.Outcome, domain.JobID) {
	t.Helper()
	r := claimedTurns(t, b)
	got, err := b.Store.Admit(t.Context(), r)
	if err != nil || len(got.Admitted) != 1 || len(got.Parked) != 1 {
		t.Fatalf("answered %+v: %v", got, err)
	}
	out := driven.Outcome{Ticket: r.Wants[0].Ticket, To: domain.Done, Counts: true, Keep: time.Hour, Turn: true}
	for _, slot := range got.Admitted[0].Slots {
		out.Slots = append(out.Slots, domain.SlotEnd{Slot: slot.Slot})
	}
	return []driven.Outcome{out}, got.Parked[0].ID
}
