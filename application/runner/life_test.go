package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestJobRunsOnceAndIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var seen driven.Task
		var tenant string
		k.handle("k", func(ctx context.Context, task driven.Task) error {
			seen, tenant = task, domain.TenantOf(ctx)
			time.Sleep(3 * time.Second)
			return work.SetResult(ctx, map[string]int{"sum": 5})
		}, work.MaxAttempts(7))
		r := k.started(lease(time.Minute))
		id := k.put("k", 1, func(j *domain.NewJob) { j.Tenant, j.Tags = "acme", []string{"x"} })[0]
		time.Sleep(5 * time.Second)
		k.stop(r)
		j := k.job(id)
		if j.State != domain.Done || j.Attempts != 1 || string(j.Result) != `{"sum":5}` || j.Ran != 3*time.Second {
			t.Fatalf("job %+v", j)
		}
		if seen.Attempt != 1 || seen.MaxAttempts != 7 || string(seen.Args) != `{"n":0}` || seen.Runner != r.ID() || tenant != "acme" || seen.Tags[0] != "x" {
			t.Fatalf("task %+v, tenant %q", seen, tenant)
		}
		if k.count(domain.EventClaimed) != 1 || k.count(domain.EventCompleted) != 1 {
			t.Fatalf("events %+v", k.events)
		}
		done := k.events[len(k.events)-1]
		if done.Job != id || done.Tenant != "acme" || done.Attempt != 1 || done.Ran != 3*time.Second {
			t.Fatalf("event %+v", done)
		}
	})
}

func TestTenantOfTheStarterIsNotInherited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		tenant := "unset"
		k.handle("k", func(ctx context.Context, _ driven.Task) error { tenant = domain.TenantOf(ctx); return nil })
		r := k.runner(lease(time.Minute))
		must(t, r.Start(domain.WithTenant(t.Context(), "starter")))
		synctest.Wait()
		k.put("k", 1)
		synctest.Wait()
		k.stop(r)
		if tenant != "" {
			t.Fatalf("the handler ran as %q", tenant)
		}
	})
}

func TestFailureIsRetriedUntilDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var runs []time.Duration
		k.handle("k", func(context.Context, driven.Task) error {
			runs = append(runs, k.since())
			return fmt.Errorf("failure %d", len(runs))
		}, work.Backoff(func(attempt int, _ error) time.Duration { return time.Duration(attempt) * time.Minute }))
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		time.Sleep(time.Hour)
		k.stop(r)
		j := k.job(id)
		notes, err := j.History.Notes()
		must(t, err)
		if j.State != domain.Dead || j.Attempts != 5 || j.Error != "failure 5" || len(notes) != 5 || notes[2].Message != "failure 3" || notes[2].Attempt != 3 {
			t.Fatalf("job %+v, notes %+v", j, notes)
		}
		for i, at := range []time.Duration{0, 1, 3, 6, 10} {
			if late := runs[i] - at*time.Minute; late < 0 || late > 10*time.Millisecond {
				t.Errorf("run %d at %v, want %v", i+1, runs[i], at*time.Minute)
			}
		}
		if k.count(domain.EventRetried) != 4 || k.count(domain.EventDied) != 1 {
			t.Errorf("%d retried, %d died", k.count(domain.EventRetried), k.count(domain.EventDied))
		}
	})
}

func TestOutcomes(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		err      error
		state    domain.State
		attempts int
		due      time.Duration
		event    domain.EventType
	}{
		"bury":        {work.Bury(boom), domain.Dead, 1, 0, domain.EventDied},
		"retry after": {work.RetryAfter(7*time.Hour, boom), domain.Scheduled, 1, 7 * time.Hour, domain.EventRetried},
		"snooze":      {work.Snooze(9 * time.Hour), domain.Scheduled, 0, 9 * time.Hour, domain.EventSnoozed},
		"cancel":      {work.Cancel(boom), domain.Cancelled, 0, 0, domain.EventCancelled},
		"wrapped":     {fmt.Errorf("outer: %w", work.Bury(boom)), domain.Dead, 1, 0, domain.EventDied},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("k", func(context.Context, driven.Task) error { return c.err })
				r := k.started(lease(time.Minute))
				id := k.put("k", 1)[0]
				synctest.Wait()
				k.stop(r)
				j := k.job(id)
				if j.State != c.state || j.Attempts != c.attempts || k.count(c.event) != 1 {
					t.Fatalf("%v, %d attempts, %d events", j.State, j.Attempts, k.count(c.event))
				}
				if c.due > 0 && time.Until(j.RunAt).Round(time.Second) != c.due {
					t.Fatalf("due in %v, want %v", time.Until(j.RunAt), c.due)
				}
			})
		})
	}
}

// deref panics in the runtime for nil.
func deref(p *error) error { return *p }

// rude is an error whose text cannot be had.
type rude struct{}

func (rude) Error() string { panic("no text") }

