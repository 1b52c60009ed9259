package runner_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// far is a store whose calls take a time each, as a database's do.
type far struct {
	driven.Store
	trip                            time.Duration
	before                          func() // each admission; nil: nothing
	others                          int    // jobs that are not this runner's
	claims, settles, admits, parked atomic.Int64
}

func (s *far) Claim(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
	time.Sleep(s.trip)
	s.claims.Add(1)
	return s.Store.Claim(ctx, r)
}

func (s *far) Settle(ctx context.Context, o []driven.Outcome) (driven.Settled, error) {
	time.Sleep(s.trip)
	s.settles.Add(1)
	return s.Store.Settle(ctx, o)
}

func (s *far) Admit(ctx context.Context, r driven.AdmitRequest) (driven.Admission, error) {
	time.Sleep(s.trip)
	if s.admits.Add(1); s.before != nil {
		s.before()
	}
	a, err := s.Store.Admit(ctx, r)
	s.parked.Add(int64(len(a.Parked)))
	return a, err
}

func (s *far) Wake(ctx context.Context, keys []string) (driven.Woken, error) {
	time.Sleep(s.trip)
	return s.Store.Wake(ctx, keys)
}

// rush runs jobs of one kind to their end and says how long that took.
func rush(t testing.TB, trip, run time.Duration, jobs, workers int, opts ...work.Option) (time.Duration, *far) {
	t.Helper()
	return rushTo(t, &far{trip: trip}, run, jobs, workers, opts...)
}

// rushTo is rush on a store that is given.
func rushTo(t testing.TB, store *far, run time.Duration, jobs, workers int, opts ...work.Option) (time.Duration, *far) {
	t.Helper()
	backend, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	must(t, err)
	ids, rows := system.IDs(), make([]domain.NewJob, jobs)
	for i := range rows {
		rows[i] = domain.NewJob{ID: ids.NewJobID(), Kind: "k", Queue: "default", Args: []byte(`{}`)}
	}
	_, err = backend.Store.Insert(t.Context(), rows)
	must(t, err)
	registry := work.NewRegistry()
	must(t, registry.AddBuiltin(handler{"k", func(context.Context, driven.Task) error {
		if run > 0 {
			time.Sleep(run)
		}
		return nil
	}}, append(opts, minute)...))
	store.Store = backend.Store
	r, err := runner.New(runner.Config{Queues: runner.Queues{"default": workers}}, runner.Deps{
		Store: store, Registry: registry, IDs: ids, Clock: system.Clock(),
	})
	must(t, err)
	began := time.Now()
	got, err := r.Drain(t.Context(), drainAll)
	if err != nil || got.Completed != jobs-store.others {
		t.Fatalf("%+v, %v", got, err)
	}
	return time.Since(began), store
}

// A limit as large as the runner's concurrency costs at most 30 % of what the
// runner does without one, and nothing is parked and woken in a circle. Time is
// simulated, so only the trips to the store and what waits for them count.
func TestACapCostsLittle(t *testing.T) {
	for _, c := range []struct{ trip, run time.Duration }{
		{50 * time.Microsecond, time.Millisecond}, {200 * time.Microsecond, 0}, {time.Millisecond, 0}, {200 * time.Microsecond, 2 * time.Millisecond}, {time.Millisecond, 10 * time.Millisecond}, {2 * time.Millisecond, 5 * time.Millisecond}, {time.Millisecond, 40 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(c.trip, c.run), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const jobs, workers = 2000, 10
				free, _ := rush(t, c.trip, c.run, jobs, workers)
				capped, store := rush(t, c.trip, c.run, jobs, workers, limited(workers))
				share := float64(free) / float64(capped)
				t.Logf("%.0f %% of the throughput: %v, capped %v, %d parked, %d claims %d admits %d settles", 100*share, free, capped, store.parked.Load(), store.claims.Load(), store.admits.Load(), store.settles.Load())
				if share < 0.7 {
					t.Errorf("%.0f %% of the throughput are left", 100*share)
				}
				if n := store.parked.Load(); n > jobs/10 {
					t.Errorf("%d of %d jobs were parked", n, jobs)
				}
			})
		})
	}
}

// A slot that another runner had, and gave back without a word, is tried for in a moment
// by who waits here, in a drain too.
func TestADrainTriesAgainWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs, away = 400, 50 * time.Millisecond
		ids, store := system.IDs(), &far{trip: time.Millisecond, others: 1}
		store.before = func() {
			if store.admits.Load() != 2 {
				return
			}
			got, err := store.Store.Claim(t.Context(), driven.ClaimRequest{Token: ids.NewToken(), Runner: "other", Lease: time.Minute, Queue: "default", Kinds: []string{"k"}, N: 1})
			must(t, err)
			ticket := got.Jobs[0].Ticket()
			won, err := store.Store.Admit(t.Context(), driven.AdmitRequest{Wants: []driven.Want{{Ticket: ticket, Kind: "k", Limit: true}}})
			if err != nil || len(won.Admitted) != 1 {
				t.Errorf("the other runner: %+v, %v", won, err)
				return
			}
			time.AfterFunc(away, func() {
				out := driven.Outcome{Ticket: ticket, To: domain.Done}
				for _, slot := range won.Admitted[0].Slots {
					out.Slots = append(out.Slots, domain.SlotEnd{Slot: slot.Slot})
				}
				_, err := store.Store.Settle(t.Context(), []driven.Outcome{out})
				must(t, err)
			})
		}
		took, _ := rushTo(t, store, time.Millisecond, jobs, 1, limited(1))
		if most := 5*jobs*time.Millisecond + 3*away; took > most {
			t.Errorf("it took %v, want %v at most", took, most)
		}
	})
}

// Beside a limited kind with a long backlog of short jobs the others of the lane
// have the workers that it leaves, and none of either waits for long.
func TestALimitedKindLeavesRoomForOthers(t *testing.T) {
	for _, limit := range []int{2, 10} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			var narrow, wide gauge
			k.handle("narrow", narrow.run(10*time.Millisecond), limited(limit), minute)
			k.handle("wide", wide.run(10*time.Millisecond))
			k.started(runner.Config{Concurrency: 10})
			ids := append(k.put("narrow", 1000), k.put("wide", 1000)...)
			time.Sleep(1500 * time.Millisecond)
			if len(wide.starts()) < 400 || len(narrow.starts()) < limit*40 {
				t.Errorf("limit %d: %d and %d started in 1.5 s", limit, len(narrow.starts()), len(wide.starts()))
			}
			t.Logf("limit %d: %d and %d started in 1.5 s, %d parked", limit, len(narrow.starts()), len(wide.starts()), k.count(domain.EventParked))
			time.Sleep(10 * time.Second)
			k.wantState(domain.Done, ids...)
			if narrow.peak() > limit {
				t.Errorf("%d ran at once", narrow.peak())
			}
		})
	}
}
