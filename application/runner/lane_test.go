package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// quiet makes a runner that hears no hints: it must find everything by polling.
func (k *kit) quiet(cfg runner.Config) *runner.Runner {
	bell := k.bell
	k.bell = system.NewBell()
	defer func() { k.bell = bell }()
	return k.started(cfg)
}

func inQueue(name string) func(*domain.NewJob) { return func(j *domain.NewJob) { j.Queue = name } }

func after(d time.Duration) func(*domain.NewJob) { return func(j *domain.NewJob) { j.Due.After = d } }

// Ten due jobs, two runners of one worker each: none claims what it does not start.
func TestLongJobsAreNotPrefetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { time.Sleep(time.Minute); return nil })
		a, b := k.started(runner.Config{Concurrency: 1}), k.started(runner.Config{Concurrency: 1})
		ids := k.put("k", 10)
		for minute := range 5 {
			time.Sleep(30 * time.Second)
			claimed := 0
			for _, id := range ids {
				if k.job(id).State == domain.Running {
					claimed++
				}
			}
			if claimed != 2 {
				t.Fatalf("minute %d: %d are claimed by two runners of one worker", minute, claimed)
			}
			time.Sleep(30 * time.Second)
		}
		synctest.Wait()
		k.stop(a)
		k.stop(b)
		k.wantState(domain.Done, ids...)
		if k.store.most.Load() != 1 {
			t.Fatalf("a claim asked for %d", k.store.most.Load())
		}
	})
}

func TestPrefetchIsBounded(t *testing.T) {
	for _, c := range []struct {
		run  time.Duration
		off  bool
		most int64
	}{{time.Millisecond, false, 30}, {10 * time.Millisecond, false, 15}, {30 * time.Millisecond, false, 11}, {60 * time.Millisecond, false, 10}, {time.Millisecond, true, 10}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var returned atomic.Int64
				k.handle("k", func(context.Context, driven.Task) error { time.Sleep(c.run); returned.Add(1); return nil })
				r := k.started(runner.Config{Concurrency: 10, NoPrefetch: c.off})
				ids := k.put("k", 500)
				var most int64
				for returned.Load() < 500 {
					time.Sleep(c.run / 2)
					claimed := int64(k.count(domain.EventClaimed)) // first: what returns meanwhile makes it less
					most = max(most, claimed-returned.Load())
				}
				k.stop(r)
				k.wantState(domain.Done, ids...)
				if most > c.most {
					t.Fatalf("%d were claimed at once, at most %d may", most, c.most)
				}
			})
		})
	}
}

// A job that was prefetched and then waits behind long ones is given back.
func TestPrefetchedJobIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("short", func(context.Context, driven.Task) error { return nil })
		k.handle("long", func(context.Context, driven.Task) error { time.Sleep(time.Hour); return nil })
		r := k.started(runner.Config{Queues: runner.Queues{"default": 1}})
		k.put("short", 20)
		synctest.Wait()
		ids := k.put("long", 2)
		time.Sleep(10 * time.Second)
		k.wantState(domain.Running, ids[0])
		k.wantState(domain.Ready, ids[1])
		time.Sleep(50 * time.Minute)
		if k.count(domain.EventReleased) != 1 {
			t.Fatalf("it was given back %d times", k.count(domain.EventReleased))
		}
		time.Sleep(2 * time.Hour)
		k.stop(r)
		k.wantState(domain.Done, ids...)
	})
}

// Workers are woken one by one, also while those woken before are busy.
func TestAsManyRunAsThereAreWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 50
		k := newKit(t)
		var all sync.WaitGroup
		all.Add(workers)
		k.handle("k", func(context.Context, driven.Task) error { all.Done(); all.Wait(); return nil })
		r := k.started(runner.Config{Concurrency: workers})
		synctest.Wait() // all rest
		ids := k.put("k", workers)
		synctest.Wait()
		k.wantState(domain.Done, ids...)
		k.stop(r)
	})
}

func TestEnqueueWakesAtOnce(t *testing.T) {
	for name, cfg := range map[string]runner.Config{"one queue": lease(time.Minute), "all queues": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("k", func(context.Context, driven.Task) error { return nil })
				r := k.started(cfg)
				time.Sleep(time.Hour + 300*time.Millisecond)
				before := time.Now()
				id := k.put("k", 1)
				synctest.Wait()
				k.wantState(domain.Done, id...)
				if time.Since(before) != 0 {
					t.Fatalf("it took %v", time.Since(before))
				}
				k.stop(r)
			})
		})
	}
}

