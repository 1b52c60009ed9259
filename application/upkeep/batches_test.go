package upkeep_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// sealed makes n batches of one done job each, with a callback, of which nobody said
// that they are over.
func sealed(t *testing.T, s *store, n int) []domain.BatchID {
	t.Helper()
	ids := make([]domain.BatchID, n)
	for i := range ids {
		ids[i] = open1(t, s)
		member(t, s, ids[i], domain.Done)
		_, err := s.SealBatch(t.Context(), ids[i], "")
		must(t, err)
	}
	return ids
}

func open1(t *testing.T, s *store) domain.BatchID {
	t.Helper()
	id := system.IDs().NewBatchID()
	must(t, s.CreateBatch(t.Context(), domain.NewBatch{ID: id, Callback: &domain.Template{Kind: "callback", Queue: "callbacks", Args: []byte("{}")}}))
	return id
}

// member adds a job to the batch that runs, or has ended.
func member(t *testing.T, s *store, batch domain.BatchID, state domain.State) domain.JobID {
	t.Helper()
	id := system.IDs().NewJobID()
	_, err := s.Insert(t.Context(), []domain.NewJob{{ID: id, Kind: "k", Queue: "q-other", Args: []byte("{}"), Batch: batch}})
	must(t, err)
	got := claim(t, s, "other", 1, time.Second)
	if state.Terminal() {
		_, err = s.Settle(t.Context(), []driven.Outcome{{Ticket: got[0].Ticket(), To: state, Counts: true, Keep: time.Minute}})
		must(t, err)
	}
	return id
}

func state(t *testing.T, s *store, id domain.BatchID) domain.BatchState {
	t.Helper()
	b, err := s.Batch(t.Context(), id, "")
	must(t, err)
	return b.State()
}

func TestASweepFinishesWhatACrashLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{}, s, e)
		over := sealed(t, s, 1)[0]
		unsealed := open1(t, s)
		member(t, s, unsealed, domain.Done)
		_, err := u.Sweep(t.Context())
		must(t, err)
		if state(t, s, over) != domain.BatchFinished || state(t, s, unsealed) != domain.BatchOpen {
			t.Errorf("the sealed one is %v, the open one %v", state(t, s, over), state(t, s, unsealed))
		}
		if e.count(domain.EventBatchFinished) != 1 || len(e.woken) != 1 || e.woken[0] != "callbacks" {
			t.Errorf("%d events, woken %v", e.count(domain.EventBatchFinished), e.woken)
		}
		_, err = u.Sweep(t.Context())
		must(t, err)
		if n, _, err := s.Count(t.Context(), domain.Filter{Kind: "callback"}, 10); n != 1 || err != nil {
			t.Errorf("%d callbacks, %v", n, err)
		}
	})
}

func TestASweepIsBoundedAndComesRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		u := service(t, upkeep.Config{}, s, &ear{})
		waits := open1(t, s) // the first of all: every sweep meets it
		member(t, s, waits, domain.Running)
		_, err := s.SealBatch(t.Context(), waits, "")
		must(t, err)
		time.Sleep(time.Millisecond) // ids rise with time
		all := sealed(t, s, 1_150)
		s.looks = nil
		u2 := func() (n int) {
			_, err := u.Sweep(t.Context())
			must(t, err)
			for _, looked := range s.looks {
				n += looked
			}
			s.looks = nil
			return n
		}
		if n := u2(); n != 1_000 {
			t.Errorf("the first sweep looked at %d batches", n)
		}
		if n := u2(); n != 151 {
			t.Errorf("the second one at %d", n)
		}
		for _, id := range all {
			if state(t, s, id) != domain.BatchFinished {
				t.Fatalf("%v is %v after two sweeps", id, state(t, s, id))
			}
		}
		if n := u2(); n != 1 || state(t, s, waits) != domain.BatchSealed {
			t.Errorf("the third one looked at %d, the one that waits is %v", n, state(t, s, waits))
		}
	})
}

func TestASchemaWithoutBatchesIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{}, s, e)
		s.broken = &domain.Fault{Code: domain.Unsupported, Op: "finish batches"}
		_, err := u.Sweep(t.Context())
		must(t, err)
		_, err = u.Prune(t.Context(), nil)
		must(t, err)
		if n := e.count(domain.EventError); n != 0 {
			t.Errorf("%d errors", n)
		}
		s.broken = &domain.Fault{Code: domain.Unavailable, Op: "finish batches"}
		_, err = u.Sweep(t.Context())
		must(t, err)
		if n := e.count(domain.EventError); n != 1 {
			t.Errorf("%d errors of a store that fails", n)
		}
	})
}

// TestADeathByStallsHasItsConsequences: the failure job, and the end of the batch.
func TestADeathByStallsHasItsConsequences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u, err := upkeep.New(upkeep.Config{Stalls: domain.StallPolicy{Base: time.Second, Cap: time.Second}}, upkeep.Deps{
			Store: s, Runner: "mine", Observer: e, Wake: e, Failures: map[string]string{"k": "told"}, Attempts: 9,
		})
		must(t, err)
		batch := open1(t, s)
		id := member(t, s, batch, domain.Running)
		_, err = s.SealBatch(t.Context(), batch, "")
		must(t, err)
		time.Sleep(2 * time.Second)
		_, err = u.Sweep(t.Context())
		must(t, err)
		if j := job(t, s, id); j.State != domain.Dead || state(t, s, batch) != domain.BatchFinished {
			t.Errorf("the job is %v, its batch %v", j.State, state(t, s, batch))
		}
		made, err := s.Jobs(t.Context(), domain.Filter{Kind: "told"}, domain.Page{Size: 10})
		must(t, err)
		if len(made) != 1 || made[0].Queue != "q-other" {
			t.Fatalf("failure jobs %+v", made)
		}
		var args struct {
			Job struct {
				ID          domain.JobID
				MaxAttempts int `json:"max_attempts"`
			}
		}
		whole := job(t, s, made[0].ID)
		if err := json.Unmarshal(whole.Args, &args); err != nil || args.Job.ID != id || args.Job.MaxAttempts != 9 {
			t.Errorf("it was told %s", whole.Args)
		}
		if got := e.woken; len(got) < 2 || got[0] != "q-other" {
			t.Errorf("woken %v", got)
		}
	})
}

// stalled answers a death whose failure job was refused.
type stalled struct{ *store }

func (s stalled) Recover(context.Context, driven.RecoverRequest) (driven.Recovered, error) {
	return driven.Recovered{Jobs: []driven.Recovery{{ID: system.IDs().NewJobID(), Kind: "k", Queue: "q", To: domain.Dead, Refused: true}}}, nil
}

func TestARefusedFailureJobOfAStallIsSaid(t *testing.T) {
	e := &ear{}
	u, err := upkeep.New(upkeep.Config{}, upkeep.Deps{Store: stalled{open(t)}, Observer: e, Wake: e})
	must(t, err)
	_, err = u.Sweep(t.Context())
	must(t, err)
	if e.count(domain.EventFailureJobNotAdded) != 1 || len(e.woken) != 0 {
		t.Errorf("%d events, woken %v", e.count(domain.EventFailureJobNotAdded), e.woken)
	}
}
