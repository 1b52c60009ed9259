package runner_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestClaimErrorsDoNotEndTheLoop(t *testing.T) {
	for _, code := range []domain.Code{domain.Unavailable, domain.Contended, domain.Internal} {
		t.Run(string(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("k", func(context.Context, driven.Task) error { return nil })
				k.store.claim.Store(new(func(driven.ClaimRequest) error { return &domain.Fault{Code: code, Op: "claim"} }))
				r := k.started(runner.Config{Queues: runner.Queues{"default": 2}})
				ids := k.put("k", 5)
				time.Sleep(10 * time.Minute)
				n := k.store.claims.Load()
				if low, high := int64(500), int64(700); code != domain.Contended && (n < low || n > high) {
					t.Errorf("%d claims in 10 min of errors", n)
				}
				if code == domain.Contended && (n < 2500 || n > 4500) {
					t.Errorf("%d claims in 10 min of contention", n)
				}
				if k.count(domain.EventError) != int(n) {
					t.Errorf("%d errors told of %d", k.count(domain.EventError), n)
				}
				k.store.claim.Store(nil)
				time.Sleep(2 * time.Second)
				k.stop(r)
				k.wantState(domain.Done, ids...)
			})
		})
	}
}

// liar announces jobs and gives none.
type liar struct {
	driven.Store
	answer driven.Claims
	calls  atomic.Int64
}

func (l *liar) Claim(context.Context, driven.ClaimRequest) (driven.Claims, error) {
	l.calls.Add(1)
	return l.answer, nil
}

func TestLoopsDoNotSpin(t *testing.T) {
	for name, answer := range map[string]driven.Claims{"next": {Next: 0}, "negative": {Next: -time.Hour}, "more": {More: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("k", func(context.Context, driven.Task) error { return nil })
				l := &liar{Store: k.store, answer: answer}
				r, err := runner.New(runner.Config{Queues: runner.Queues{"default": 2}}, runner.Deps{Store: l, Registry: k.reg, IDs: k.ids, Clock: system.Clock()})
				must(t, err)
				must(t, r.Start(t.Context()))
				time.Sleep(10 * time.Minute)
				k.stop(r)
				if n := l.calls.Load(); n > 5000 {
					t.Fatalf("%d claims in 10 min", n)
				}
			})
		})
	}
}

// sparrow gives every claim one job too many, and an unknown one.
type sparrow struct{ driven.Store }

func (s sparrow) Claim(ctx context.Context, req driven.ClaimRequest) (driven.Claims, error) {
	req.N++
	req.Kinds = append(req.Kinds, "unknown")
	return s.Store.Claim(ctx, req)
}

func TestMoreThanAskedForIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var live atomic.Int64
		k.handle("k", func(context.Context, driven.Task) error {
			if live.Add(1) > 2 {
				t.Error("more run than there are workers")
			}
			defer live.Add(-1)
			time.Sleep(time.Second)
			return nil
		})
		r, err := runner.New(runner.Config{Concurrency: 2}, runner.Deps{Store: sparrow{k.store}, Registry: k.reg, IDs: k.ids, Clock: system.Clock(), Observer: k})
		must(t, err)
		must(t, r.Start(t.Context()))
		ids := k.put("k", 10)
		time.Sleep(time.Minute)
		k.stop(r)
		k.wantState(domain.Done, ids...)
	})
}

// dying is a notifier whose listener dies again and again.
type dying struct{ listens atomic.Int64 }

func (*dying) Notify(...string) {}
func (d *dying) Listen(context.Context, func(string)) error {
	d.listens.Add(1)
	return down("listen")
}

func TestDeadListenerIsArmedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, d := newKit(t), &dying{}
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		r, err := runner.New(runner.Config{Poll: 10 * time.Second}, runner.Deps{Store: k.store, Registry: k.reg, IDs: k.ids, Clock: system.Clock(), Observer: k, Wake: d})
		must(t, err)
		must(t, r.Start(t.Context()))
		time.Sleep(time.Minute)
		id := k.put("k", 1)
		time.Sleep(1500 * time.Millisecond) // a listener that came back is followed by a look
		synctest.Wait()
		k.wantState(domain.Done, id...)
		k.stop(r)
		if n := d.listens.Load(); n < 55 || n > 65 {
			t.Fatalf("armed %d times in a minute", n)
		}
	})
}

// A claim that is under way when the runner stops is waited for, and what it
// gives is given back.
func TestClaimUnderWayAtStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { t.Error("it was started"); return nil })
		k.store.claim.Store(new(func(driven.ClaimRequest) error { time.Sleep(5 * time.Second); return nil }))
		ids := k.put("k", 3)
		r := k.started(runner.Config{})
		k.stop(r)
		if k.since() != 5*time.Second {
			t.Fatalf("stopped after %v", k.since())
		}
		k.wantState(domain.Ready, ids...)
		if k.count(domain.EventReleased) != 3 {
			t.Fatalf("%d released", k.count(domain.EventReleased))
		}
	})
}

// Memory grows with the configuration, not with the jobs done.
func TestNothingIsKeptOfFinishedJobs(t *testing.T) {
	k := newKit(t)
	k.handle("k", func(ctx context.Context, _ driven.Task) error { return ctx.Err() })
	r, err := runner.New(runner.Config{Concurrency: 50}, runner.Deps{Store: k.store, Registry: k.reg, IDs: k.ids, Clock: system.Clock()})
	must(t, err)
	heap := func() uint64 {
		k.put("k", 2_000)
		got, err := r.Drain(t.Context(), drainAll)
		if err != nil || got.Completed != 2_000 {
			t.Fatalf("%+v, %v", got, err)
		}
		for { // the store keeps its rows; they are not what is measured
			page, err := k.store.Match(t.Context(), domain.Filter{}, domain.Page{Size: 500})
			must(t, err)
			if len(page) == 0 {
				break
			}
			_, err = k.store.Delete(t.Context(), driven.EditRequest{IDs: page})
			must(t, err)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	first, goroutines := heap(), runtime.NumGoroutine()
	for range 5 {
		heap()
	}
	if last := heap(); last > first+2<<20 || runtime.NumGoroutine() > goroutines+2 {
		t.Fatalf("the heap went from %d to %d bytes, goroutines from %d to %d", first, last, goroutines, runtime.NumGoroutine())
	}
}
