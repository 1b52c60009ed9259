package runner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Whatever the store says for a minute, a job that succeeded runs once and ends done.
func TestFailingWritesLoseNoResult(t *testing.T) {
	for name, code := range map[string]domain.Code{
		"unavailable": domain.Unavailable, "contended": domain.Contended, "internal": domain.Internal, "canceled": domain.Canceled,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var runs, tries atomic.Int64
				k.handle("k", func(context.Context, driven.Task) error { runs.Add(1); return nil })
				k.store.settle.Store(new(func([]driven.Outcome) error {
					tries.Add(1)
					if k.since() < time.Minute {
						return &domain.Fault{Code: code, Op: "settle"}
					}
					return nil
				}))
				r := k.started(lease(30 * time.Second))
				ids := k.put("k", 20)
				time.Sleep(59 * time.Second)
				for _, id := range ids {
					if j := k.job(id); j.Attempts != 0 || j.State != domain.Running && j.State != domain.Ready {
						t.Fatalf("a store fault became an outcome: %+v", j)
					}
				}
				time.Sleep(5 * time.Second)
				k.stop(r)
				k.wantState(domain.Done, ids...)
				if runs.Load() != 20 || k.count(domain.EventLeaseLost) != 0 || k.store.renews.Load() < 6 {
					t.Fatalf("%d runs of 20 jobs, %d leases lost, %d renewals", runs.Load(), k.count(domain.EventLeaseLost), k.store.renews.Load())
				}
				if n := k.count(domain.EventError); n < 30 || code != domain.Internal && n > 40 {
					t.Fatalf("%d errors in a minute of back-off up to 2 s", n)
				}
			})
		})
	}
}

// The store is away altogether for longer than a lease: the finished result is
// written when it is back, since nobody took the claim.
func TestFinishedResultOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var runs atomic.Int64
		k.handle("k", func(context.Context, driven.Task) error { runs.Add(1); return nil })
		away := func() error {
			if at := k.since(); at > 0 && at < 3*time.Minute {
				return down("any")
			}
			return nil
		}
		k.store.settle.Store(new(func([]driven.Outcome) error { return down("settle") }))
		k.store.renew.Store(new(func(context.Context) error { return away() }))
		k.store.claim.Store(new(func(driven.ClaimRequest) error { return away() }))
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		time.Sleep(3 * time.Minute)
		k.store.settle.Store(nil)
		time.Sleep(10 * time.Second)
		k.stop(r)
		k.wantState(domain.Done, id)
		if runs.Load() != 1 {
			t.Fatalf("%d runs", runs.Load())
		}
	})
}

// One outcome that the store refuses for what is in it does not keep the others.
func TestOneRefusedOutcomeFailsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		release := make(chan struct{})
		k.handle("k", func(context.Context, driven.Task) error { <-release; return nil })
		ids := k.put("k", 100)
		bad := ids[37]
		k.store.settle.Store(new(func(out []driven.Outcome) error {
			for _, o := range out {
				if o.Ticket.ID == bad {
					return &domain.Fault{Code: domain.Invalid, Op: "settle"}
				}
			}
			return nil
		}))
		r := k.started(runner.Config{Concurrency: 100})
		synctest.Wait()
		close(release)
		time.Sleep(time.Second)
		for _, id := range ids {
			if id != bad {
				k.wantState(domain.Done, id)
			}
		}
		k.wantState(domain.Running, bad)
		more := k.put("k", 10)
		time.Sleep(3 * time.Second)
		k.wantState(domain.Done, more...)
		k.store.settle.Store(nil)
		time.Sleep(3 * time.Second)
		k.wantState(domain.Done, bad)
		k.stop(r)
	})
}

