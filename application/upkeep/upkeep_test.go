package upkeep_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestSweepPutsBackAllOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{}, s, e)
		lapsed := claimed(t, s, "other", 250, time.Second)
		mine := claimed(t, s, "mine", 1, time.Second)
		live := claimed(t, s, "live", 1, time.Hour)
		time.Sleep(2 * time.Second)
		n, err := u.Sweep(t.Context())
		must(t, err)
		if n != 250 || len(s.recovers) != 3 || e.count(domain.EventStalled) != 250 {
			t.Fatalf("recovered %d in %d calls, %d events", n, len(s.recovers), e.count(domain.EventStalled))
		}
		for _, id := range lapsed {
			if j := job(t, s, id); j.State != domain.Scheduled || j.Stalls != 1 || j.Attempts != 0 || !strings.Contains(j.Error, `"other"`) {
				t.Fatalf("job %+v", j)
			}
		}
		if job(t, s, mine[0]).State != domain.Running || job(t, s, live[0]).State != domain.Running {
			t.Fatal("a claim of this runner, or a live one, was touched")
		}
		if len(e.woken) == 0 || e.woken[0] != "q-other" {
			t.Fatalf("woken %v", e.woken)
		}
	})
}

func TestFourthStallInARowKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{}, s, e)
		id := claimed(t, s, "other", 1, time.Second)[0]
		for stall := 1; ; stall++ {
			time.Sleep(2 * time.Second)
			_, err := u.Sweep(t.Context())
			must(t, err)
			j := job(t, s, id)
			if stall == 4 {
				if j.State != domain.Dead || j.Attempts != 0 || e.count(domain.EventDied) != 1 {
					t.Fatalf("after 4 stalls: %+v", j)
				}
				return
			}
			if want := 30 * time.Second << (stall - 1); j.State != domain.Scheduled || time.Until(j.RunAt).Round(time.Second) != want {
				t.Fatalf("stall %d: %v, due in %v, want %v", stall, j.State, time.Until(j.RunAt), want)
			}
			time.Sleep(time.Until(j.RunAt))
			claim(t, s, "other", 1, time.Second)
		}
	})
}

func TestLoopsKeepGoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{}, s, e)
		must(t, u.Start(t.Context()))
		must(t, u.Start(t.Context()))
		time.Sleep(24 * time.Hour)
		must(t, u.Stop(t.Context()))
		must(t, u.Stop(t.Context()))
		if n := len(s.recovers); n < 24*120*9/10 || n > 24*120*11/10 {
			t.Errorf("%d recoveries in 24 h", n)
		}
		if n := len(s.prunes); n < 24*12*9/10 || n > 24*12*11/10 {
			t.Errorf("%d prunings in 24 h", n)
		}
		if s.recovers[0] >= 30*time.Second {
			t.Errorf("the first recovery came after %v", s.recovers[0])
		}
		if domain.CodeOf(u.Start(t.Context())) != domain.Conflict {
			t.Error("a start after the stop is not refused")
		}
	})
}

func TestCancelledStartContextDoesNotEndTheLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{NoPrune: true}, s, e)
		ctx, cancel := context.WithCancel(t.Context())
		must(t, u.Start(ctx))
		cancel()
		time.Sleep(10 * time.Minute)
		if n := len(s.calls(&s.recovers)); n < 15 {
			t.Errorf("%d recoveries after the start's context ended", n)
		}
		must(t, u.Stop(t.Context()))
		if len(s.prunes) != 0 {
			t.Errorf("it pruned %d times though switched off", len(s.prunes))
		}
	})
}

func TestNobodyIsJudgedRightAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{NoPrune: true}, s, e)
		id := claimed(t, s, "other", 1, time.Minute)[0]
		must(t, u.Start(t.Context()))
		s.setDown(true)
		time.Sleep(5 * time.Minute) // the lease ran out meanwhile
		failed := len(s.calls(&s.recovers))
		s.setDown(false)
		back := time.Since(s.start)
		time.Sleep(2 * time.Minute)
		must(t, u.Stop(t.Context()))
		if failed != 1 {
			t.Errorf("%d recoveries were tried in the outage; a probe does", failed)
		}
		if wait := s.recovers[failed] - back; wait < 20*time.Second || wait > 45*time.Second {
			t.Errorf("the first sweep came %v after the store", wait)
		}
		if j := job(t, s, id); j.Stalls != 1 {
			t.Errorf("the lapsed claim was not put back in the end: %+v", j)
		}
		if e.count(domain.EventError) < 10 {
			t.Errorf("%d errors were told", e.count(domain.EventError))
		}
	})
}

func TestPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{PruneBatch: 100}, s, e)
		claimed(t, s, "other", 250, time.Hour)
		kept := claimed(t, s, "kept", 1, time.Hour)[0]
		var out []driven.Outcome
		for _, c := range s.held {
			keep := time.Minute
			if c.Job.ID == kept {
				keep = domain.KeepForever
			}
			out = append(out, driven.Outcome{Ticket: c.Ticket(), To: domain.Done, Counts: true, Keep: keep})
		}
		_, err := s.Settle(t.Context(), out)
		must(t, err)
		time.Sleep(2 * time.Minute)
		var told []int
		n, err := u.Prune(t.Context(), func(removed int) { told = append(told, removed) })
		must(t, err)
		if n != 250 || len(told) != 3 || told[2] != 250 || e.count(domain.EventPruned) != 3 {
			t.Fatalf("pruned %d, told %v", n, told)
		}
		if job(t, s, kept).State != domain.Done {
			t.Fatal("the row that is kept for ever is gone")
		}
	})
}

func TestSettings(t *testing.T) {
	for name, cfg := range map[string]upkeep.Config{
		"every": {Every: -1}, "renew": {Renew: -1}, "prune": {PruneEvery: -1}, "batch": {PruneBatch: -1},
		"stall base": {Stalls: domain.StallPolicy{Base: -1, Cap: 1}}, "stall cap": {Stalls: domain.StallPolicy{Base: 2, Cap: 1}},
		"stall max": {Stalls: domain.StallPolicy{Base: 1, Cap: 1, Max: -1}}, "keep": {Keep: domain.Retention{Done: 1}},
	} {
		if _, err := upkeep.New(cfg, upkeep.Deps{Store: &store{}}); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := upkeep.New(upkeep.Config{}, upkeep.Deps{}); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("no store: %v", err)
	}
}
