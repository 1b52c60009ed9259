package storekit

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
)

// uniqueScenes are inserts that change who holds their keys, and deaths that a failure
// job goes with.
func uniqueScenes(h conformance.Harness) map[string]scene {
	return map[string]scene{
		"replace":        overwriteScene(h.Backend, domain.Replace, domain.Replaced),
		"reschedule":     overwriteScene(h.Backend, domain.Reschedule, domain.Rescheduled),
		"bury":           buryScene(h.Backend),
		"stall to death": stallScene(h),
	}
}

// overwriteScene has a holder that takes turns, one that does not, and a key that is free.
func overwriteScene(b driven.Backend, how domain.OnConflict, want domain.Inserted) scene {
	return func(t testing.TB) (func() error, func()) {
		key := ids.NewJobID().String()
		keyed := func(how domain.OnConflict) []domain.NewJob {
			in := Jobs(3)
			for i := range in {
				in[i].Unique = &domain.Unique{Key: key + string(rune('a'+i)), OnConflict: how}
				in[i].Due.After = time.Hour
			}
			in[0].Turn, in[0].Keys = domain.TurnChain, []string{key}
			return in
		}
		held := keyed(domain.Skip)[:2]
		if _, err := b.Store.Insert(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		in := keyed(how)
		in[0].Turn, in[0].Keys, in[0].Due.After = domain.NoTurn, nil, 2*time.Hour
		var got []driven.Inserted
		call := func() (err error) { got, err = b.Store.Insert(t.Context(), in); return err }
		return call, func() {
			if got[0].ID != held[0].ID || got[0].Result != want || len(got[0].Keys) != 1 || got[1].Result != want || got[2].Result != domain.InsertedNew {
				t.Errorf("answers %+v", got)
			}
			if j, err := b.Store.Job(t.Context(), held[0].ID, ""); err != nil || !j.RunAt.Equal(j.CreatedAt.Add(2*time.Hour)) {
				t.Errorf("the holder is due %v after %v: %v", j.RunAt, j.CreatedAt, err)
			}
		}
	}
}

// buryScene settles a death with its failure job.
func buryScene(b driven.Backend) scene {
	return func(t testing.TB) (func() error, func()) {
		id, out := Running(t, b)
		made := Jobs(1)[0]
		out[0].To, out[0].Failure = domain.Dead, &made
		call := func() error { _, err := b.Store.Settle(t.Context(), out); return err }
		return call, func() {
			IsIn(t, b.Store, id, domain.Dead)()
			IsIn(t, b.Store, made.ID, domain.Ready)()
		}
	}
}

// stallScene recovers a job to its death.
func stallScene(h conformance.Harness) scene {
	return func(t testing.TB) (func() error, func()) {
		s := h.Backend.Store
		id, _ := Running(t, h.Backend)
		h.Advance(2 * time.Hour)
		r := driven.RecoverRequest{Limit: 1000, Failures: map[string]string{"k": "sorry"}}
		var got driven.Recovered
		call := func() (err error) { got, err = s.Recover(t.Context(), r); return err }
		return call, func() {
			IsIn(t, s, id, domain.Dead)()
			for _, j := range got.Jobs {
				IsIn(t, s, j.Failed, domain.Ready)()
			}
		}
	}
}