func TestPollingAloneIsEnough(t *testing.T) {
	for name, cfg := range map[string]runner.Config{"one queue": lease(time.Minute), "all queues": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("k", func(context.Context, driven.Task) error { return nil })
				r := k.quiet(cfg)
				time.Sleep(time.Minute + 300*time.Millisecond)
				now, soon := k.put("k", 1), k.put("k", 1, after(2300*time.Millisecond))
				time.Sleep(time.Second)
				synctest.Wait()
				k.wantState(domain.Done, now...)
				time.Sleep(1310 * time.Millisecond)
				synctest.Wait()
				k.wantState(domain.Done, soon...) // when it is due, not at the next poll
				k.stop(r)
			})
		})
	}
}

// A wait that is shorter than the poll interval is no longer for the runner that
// wrote it, in whatever sleep it is.
func TestShortWaitIsNotSleptOver(t *testing.T) {
	for name, cfg := range map[string]runner.Config{"one queue": lease(time.Minute), "all queues": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var ran []time.Duration
				k.handle("k", func(_ context.Context, task driven.Task) error {
					ran = append(ran, k.since())
					time.Sleep(200 * time.Millisecond) // the lane sleeps by now
					return domain.RetryAfter(70*time.Millisecond, errors.New("not yet"))
				}, work.MaxAttempts(4))
				r := k.started(cfg)
				id := k.put("k", 1)
				time.Sleep(time.Hour)
				k.wantState(domain.Dead, id...)
				for i, at := range ran {
					if want := ran[0] + time.Duration(i)*270*time.Millisecond; at < want || at > want+2*time.Millisecond {
						t.Errorf("run %d began at %v, want %v", i+1, at, want)
					}
				}
				k.stop(r)
			})
		})
	}
}

// Few long jobs in each of many queues keep all workers busy at once: no claim
// waits for what an earlier one gave to end, also where jobs were short until now.
func TestLongJobsOfManyQueuesStartTogether(t *testing.T) {
	for name, before := range map[string]int{"from the start": 0, "after short ones": 50} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				var running atomic.Int64
				k.handle("long", func(context.Context, driven.Task) error {
					running.Add(1)
					time.Sleep(time.Minute)
					return nil
				})
				k.handle("short", func(context.Context, driven.Task) error {
					time.Sleep(time.Millisecond)
					return nil
				})
				r := k.started(runner.Config{Concurrency: 20})
				for range before {
					k.put("short", 1)
					time.Sleep(2 * time.Millisecond)
				}
				for q := range 30 {
					k.put("long", 2, inQueue(fmt.Sprintf("q%02d", q)))
				}
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				if n := running.Load(); n != 20 {
					t.Errorf("%d of 20 workers work", n)
				}
				k.stop(r)
			})
		})
	}
}

func TestAllQueuesHaveTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var mu sync.Mutex
		first := map[string]time.Duration{}
		k.handle("k", func(_ context.Context, task driven.Task) error {
			time.Sleep(10 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if _, ok := first[task.Queue]; !ok {
				first[task.Queue] = k.since()
			}
			return nil
		})
		r := k.quiet(runner.Config{Concurrency: 20})
		var ids []domain.JobID
		for q := range 250 {
			ids = append(ids, k.put("k", 2, inQueue(fmt.Sprintf("q%03d", q)))...)
		}
		ids = append(ids, k.put("k", 5000, inQueue("busy"))...)
		time.Sleep(time.Minute)
		k.stop(r)
		k.wantState(domain.Done, ids...)
		for queue, at := range first {
			if at > 3*time.Second {
				t.Errorf("queue %s had to wait %v", queue, at)
			}
		}
	})
}

// A new queue is found within a poll, though a busy one keeps every worker at work.
func TestNewQueueBesideABusyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { time.Sleep(5 * time.Millisecond); return nil })
		r := k.quiet(runner.Config{Concurrency: 2})
		k.put("k", 5000, inQueue("busy"))
		time.Sleep(3 * time.Second)
		id := k.put("k", 1, inQueue("new"))
		time.Sleep(2 * time.Second)
		k.wantState(domain.Done, id...)
		k.stop(r)
	})
}

func TestOrderOfOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var got []int
		k.handle("k", func(_ context.Context, task driven.Task) error { got = append(got, int(task.Args[5]-'0')); return nil })
		k.put("k", 3)
		k.put("k", 3, func(j *domain.NewJob) { j.Priority = -1 })
		r := k.started(runner.Config{Concurrency: 1})
		time.Sleep(time.Second)
		k.stop(r)
		if fmt.Sprint(got) != "[0 1 2 0 1 2]" {
			t.Fatalf("order %v", got)
		}
	})
}
