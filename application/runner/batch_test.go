package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

var drainAll = driving.DrainOptions{Limit: driving.NoLimit}

// reports are what callbacks were told.
type reports struct {
	mu  sync.Mutex
	all []domain.BatchReport
}

func (r *reports) run(_ context.Context, t driven.Task) error {
	var args struct{ Batch domain.BatchReport }
	if err := json.Unmarshal(t.Args, &args); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, args.Batch)
	return nil
}

func (r *reports) list() []domain.BatchReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// batch makes an open batch with a callback.
func (k *kit) batch() domain.BatchID {
	k.t.Helper()
	id := k.ids.NewBatchID()
	must(k.t, k.store.CreateBatch(k.t.Context(), domain.NewBatch{
		ID: id, Name: "b", Callback: &domain.Template{Kind: "callback", Queue: "default", Args: []byte(`{"own":1}`)},
	}))
	return id
}

func (k *kit) seal(id domain.BatchID) {
	k.t.Helper()
	_, err := k.store.SealBatch(k.t.Context(), id, "")
	must(k.t, err)
}

func in(id domain.BatchID) func(*domain.NewJob) { return func(n *domain.NewJob) { n.Batch = id } }

func TestACallbackComesWhenTheLastMemberHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, told := newKit(t), &reports{}
		var batch domain.BatchID
		k.handle("short", func(_ context.Context, task driven.Task) error {
			if task.Batch != batch {
				return errors.New("it does not know its batch")
			}
			return nil
		})
		k.handle("dies", bury)
		k.handle("cancels", func(context.Context, driven.Task) error { return work.Cancel(errors.New("left")) })
		k.handle("long", func(context.Context, driven.Task) error { <-time.After(time.Hour); return nil })
		k.handle("callback", told.run)
		batch = k.batch()
		k.put("short", 20, in(batch))
		k.put("dies", 1, in(batch))
		k.put("cancels", 1, in(batch))
		k.put("long", 1, in(batch))
		k.seal(batch)
		k.started(runner.Config{Queues: runner.Queues{"default": 4}})
		time.Sleep(time.Hour - time.Second)
		if n := len(told.list()); n != 0 {
			t.Fatalf("%d callbacks while a member runs", n)
		}
		time.Sleep(1100 * time.Millisecond) // no poll and no sweep is needed
		want := domain.BatchReport{ID: batch, Name: "b", Total: 23, Done: 21, Failed: 2}
		if got := told.list(); len(got) != 1 || got[0] != want {
			t.Fatalf("callbacks %+v, want %+v", got, want)
		}
		if k.count(domain.EventBatchFinished) != 1 {
			t.Errorf("%d events", k.count(domain.EventBatchFinished))
		}
	})
}

// TestPlainJobsNeverAskForBatches: what is in no batch has nothing to do with them.
func TestPlainJobsNeverAskForBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		k.started(lease(time.Minute))
		k.put("k", 100)
		time.Sleep(time.Second)
		if n := k.store.finishes.Load(); n != 0 || k.count(domain.EventCompleted) != 100 {
			t.Errorf("%d looks at batches, %d done", n, k.count(domain.EventCompleted))
		}
	})
}

// TestLooksAtABatchGather: while one is in flight the outcomes go on, and one more
// look is for all of them.
func TestLooksAtABatchGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		slow := func() error { <-time.After(10 * time.Second); return nil }
		k.store.finish.Store(&slow)
		k.handle("k", func(context.Context, driven.Task) error { <-time.After(100 * time.Millisecond); return nil })
		batch := k.batch()
		k.put("k", 200, in(batch))
		k.started(lease(time.Minute))
		time.Sleep(9 * time.Second)
		if n := k.store.finishes.Load(); n != 1 || k.count(domain.EventCompleted) != 200 {
			t.Errorf("%d looks, %d done behind the first one", n, k.count(domain.EventCompleted))
		}
		time.Sleep(time.Minute)
		if n := k.store.finishes.Load(); n != 2 {
			t.Errorf("%d looks in all", n)
		}
	})
}

func TestAFailedLookIsReportedAndStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		broken := func() error { return down("finish batches") }
		k.store.finish.Store(&broken)
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		batch := k.batch()
		r := k.started(lease(time.Minute))
		k.put("k", 1, in(batch))
		time.Sleep(time.Second)
		k.put("k", 1, in(batch))
		time.Sleep(time.Second)
		k.stop(r)
		if k.count(domain.EventError) != 2 || k.count(domain.EventCompleted) != 2 {
			t.Errorf("%d errors, %d done", k.count(domain.EventError), k.count(domain.EventCompleted))
		}
	})
}

func TestADrainWaitsForTheCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, told := newKit(t), &reports{}
		slow := func() error { <-time.After(3 * time.Second); return nil }
		k.store.finish.Store(&slow)
		k.handle("k", func(context.Context, driven.Task) error { return nil })
		k.handle("callback", told.run)
		batch := k.batch()
		k.put("k", 10, in(batch))
		k.seal(batch)
		got, err := k.runner(lease(time.Minute)).Drain(t.Context(), drainAll)
		must(t, err)
		if got.Completed != 11 || len(told.list()) != 1 {
			t.Errorf("drained %+v, %d callbacks", got, len(told.list()))
		}
	})
}

func TestAStopLooksAtTheBatchesItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.handle("k", func(context.Context, driven.Task) error { <-time.After(5 * time.Second); return nil })
		k.handle("callback", func(context.Context, driven.Task) error { return nil })
		batch := k.batch()
		k.put("k", 1, in(batch))
		k.seal(batch)
		r := k.started(lease(time.Minute))
		time.Sleep(time.Second)
		k.stop(r)
		b, err := k.store.Batch(t.Context(), batch, "")
		must(t, err)
		if b.State() != domain.BatchFinished {
			t.Errorf("the batch is %v after the stop", b.State())
		}
		k.wantState(domain.Ready, b.CallbackJob)
	})
}