// While a write is in flight the next outcomes gather; an idle runner writes at once.
func TestOutcomesGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		var sizes []int
		k.store.settle.Store(new(func(out []driven.Outcome) error {
			sizes = append(sizes, len(out))
			time.Sleep(time.Second)
			return nil
		}))
		r := k.started(runner.Config{Concurrency: 600})
		first := k.put("k", 1)
		synctest.Wait()
		rest := k.put("k", 1400)
		time.Sleep(10 * time.Second)
		k.stop(r)
		k.wantState(domain.Done, append(first, rest...)...)
		if len(sizes) != 3 || sizes[0] != 1 || sizes[1] != 1000 || sizes[2] != 400 {
			t.Fatalf("writes of %v outcomes", sizes)
		}
	})
}

// What waits to be written is bounded: lanes stop claiming.
func TestBacklogStopsTheClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var runs atomic.Int64
		k.handle("k", func(context.Context, driven.Task) error { runs.Add(1); return nil })
		k.store.settle.Store(new(func([]driven.Outcome) error { return down("settle") }))
		r := k.started(runner.Config{Concurrency: 100})
		ids := k.put("k", 5000)
		time.Sleep(20 * time.Second)
		if n := runs.Load(); n < 2000 || n > 2300 { // 2,000 unwritten, 100 at work and their 200 prefetched
			t.Fatalf("%d ran while nothing could be written", n)
		}
		k.store.settle.Store(nil)
		time.Sleep(time.Minute)
		k.stop(r)
		k.wantState(domain.Done, ids...)
		if runs.Load() != 5000 {
			t.Fatalf("%d runs", runs.Load())
		}
	})
}

// The lease ran out while a finished result could not be written, and another
// runner put the job back: its word stands, the late outcome is dropped.
func TestOvertakenOutcomeIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		k.store.settle.Store(new(func([]driven.Outcome) error { return down("settle") }))
		k.store.renew.Store(new(func(context.Context) error { return down("renew") }))
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		time.Sleep(61 * time.Second)
		stalls := domain.StallPolicy{Base: time.Hour, Cap: time.Hour, Max: 3}
		got, err := k.store.Recover(t.Context(), driven.RecoverRequest{Limit: 10, Stalls: stalls})
		must(t, err)
		k.store.settle.Store(nil)
		time.Sleep(5 * time.Second)
		k.stop(r)
		if j := k.job(id); len(got.Jobs) != 1 || j.State != domain.Scheduled || j.Stalls != 1 || j.Attempts != 0 {
			t.Fatalf("%d put back; %v, %d stalls, %d attempts", len(got.Jobs), j.State, j.Stalls, j.Attempts)
		}
		if k.count(domain.EventOutcomeDropped) != 1 || k.count(domain.EventCompleted) != 0 {
			t.Fatalf("%d dropped, %d completed", k.count(domain.EventOutcomeDropped), k.count(domain.EventCompleted))
		}
	})
}

// While short jobs wait for a worker, outcomes wait for theirs.
func TestWritesWaitForShortJobs(t *testing.T) {
	for _, c := range []struct{ run, write time.Duration }{{time.Millisecond, 3 * time.Millisecond / 2}, {10 * time.Millisecond, 5 * time.Millisecond}} {
		t.Run(c.run.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var runs atomic.Int64
				k.handle("k", func(context.Context, driven.Task) error {
					if runs.Add(1) == 2 {
						time.Sleep(c.run / 2) // the others run on, and as many wait
						return nil
					}
					time.Sleep(c.run)
					return nil
				})
				r := k.started(runner.Config{Concurrency: 10})
				k.put("k", 1)
				time.Sleep(time.Second) // how long it ran is known now
				var writes []time.Duration
				door := func([]driven.Outcome) error { writes = append(writes, k.since()); return nil }
				k.store.settle.Store(&door)
				began := k.since()
				ids := k.put("k", 20)
				time.Sleep(time.Second)
				k.stop(r)
				k.wantState(domain.Done, ids...)
				if first := writes[0] - began; first != c.write {
					t.Errorf("the first outcomes were written after %v, want %v", first, c.write)
				}
			})
		})
	}
}
