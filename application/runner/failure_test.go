package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// funeral notes what the handler of a failure kind was told.
type funeral struct {
	mu   sync.Mutex
	args []work.FailedJob
	last driven.Task
}

func (f *funeral) run(_ context.Context, t driven.Task) error {
	var args work.FailedJob
	if err := json.Unmarshal(t.Args, &args); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.args, f.last = append(f.args, args), t
	return nil
}

// list is what it was told until now.
func (f *funeral) list() []work.FailedJob {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.args)
}

func bury(context.Context, driven.Task) error { return work.Bury(errors.New("no use")) }

func TestAJobThatDiesHasItsFailureJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, told := newKit(t), &funeral{}
		k.handle("k", bury, work.OnDeath("told"), work.MaxAttempts(7))
		k.handle("told", told.run)
		k.started(lease(time.Minute))
		id := k.put("k", 1, func(n *domain.NewJob) { n.Tenant = "acme" })[0]
		time.Sleep(time.Second)
		k.wantState(domain.Dead, id)
		if len(told.list()) != 1 {
			t.Fatalf("%d failure jobs ran", len(told.list()))
		}
		got := told.list()[0]
		if got.Job.ID != id || got.Job.Kind != "k" || string(got.Job.Args) != `{"n":0}` || got.Job.Attempt != 1 || got.Job.MaxAttempts != 7 || got.Error != "no use" {
			t.Errorf("it was told %+v", got)
		}
		told.mu.Lock()
		defer told.mu.Unlock()
		if told.last.Queue != "default" || told.last.Tenant != "acme" || !told.last.Batch.IsZero() {
			t.Errorf("it ran as %+v", told.last)
		}
	})
}

func TestTheJobsOwnFailureKindStandsBeforeItsKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, kinds, own := newKit(t), &funeral{}, &funeral{}
		k.handle("k", bury, work.OnDeath("kinds"))
		k.handle("kinds", kinds.run)
		k.handle("own", own.run)
		k.started(lease(time.Minute))
		k.put("k", 1, func(n *domain.NewJob) { n.FailureKind = "own" })
		time.Sleep(time.Second)
		if len(kinds.list()) != 0 || len(own.list()) != 1 {
			t.Errorf("%d of its kind's, %d of its own", len(kinds.list()), len(own.list()))
		}
	})
}

// TestAFailureJobHasNone: also where its kind declares one, even one that leads back.
func TestAFailureJobHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("a", bury, work.OnDeath("b"))
		k.handle("b", bury, work.OnDeath("a"))
		k.started(lease(time.Minute))
		k.put("a", 1)
		time.Sleep(time.Minute)
		if died := k.count(domain.EventDied); died != 2 {
			t.Errorf("%d jobs died, want the job and its failure job", died)
		}
		if n := k.count(domain.EventFailureJobNotAdded); n != 0 {
			t.Errorf("%d were said to be missing", n)
		}
	})
}

func TestOnlyDeathAddsAFailureJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, told := newKit(t), &funeral{}
		k.handle("cancels", func(context.Context, driven.Task) error { return work.Cancel(errors.New("left")) }, work.OnDeath("told"))
		k.handle("works", func(context.Context, driven.Task) error { return nil }, work.OnDeath("told"))
		k.handle("fails", func(context.Context, driven.Task) error { return errors.New("again") }, work.OnDeath("told"),
			work.Retry(domain.RetryPolicy{Base: time.Second, Factor: 1, Cap: time.Second, MaxAttempts: 3}))
		k.handle("told", told.run)
		k.started(lease(time.Minute))
		k.put("cancels", 1)
		k.put("works", 1)
		k.put("fails", 1)
		time.Sleep(1500 * time.Millisecond)
		if len(told.list()) != 0 {
			t.Fatalf("a failure job before anybody died: %+v", told.list())
		}
		time.Sleep(time.Minute)
		if len(told.list()) != 1 || told.list()[0].Job.Kind != "fails" || told.list()[0].Job.Attempt != 3 || told.list()[0].Job.MaxAttempts != 3 {
			t.Errorf("told %+v", told.list())
		}
	})
}

func TestAFailureJobThatIsRefusedIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.store.refuse.Store(true)
		k.handle("k", bury, work.OnDeath("told"))
		k.handle("told", func(context.Context, driven.Task) error { return nil })
		k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		time.Sleep(time.Second)
		k.wantState(domain.Dead, id)
		if k.count(domain.EventFailureJobNotAdded) != 1 || k.count(domain.EventDied) != 1 {
			t.Errorf("%d not added, %d died", k.count(domain.EventFailureJobNotAdded), k.count(domain.EventDied))
		}
	})
}

func TestAFailureJobThatCannotBeBuiltIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", bury)
		k.started(lease(time.Minute))
		k.put("k", 1, func(n *domain.NewJob) { n.FailureKind = strings.Repeat("x", domain.MaxKind+1) }) // no door lets this through
		time.Sleep(time.Second)
		if k.count(domain.EventFailureJobNotAdded) != 1 || k.count(domain.EventDied) != 1 {
			t.Errorf("%d not added, %d died", k.count(domain.EventFailureJobNotAdded), k.count(domain.EventDied))
		}
	})
}

func TestADrainRunsFailureJobsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, told := newKit(t), &funeral{}
		k.handle("k", bury, work.OnDeath("told"))
		k.handle("told", told.run)
		k.put("k", 20)
		got, err := k.runner(lease(time.Minute)).Drain(t.Context(), drainAll)
		must(t, err)
		if got.Dead != 20 || got.Completed != 20 || len(told.list()) != 20 {
			t.Errorf("drained %+v, %d told", got, len(told.list()))
		}
	})
}

func TestAFailureKindNeedsAHandler(t *testing.T) {
	k := newKit(t)
	k.handle("k", bury, work.OnDeath("typo"))
	err := k.runner(runner.Config{}).Start(t.Context())
	wantCode(t, err, domain.Invalid)
	if !strings.Contains(err.Error(), "typo") || !strings.Contains(err.Error(), "k:") {
		t.Errorf("it names neither: %v", err)
	}
}

func TestArgsOfAKindAreForgottenAtDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("works", func(context.Context, driven.Task) error { return nil }, work.ForgetArgs())
		k.handle("dies", bury, work.ForgetArgs())
		k.started(lease(time.Minute))
		done, dead := k.put("works", 1)[0], k.put("dies", 1)[0]
		time.Sleep(time.Second)
		if j := k.job(done); j.State != domain.Done || !j.Forgotten || len(j.Args) != 0 {
			t.Errorf("the done job is %+v", j)
		}
		if j := k.job(dead); j.State != domain.Dead || j.Forgotten || len(j.Args) == 0 {
			t.Errorf("the dead job is %+v", j)
		}
	})
}
