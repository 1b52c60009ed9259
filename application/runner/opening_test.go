package runner_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func none(context.Context, driven.Task) error { return nil }

func TestStartIsRefused(t *testing.T) {
	shared := func(n int) work.Option { return work.Limited(work.Limit{N: n, Group: "g"}) }
	rated := func(w time.Duration) work.Option { return work.Rated(work.Rate{N: 5, Window: w, Group: "g"}) }
	for name, c := range map[string]struct {
		cfg  runner.Config
		a, b []work.Option
		says []string
	}{
		"limits that differ": {a: []work.Option{shared(1), minute}, b: []work.Option{shared(2), minute}, says: []string{`"a"`, `"b"`, `"g"`}},
		"rates that differ":  {a: []work.Option{rated(time.Second), minute}, b: []work.Option{rated(time.Minute), minute}, says: []string{`"a"`, `"b"`, "5 in 1s"}},
		"no timeout":         {a: []work.Option{shared(1), minute}, b: []work.Option{shared(1)}, says: []string{"b", "Timeout"}},
		"an unknown lane":    {a: []work.Option{work.Lane("slow")}, cfg: runner.Config{Lanes: map[string]int{"fast": 1}}, says: []string{"a", `"slow"`}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.handle("a", none, c.a...)
			k.handle("b", none, c.b...)
			r := k.runner(c.cfg)
			_, drained := r.Drain(t.Context(), drainAll)
			for _, err := range []error{r.Start(t.Context()), drained} {
				wantCode(t, err, domain.Invalid)
				for _, word := range c.says {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%q does not say %s", err, word)
					}
				}
			}
		})
	}
}

func TestADefaultTimeoutWillDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", none, limited(1))
		k.started(runner.Config{Timeout: time.Minute})
		ids := k.put("k", 3)
		time.Sleep(time.Second)
		k.wantState(domain.Done, ids...)
	})
}

// A schema without bounds will do for kinds without bounds, and for no others.
func TestAnOlderSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		old := func(op string) error {
			return &domain.Fault{Code: domain.Unsupported, Op: op, Hint: "a table is not there"}
		}
		k.store.bound.Store(&old)
		k.handle("k", none)
		k.started(runner.Config{})
		ids := k.put("k", 3)
		time.Sleep(10 * time.Second)
		k.wantState(domain.Done, ids...)
		if n := k.count(domain.EventError); n > 0 || k.store.bounds.Load() != 1 {
			t.Errorf("%d errors, %d calls", n, k.store.bounds.Load())
		}
		got, err := k.runner(runner.Config{}).Drain(t.Context(), drainAll)
		must(t, err)
		_ = got

		other := newKit(t)
		other.store.bound.Store(&old)
		other.handle("capped", none, limited(1), minute)
		r := other.runner(runner.Config{})
		_, drained := r.Drain(t.Context(), drainAll)
		for _, err := range []error{r.Start(t.Context()), drained} {
			wantCode(t, err, domain.Unsupported)
			if !strings.Contains(err.Error(), "capped") || !strings.Contains(err.Error(), "rowlock migrate up") {
				t.Error(err)
			}
		}
		other.store.bound.Store(nil)
		must(t, r.Start(t.Context())) // once it is migrated
		other.stop(r)
	})
}

// A right that is missing is not an older schema: it is told until it is granted, and
// nothing is claimed before, also where no kind has bounds.
func TestARightThatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		denied := func(op string) error { return &domain.Fault{Code: domain.Denied, Op: op} }
		k.store.bound.Store(&denied)
		k.handle("k", none)
		ids := k.put("k", 1)
		r := k.runner(runner.Config{})
		_, err := r.Drain(t.Context(), drainAll)
		wantCode(t, err, domain.Denied)
		must(t, r.Start(t.Context()))
		time.Sleep(time.Minute)
		k.wantState(domain.Ready, ids...)
		if k.count(domain.EventError) < 10 {
			t.Errorf("it is told %d times in a minute", k.count(domain.EventError))
		}
		k.store.bound.Store(nil)
		time.Sleep(10 * time.Second)
		k.wantState(domain.Done, ids...)
		k.stop(r)
	})
}