func TestPanics(t *testing.T) {
	for name, c := range map[string]struct {
		run  func() error
		want string
	}{
		"string":       {func() error { panic("ouch") }, "panic: ouch"},
		"error":        {func() error { panic(errors.New("ouch")) }, "panic: ouch"},
		"bury":         {func() error { panic(work.Bury(errors.New("ouch"))) }, "panic: ouch"},
		"nil":          {func() error { panic(nil) }, "nil"}, //nolint:govet // the case itself
		"runtime":      {func() error { return deref(nil) }, "nil pointer"},
		"goexit":       {func() error { runtime.Goexit(); return nil }, "Goexit"},
		"rude error":   {func() error { return rude{} }, "cannot be read"},
		"NUL and size": {func() error { return errors.New("a\x00" + strings.Repeat("x", 20<<20)) }, "a␀xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.handle("bad", func(context.Context, driven.Task) error { return c.run() })
				k.handle("good", func(context.Context, driven.Task) error { return nil })
				r := k.started(runner.Config{Queues: runner.Queues{"default": 1}})
				bad := k.put("bad", 1)[0]
				synctest.Wait()
				good := k.put("good", 3)
				synctest.Wait()
				k.stop(r)
				k.wantState(domain.Done, good...)
				j := k.job(bad)
				notes, err := j.History.Notes()
				must(t, err)
				if j.State != domain.Scheduled || j.Attempts != 1 || !strings.Contains(j.Error, c.want) || len(notes) != 1 {
					t.Fatalf("%v, %d attempts, error %.80q", j.State, j.Attempts, j.Error)
				}
				if raised := strings.HasPrefix(c.want, "panic") || name == "goexit"; raised && !strings.Contains(notes[0].Stack, "TestPanics") {
					t.Fatalf("no stack of the handler: %s", notes[0].Stack)
				}
			})
		})
	}
}

func TestPanickingHooksLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { return errors.New("real reason") },
			work.Backoff(func(int, error) time.Duration { panic("backoff") }))
		r, err := runner.New(lease(time.Minute), runner.Deps{
			Store: k.store, Registry: k.reg, IDs: k.ids, Clock: wall{}, Observer: angry{}, Wake: k.bell,
		})
		must(t, err)
		must(t, r.Start(t.Context()))
		synctest.Wait()
		id := k.put("k", 1)[0]
		synctest.Wait()
		k.stop(r)
		if j := k.job(id); j.State != domain.Scheduled || j.Error != "real reason" {
			t.Fatalf("%v, error %q", j.State, j.Error)
		}
	})
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

type angry struct{}

func (angry) Observe(domain.Event) { panic("observer") }

func TestUnknownKindsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("known", func(context.Context, driven.Task) error { return nil })
		r := k.started(runner.Config{})
		unknown, known := k.put("unknown", 3), k.put("known", 3)
		time.Sleep(time.Hour)
		k.stop(r)
		k.wantState(domain.Ready, unknown...)
		k.wantState(domain.Done, known...)
		if j := k.job(unknown[0]); j.Attempts != 0 || j.Stalls != 0 {
			t.Fatalf("an unknown kind was touched: %+v", j)
		}
	})
}

func TestDayOfRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var runs atomic.Int64
		k.handle("k", func(context.Context, driven.Task) error { runs.Add(1); return errors.New("again") },
			work.Retry(domain.RetryPolicy{Base: time.Minute, Factor: 1, Jitter: 0.1, Cap: time.Hour, MaxAttempts: 10_000}))
		r := k.started(runner.Config{Poll: 10 * time.Second})
		ids := k.put("k", 5)
		time.Sleep(24 * time.Hour)
		k.stop(r)
		if per := runs.Load() / 5; per < 1400 || per > 1480 {
			t.Fatalf("%d runs a job in 24 h of one a minute", per)
		}
		for _, id := range ids {
			j := k.job(id)
			notes, err := j.History.Notes()
			must(t, err)
			if j.State != domain.Scheduled || len(notes) != domain.MaxHistory || notes[9].Attempt != j.Attempts {
				t.Fatalf("job %v, %d attempts, %d notes", j.State, j.Attempts, len(notes))
			}
		}
	})
}

func TestNeverTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var mu sync.Mutex
		live := map[domain.JobID]int{}
		var runs atomic.Int64
		k.handle("k", func(_ context.Context, task driven.Task) error {
			mu.Lock()
			live[task.ID]++
			if live[task.ID] > 1 {
				t.Errorf("job runs %d times at once", live[task.ID])
			}
			mu.Unlock()
			time.Sleep(time.Duration(1+runs.Add(1)%7) * time.Millisecond)
			mu.Lock()
			live[task.ID]--
			mu.Unlock()
			return nil
		})
		a, b := k.started(runner.Config{Concurrency: 7}), k.started(runner.Config{Concurrency: 3})
		ids := k.put("k", 1000)
		time.Sleep(10 * time.Second)
		k.stop(a)
		k.stop(b)
		k.wantState(domain.Done, ids...)
		if runs.Load() != 1000 {
			t.Fatalf("%d runs of 1000 jobs", runs.Load())
		}
	})
}
