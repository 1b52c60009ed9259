package upkeep_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// limited is a kind "k" with a limit of two and n jobs in a queue, all claimed and
// admitted or parked.
func limited(t *testing.T, s *store, runner string, n int, lease time.Duration) []domain.JobID {
	t.Helper()
	must(t, s.Declare(t.Context(), []string{"k"}, []domain.Declaration{{Kind: "k", Sort: domain.BoundLimit, Group: "k", N: 2}}))
	made := claimed(t, s, runner, n, lease)
	var wants []driven.Want
	for _, c := range s.held[len(s.held)-n:] {
		wants = append(wants, driven.Want{Ticket: c.Ticket(), Kind: "k", Limit: true})
	}
	_, err := s.Admit(t.Context(), driven.AdmitRequest{Wants: wants})
	must(t, err)
	return made
}

func states(t *testing.T, s *store, ids []domain.JobID) string {
	t.Helper()
	var all []domain.State
	for _, id := range ids {
		all = append(all, job(t, s, id).State)
	}
	return fmt.Sprint(all)
}

// The slots of a crashed runner stay taken for the linger and are free then.
func TestSweepFreesWhatACrashLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{Linger: 10 * time.Second}, s, e)
		ids := limited(t, s, "other", 4, time.Second)
		sweep := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			_, err := u.Sweep(t.Context())
			must(t, err)
			if got := states(t, s, ids); got != want {
				t.Fatalf("after %v more: %v, want %v", after, got, want)
			}
		}
		sweep(0, "[running running blocked blocked]")
		sweep(2*time.Second, "[scheduled scheduled blocked blocked]")
		if e.count(domain.EventSlotFreed) != 1 || e.events[len(e.events)-1].Count != 2 {
			t.Errorf("events %+v", e.events)
		}
		e.woken = nil
		sweep(9*time.Second, "[scheduled scheduled blocked blocked]")
		sweep(time.Second, "[scheduled scheduled ready ready]")
		if !slices.Contains(e.woken, "q-other") {
			t.Errorf("woken %v", e.woken)
		}
	})
}

// A sweep wakes whoever a crash between a settle and its wake-up left, and who
// waits for what is declared no more.
func TestSweepWakesTheStranded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{}, s, e)
		ids := limited(t, s, "other", 3, time.Hour)
		c := s.held[0]
		_, err := s.Settle(t.Context(), []driven.Outcome{{
			Ticket: c.Ticket(), To: domain.Done, Counts: true,
			Slots: []domain.SlotEnd{{Slot: domain.Slot{Key: "l:k:", Index: 0}}, {Slot: domain.Slot{Key: "l:k:", Index: 1}}},
		}})
		must(t, err)
		_, err = u.Sweep(t.Context())
		must(t, err)
		if got := states(t, s, ids); got != "[done running ready]" {
			t.Fatal(got)
		}
		more := limited(t, s, "another", 3, time.Hour)
		must(t, s.Declare(t.Context(), []string{"k"}, nil))
		_, err = u.Sweep(t.Context())
		must(t, err)
		for _, id := range more {
			if job(t, s, id).State == domain.Blocked {
				t.Error("a job waits for a limit that nobody declares")
			}
		}
	})
}

// partial is a store of which some calls fail.
type partial struct {
	*store
	fails map[string]error
	calls map[string]int
}

func (p *partial) door(op string) error {
	p.calls[op]++
	return p.fails[op]
}

func (p *partial) Reap(ctx context.Context, r driven.ReapRequest) (driven.Reaped, error) {
	if err := p.door("reap"); err != nil {
		return driven.Reaped{}, err
	}
	return p.store.Reap(ctx, r)
}

func (p *partial) Expire(ctx context.Context, limit int) (driven.Expired, error) {
	if err := p.door("expire"); err != nil {
		return driven.Expired{}, err
	}
	return p.store.Expire(ctx, limit)
}

func (p *partial) BlockedKeys(ctx context.Context, after string, limit int) ([]string, error) {
	if err := p.door("blocked"); err != nil {
		return nil, err
	}
	return p.store.BlockedKeys(ctx, after, limit)
}

func (p *partial) Loosen(ctx context.Context, r driven.LoosenRequest) (driven.Loosened, error) {
	if err := p.door("loosen"); err != nil {
		return driven.Loosened{}, err
	}
	return p.store.Loosen(ctx, r)
}

func TestNoPartOfASweepKeepsAnother(t *testing.T) {
	for op, want := range map[string]int{"reap": 1, "expire": 1, "blocked": 1, "loosen": 1, "": 0, "old": 0, "denied": 4} {
		t.Run("fails "+op, func(t *testing.T) {
			s, e := &partial{store: open(t), fails: map[string]error{}, calls: map[string]int{}}, &ear{}
			s.fails[op] = &domain.Fault{Code: domain.Contended, Op: op}
			if code := map[string]domain.Code{"old": domain.Unsupported, "denied": domain.Denied}[op]; code != "" {
				for _, op := range []string{"reap", "expire", "blocked", "loosen"} {
					s.fails[op] = &domain.Fault{Code: code, Op: op}
				}
			}
			u, err := upkeep.New(upkeep.Config{}, upkeep.Deps{Store: s, Observer: e, Clock: system.Clock()})
			must(t, err)
			_, err = u.Sweep(t.Context())
			must(t, err)
			for _, op := range []string{"reap", "expire", "blocked", "loosen"} {
				if s.calls[op] == 0 {
					t.Errorf("%s was not called", op)
				}
			}
			if n := e.count(domain.EventError); n != want {
				t.Errorf("%d errors, want %d", n, want)
			}
		})
	}
}

// A sweep goes through all pages.
func TestSweepReachesEverySlotAndKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1100
		s, e := open(t), &ear{}
		u := service(t, upkeep.Config{Linger: time.Second}, s, e)
		ids, rows := system.IDs(), make([]domain.NewJob, 2*n)
		for i := range rows {
			rows[i] = domain.NewJob{
				ID: ids.NewJobID(), Kind: "k", Queue: "q-other", Args: []byte("{}"),
				Turn: domain.TurnMutex, Keys: []string{fmt.Sprint("key", i/2)},
			}
		}
		_, err := s.Insert(t.Context(), rows)
		must(t, err)
		var wants []driven.Want
		for _, c := range claim(t, s, "other", 2*n, time.Second) {
			wants = append(wants, driven.Want{Ticket: c.Ticket(), Kind: "k", Turn: true})
		}
		got, err := s.Admit(t.Context(), driven.AdmitRequest{Wants: wants})
		must(t, err)
		if len(got.Admitted) != n || len(got.Parked) != n {
			t.Fatalf("%d admitted, %d parked", len(got.Admitted), len(got.Parked))
		}
		for range 2 {
			time.Sleep(2 * time.Second)
			_, err = u.Sweep(t.Context())
			must(t, err)
		}
		keys, err := s.BlockedKeys(t.Context(), "", 1)
		must(t, err)
		if len(keys) > 0 {
			t.Errorf("%q is waited for still", keys)
		}
	})
}
