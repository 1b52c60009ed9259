package upkeep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// ended makes n done jobs whose time is over in a minute.
func ended(t *testing.T, s *store, n int) {
	t.Helper()
	claimed(t, s, "other", n, time.Hour)
	out := make([]driven.Outcome, 0, n)
	for _, c := range s.held {
		out = append(out, driven.Outcome{Ticket: c.Ticket(), To: domain.Done, Counts: true, Keep: time.Minute})
	}
	s.held = nil
	_, err := s.Settle(t.Context(), out)
	must(t, err)
}

func TestTheLoopPausesBetweenPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{PruneBatch: 100, PrunePause: 10 * time.Second, PruneEvery: 2 * time.Hour}, s, e)
		ended(t, s, 1_000)
		time.Sleep(2 * time.Minute)
		must(t, u.Start(t.Context()))
		time.Sleep(3 * time.Hour)
		must(t, u.Stop(t.Context()))
		calls := s.calls(&s.prunes)
		if len(calls) < 11 || e.count(domain.EventPruned) != 10 {
			t.Fatalf("%d passes, %d removed something", len(calls), e.count(domain.EventPruned))
		}
		for i := range 10 {
			if gap := calls[i+1] - calls[i]; gap < 9*time.Second || gap > 11*time.Second {
				t.Errorf("pass %d came %v after the one before", i+1, gap)
			}
		}
	})
}

// TestASlowPruningLeavesTheStoreToOthers: it has an eleventh of the time, whatever its pause is.
func TestASlowPruningLeavesTheStoreToOthers(t *testing.T) {
	for slow, want := range map[time.Duration]time.Duration{time.Millisecond: 301 * time.Millisecond, time.Second: 11 * time.Second, 10 * time.Minute: 70 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t)
			s.slow = slow
			u := service(t, upkeep.Config{PruneBatch: 100, PruneEvery: time.Hour}, s, &ear{})
			ended(t, s, 1_000)
			time.Sleep(2 * time.Minute)
			must(t, u.Start(t.Context()))
			time.Sleep(15 * time.Hour)
			must(t, u.Stop(t.Context()))
			calls := s.calls(&s.prunes)
			for i := range 9 {
				if gap := calls[i+1] - calls[i]; gap < want*85/100 || gap > want*115/100 {
					t.Errorf("with passes of %v one came %v after the one before, want %v", slow, gap, want)
				}
			}
		})
	}
}

func TestAnOperatorsPruningDoesNotPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		u := service(t, upkeep.Config{PruneBatch: 100, PrunePause: time.Hour}, s, &ear{})
		ended(t, s, 1_000)
		time.Sleep(2 * time.Minute)
		began := time.Now()
		n, err := u.Prune(t.Context(), nil)
		must(t, err)
		if took := time.Since(began); n != 1_000 || took != 0 {
			t.Errorf("removed %d in %v", n, took)
		}
	})
}

func TestTheLoopOutlivesErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{PruneBatch: 100, PruneEvery: time.Minute}, s, e)
		ended(t, s, 250)
		must(t, u.Start(t.Context()))
		s.setDown(true)
		time.Sleep(10 * time.Minute)
		failed := e.count(domain.EventError)
		s.setDown(false)
		time.Sleep(10 * time.Minute)
		must(t, u.Stop(t.Context()))
		if failed < 9 || e.count(domain.EventPruned) != 3 {
			t.Errorf("%d errors, then %d passes that removed something", failed, e.count(domain.EventPruned))
		}
	})
}

// TestAnUnfinishedBatchKeepsItsMembersAndNobodyElse: they are put off, and go when
// the batch is finished; the batch itself goes after its own time and its callback.
func TestAnUnfinishedBatchKeepsItsMembersAndNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{PruneBatch: 10}, s, e)
		batch := open1(t, s)
		for range 25 {
			member(t, s, batch, domain.Done)
		}
		ended(t, s, 25)
		time.Sleep(2 * time.Minute)
		n, err := u.Prune(t.Context(), nil)
		must(t, err)
		if n != 25 {
			t.Errorf("removed %d", n)
		}
		left := func() int {
			n, _, err := s.Count(t.Context(), domain.Filter{Batch: batch}, 100)
			must(t, err)
			return n
		}
		if left() != 25 {
			t.Errorf("%d members are left of an unfinished batch", left())
		}
		_, err = s.SealBatch(t.Context(), batch, "")
		must(t, err)
		_, err = u.Sweep(t.Context())
		must(t, err)
		time.Sleep(10 * time.Minute)
		n, err = u.Prune(t.Context(), nil)
		must(t, err)
		if n != 25 || left() != 0 || state(t, s, batch) != domain.BatchFinished {
			t.Errorf("removed %d when it was finished, %d are left", n, left())
		}
		time.Sleep(domain.DefaultBatchKeep)
		gone := func(want bool) {
			t.Helper()
			n, err := u.Prune(t.Context(), nil)
			must(t, err)
			if _, err := s.Batch(t.Context(), batch, ""); n != 0 || (domain.CodeOf(err) == domain.NotFound) != want {
				t.Errorf("removed %d jobs; the batch: %v", n, err)
			}
		}
		gone(false) // its callback is still to run
		called, err := s.Batch(t.Context(), batch, "")
		must(t, err)
		_, err = s.Delete(t.Context(), driven.EditRequest{IDs: []domain.JobID{called.CallbackJob}})
		must(t, err)
		gone(true)
	})
}

func TestPruningIsTheTenantsOwn(t *testing.T) {
	s := open(t)
	u := service(t, upkeep.Config{}, s, &ear{})
	long := make([]byte, domain.MaxTenant+1)
	for i := range long {
		long[i] = 'x'
	}
	if _, err := u.Prune(domain.WithTenant(t.Context(), string(long)), nil); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a tenant that cannot be: %v", err)
	}
	if len(s.prunes) != 0 {
		t.Error("the store was asked")
	}
}

// Prune takes as long as the test says, in its bubble.
func (s *store) Prune(ctx context.Context, req driven.PruneRequest) (driven.Pruned, error) {
	if err := s.note(&s.prunes); err != nil {
		return driven.Pruned{}, err
	}
	time.Sleep(s.slow)
	return s.Store.Prune(ctx, req)
}