// Nothing is claimed before the store knows what the kinds declare, and it is told
// over and over.
func TestAStoreThatIsAwayAtTheStart(t *testing.T) {
	for name, opts := range map[string][]work.Option{"bounded": {limited(1), minute}, "plain": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				away := func(op string) error { return down(op) }
				k.store.bound.Store(&away)
				k.handle("k", none, opts...)
				r := k.started(runner.Config{})
				ids := k.put("k", 3)
				time.Sleep(10 * time.Second)
				if n, errs := k.store.claims.Load(), k.count(domain.EventError); n > 0 || errs < 3 || errs > 60 {
					t.Errorf("%d claims, %d errors", n, errs)
				}
				k.store.bound.Store(nil)
				time.Sleep(5 * time.Second)
				k.wantState(domain.Done, ids...)
				k.stop(r)
			})
		})
	}
}

// A limit that is declared no more frees those who wait for it.
func TestALimitThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(10*time.Second), limited(1), minute)
		r := k.started(runner.Config{})
		ids := k.put("k", 5)
		time.Sleep(time.Second)
		k.wantState(domain.Blocked, ids[1:]...)
		k.reg = work.NewRegistry()
		k.handle("k", g.run(10*time.Second))
		k.started(runner.Config{})
		synctest.Wait()
		k.wantState(domain.Running, ids...)
		k.stop(r)
	})
}

func TestOwnKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		var asked atomic.Int64
		key := func(args []byte) string {
			asked.Add(1)
			switch string(args) {
			case `{"n":0}`:
				panic(string(args))
			case `{"n":1}`:
				return strings.Repeat("x", 200)
			case `{"n":2}`:
				return ""
			}
			return string(args)
		}
		k.handle("k", g.run(10*time.Second), work.Limited(work.Limit{N: 1, Key: key}), minute)
		k.started(runner.Config{Concurrency: 20})
		ids := k.put("k", 6)
		own := k.put("k", 2, func(j *domain.NewJob) { j.LimitKey = "own" })
		time.Sleep(time.Second)
		k.wantState(domain.Running, ids[0], ids[3], ids[4], ids[5], own[0]) // three share the group's own bucket
		k.wantState(domain.Blocked, ids[1], ids[2], own[1])
		time.Sleep(time.Minute)
		k.wantState(domain.Done, append(ids, own...)...)
		if n := k.count(domain.EventError); n < 2 {
			t.Errorf("%d errors", n)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, e := range k.events {
			if e.Err != nil && strings.Contains(e.Err.Error(), `"n"`) {
				t.Errorf("an event holds args: %v", e.Err)
			}
		}
	})
}

// Kinds of a lane share its workers, in all queues, and no others.
func TestLanes(t *testing.T) {
	for name, queues := range map[string]runner.Queues{"all queues": nil, "named": {"default": 5, "other": 5}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var slow, plain gauge
				k.handle("a", slow.run(time.Second), work.Lane("slow"))
				k.handle("b", slow.run(time.Second), work.Lane("slow"))
				k.handle("c", plain.run(time.Second))
				k.started(runner.Config{Queues: queues, Concurrency: 10, Lanes: map[string]int{"slow": 3}})
				var ids []domain.JobID
				for _, queue := range []string{"default", "other"} {
					for _, kind := range []string{"a", "b", "c"} {
						ids = append(ids, k.put(kind, 15, inQueue(queue))...)
					}
				}
				time.Sleep(3500 * time.Millisecond)
				if slow.peak() != 3 || plain.peak() != 10 || len(plain.starts()) != 30 {
					t.Errorf("%d of the lane ran at once, %d others, %d of them", slow.peak(), plain.peak(), len(plain.starts()))
				}
				time.Sleep(20 * time.Second)
				k.wantState(domain.Done, ids...)
			})
		})
	}
}
