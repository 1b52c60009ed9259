package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// gauge is a high-water mark that handlers record themselves.
type gauge struct {
	mu        sync.Mutex
	now, most int
	started   []time.Time
}

func (g *gauge) in() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
	g.started = append(g.started, time.Now())
}

func (g *gauge) out() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
}

func (g *gauge) peak() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

func (g *gauge) starts() []time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.started)
}

func (g *gauge) run(d time.Duration) func(context.Context, driven.Task) error {
	return func(context.Context, driven.Task) error {
		g.in()
		defer g.out()
		time.Sleep(d)
		return nil
	}
}

func keyed(turn domain.Turn, keys ...string) func(*domain.NewJob) {
	return func(j *domain.NewJob) { j.Turn, j.Keys = turn, keys }
}

var minute = work.Timeout(time.Minute)

// limited is a limit of the kind's own.
func limited(n int) work.Option { return work.Limited(work.Limit{N: n}) }

func TestALimitHolds(t *testing.T) {
	for _, limit := range []int{1, 2, 7} {
		for _, run := range []time.Duration{0, time.Millisecond, 70 * time.Millisecond, 3 * time.Second} {
			t.Run(fmt.Sprint(limit, run), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					k := newKit(t)
					var g gauge
					k.handle("k", g.run(run), limited(limit), minute)
					for range 4 {
						k.started(runner.Config{Concurrency: 16})
					}
					ids := k.put("k", 200)
					time.Sleep(time.Duration(200/limit+20)*run*5/4 + 2*time.Second)
					synctest.Wait()
					k.wantState(domain.Done, ids...)
					if g.peak() > limit || run > 0 && g.peak() < limit {
						t.Fatalf("%d ran at once, the limit is %d", g.peak(), limit)
					}
					if n := k.count(domain.EventCompleted); n != len(ids) {
						t.Fatalf("%d were completed", n)
					}
				})
			})
		}
	}
}

// A job that waits for a slot starts at once when that is free, also in another process.
func TestAFreedSlotIsTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(10*time.Second), limited(1), minute)
		k.started(runner.Config{Concurrency: 1})
		k.started(runner.Config{Concurrency: 1})
		ids := k.put("k", 5)
		time.Sleep(time.Second)
		first := map[domain.State]int{} // the runners took one each, and either may be the first to ask
		for _, id := range ids[:2] {
			first[k.job(id).State]++
		}
		if first[domain.Running] != 1 || first[domain.Blocked] != 1 {
			t.Errorf("the first two jobs are %v, want one running and one blocked", first)
		}
		time.Sleep(49*time.Second + 10*time.Millisecond)
		k.wantState(domain.Done, ids...)
		if n := k.count(domain.EventParked); n > 8 {
			t.Errorf("five jobs were parked %d times", n)
		}
	})
}

func TestAnIdleRunnerBesideAFullKeyIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(30*time.Second), limited(1), minute)
		k.started(runner.Config{Concurrency: 5})
		k.put("k", 10)
		time.Sleep(5 * time.Second)
		calls := func() int64 { return k.store.bounds.Load() + k.store.claims.Load() + k.store.renews.Load() }
		before := calls()
		time.Sleep(20 * time.Second)
		if n := calls() - before; n > 20*10 {
			t.Errorf("%d calls in 20 s", n)
		} else {
			t.Logf("%d calls in 20 s", n)
		}
	})
}

func TestMutexTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		var mu sync.Mutex
		var order []domain.JobID
		k.handle("k", func(_ context.Context, task driven.Task) error {
			g.in()
			defer g.out()
			mu.Lock()
			order = append(order, task.ID)
			mu.Unlock()
			time.Sleep(time.Second)
			if task.Attempt == 1 && string(task.Args) == `{"n":1}` {
				return domain.RetryAfter(3500*time.Millisecond, errors.New("once more"))
			}
			return nil
		})
		k.started(runner.Config{Concurrency: 4})
		k.started(runner.Config{Concurrency: 4})
		ids := k.put("k", 6, keyed(domain.TurnMutex, "a", "b"))
		free := k.put("k", 1)
		time.Sleep(20 * time.Second)
		k.wantState(domain.Done, ids...)
		k.wantState(domain.Done, free...)
		if g.peak() > 2 {
			t.Errorf("%d ran at once", g.peak())
		}
		var turns []domain.JobID
		for _, id := range order {
			if id != free[0] {
				turns = append(turns, id)
			}
		}
		// The second steps aside for 3.5 s, in which the next ones have their turn.
		want := []domain.JobID{ids[0], ids[1], ids[2], ids[3], ids[4], ids[5], ids[1]}
		if fmt.Sprint(turns) != fmt.Sprint(want) {
			t.Errorf("the order was %v, want %v", turns, want)
		}
	})
}

func TestAChainKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var mu sync.Mutex
		var order []string
		k.handle("k", func(_ context.Context, task driven.Task) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, fmt.Sprint(string(task.Args), task.Attempt))
			if task.Attempt < 3 && string(task.Args) == `{"n":1}` {
				return errors.New("fails twice")
			}
			return nil
		})
		k.started(runner.Config{Concurrency: 4})
		k.started(runner.Config{Concurrency: 4})
		priority := 10
		ids := k.put("k", 4, keyed(domain.TurnChain, "a"), func(j *domain.NewJob) { priority--; j.Priority = priority })
		time.Sleep(2 * time.Minute)
		k.wantState(domain.Done, ids...)
		want := `[{"n":0}1 {"n":1}1 {"n":1}2 {"n":1}3 {"n":2}1 {"n":3}1]`
		if fmt.Sprint(order) != want {
			t.Errorf("the order was %v, want %v", order, want)
		}
	})
}

func TestADeadJobBlocksItsChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("bad", func(context.Context, driven.Task) error { return domain.Bury(errors.New("no")) })
		k.handle("good", func(context.Context, driven.Task) error { return nil })
		k.started(runner.Config{})
		bad := k.put("bad", 1, keyed(domain.TurnChain, "a"), func(j *domain.NewJob) { j.OnDead = domain.Block })
		next := k.put("good", 1, keyed(domain.TurnChain, "a"))
		other := k.put("good", 1, keyed(domain.TurnChain, "b"))
		time.Sleep(10 * time.Second)
		k.wantState(domain.Dead, bad...)
		k.wantState(domain.Blocked, next...)
		k.wantState(domain.Done, other...)
		released, err := k.store.Unchain(t.Context(), domain.TurnKey(domain.TurnChain, "", "a"))
		must(t, err)
		_, err = k.store.Store.Wake(t.Context(), []string{domain.TurnKey(domain.TurnChain, "", "a")})
		must(t, err)
		time.Sleep(2 * time.Second)
		k.wantState(domain.Done, next...)
		if released.Dead != 1 {
			t.Errorf("%d were released", released.Dead)
		}
	})
}

// In any window there are at most N starts, and not many fewer.
func TestARateHolds(t *testing.T) {
	for _, run := range []time.Duration{0, 30 * time.Millisecond, 2500 * time.Millisecond} {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n, window, jobs = 5, time.Second, 60
				k := newKit(t)
				var g gauge
				k.handle("k", g.run(run), work.Rated(work.Rate{N: n, Window: window}), minute)
				k.started(runner.Config{Concurrency: 16})
				k.started(runner.Config{Concurrency: 16})
				ids := k.put("k", jobs)
				time.Sleep(jobs/n*window*5/4 + run + time.Second)
				synctest.Wait()
				k.wantState(domain.Done, ids...)
				started := g.starts()
				for i := n; i < len(started); i++ {
					if gap := started[i].Sub(started[i-n]); gap < window {
						t.Fatalf("start %d came %v after that of %d before", i, gap, n)
					}
				}
				t.Logf("%d starts took %v", jobs, started[jobs-1].Sub(started[0]))
			})
		})
	}
}

func TestDrainRunsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(time.Second), limited(2), minute)
		ids := k.put("k", 20)
		turns := k.put("k", 5, keyed(domain.TurnMutex, "a"), inQueue("other"))
		got, err := k.runner(runner.Config{Concurrency: 8}).Drain(t.Context(), drainAll)
		must(t, err)
		if got.Completed != 25 || g.peak() != 2 {
			t.Fatalf("%+v, %d at once", got, g.peak())
		}
		k.wantState(domain.Done, append(ids, turns...)...)
	})
}

// Waiters on a key that another process holds do not hold a drain open.
func TestDrainDoesNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var g gauge
		k.handle("k", g.run(time.Hour), limited(1), work.Timeout(2*time.Hour))
		k.started(runner.Config{Concurrency: 1})
		ids := k.put("k", 3)
		synctest.Wait()
		_, err := k.runner(runner.Config{Concurrency: 8}).Drain(t.Context(), drainAll)
		must(t, err)
		if k.since() > 10*time.Second {
			t.Errorf("it took %v", k.since())
		}
		k.wantState(domain.Blocked, ids[1:]...)
		time.Sleep(4 * time.Hour)
		k.wantState(domain.Done, ids...)
	})
}
