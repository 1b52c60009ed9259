package rowlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

func TestAJobIsWorkedAndSeen(t *testing.T) {
	for name, dsn := range stores(t) {
		t.Run(name, func(t *testing.T) {
			core, lines := observer.New(zapcore.DebugLevel)
			q := open(t, dsn, rowlock.Migrate(), rowlock.WithLogger(zap.New(core)))
			got := make(chan int64, 1)
			rowlock.Handle(q, func(_ context.Context, j work.Job[welcome]) error {
				got <- j.Args.UserID
				return nil
			}, work.MaxAttempts(8), work.Timeout(30*time.Second))
			stop := background(t, q, rowlock.Concurrency(2))

			job, result, err := q.Enqueue(t.Context(), welcome{42}, enqueue.Unique("welcome:42"))
			if err != nil || result != domain.InsertedNew {
				t.Fatalf("%v, %v", result, err)
			}
			if id := within(t, got, "the handler"); id != 42 {
				t.Errorf("the handler got user %d", id)
			}
			if err := stop(); err != nil {
				t.Errorf("Work: %v", err)
			}
			seen, err := q.Inspect().Get(t.Context(), job.ID)
			if err != nil || seen.State != domain.Done || seen.Attempts != 1 {
				t.Errorf("the job is %v after %d attempts, %v", seen.State, seen.Attempts, err)
			}
			for _, event := range []string{"enqueued", "claimed", "completed"} {
				if lines.FilterMessage(event).Len() != 1 {
					t.Errorf("%q was logged %d times", event, lines.FilterMessage(event).Len())
				}
			}
		})
	}
}

func TestDrainRunsWhatIsDueAndWhatThatEnqueues(t *testing.T) {
	for name, dsn := range stores(t) {
		t.Run(name, func(t *testing.T) {
			q := open(t, dsn, rowlock.Migrate())
			rowlock.Handle(q, func(ctx context.Context, j work.Job[welcome]) error {
				if j.Args.UserID == 13 {
					return work.Bury(errors.New("no such user"))
				}
				_, _, err := q.Enqueue(ctx, followUp{})
				return err
			})
			rowlock.Handle(q, ignore[followUp])
			items := []enqueue.Item{{Args: welcome{1}}, {Args: welcome{13}}, {Args: welcome{2}, Options: []enqueue.Option{enqueue.After(time.Hour)}}}
			if _, err := q.EnqueueMany(t.Context(), items); err != nil {
				t.Fatal(err)
			}
			drained, err := q.Drain(t.Context(), rowlock.DrainOptions{Limit: 20 * time.Second})
			if err != nil || drained != (rowlock.Drained{Completed: 2, Dead: 1}) {
				t.Errorf("%+v, %v", drained, err)
			}
			stats, err := q.Inspect().Stats(t.Context())
			if want := (domain.Tally{Scheduled: 1, Done: 2, Dead: 1}); err != nil || stats.Totals() != want {
				t.Errorf("the queues are %+v, %v; want %+v", stats.Totals(), err, want)
			}
			done, err := q.Operate().RetryAll(t.Context(), driving.Bulk{}, domain.Due{})
			if err != nil || done.Done != 1 {
				t.Errorf("retried %+v, %v", done, err)
			}
		})
	}
}

func TestDrainPutsBackWhatACrashLeft(t *testing.T) {
	for name, dsn := range stores(t) {
		t.Run(name, func(t *testing.T) {
			backend, err := backends.Open(t.Context(), dsn, backends.Options{})
			if err != nil {
				t.Fatal(err)
			}
			q := opened(t, backend, rowlock.Migrate())
			rowlock.Handle(q, ignore[welcome])
			if _, _, err := q.Enqueue(t.Context(), welcome{1}); err != nil {
				t.Fatal(err)
			}
			_, err = backend.Store.Claim(t.Context(), driven.ClaimRequest{ // by a runner that vanishes
				Token: domain.Token{1}, Runner: "gone", Lease: 20 * time.Millisecond, Queue: enqueue.DefaultQueue, Kinds: q.Kinds(), N: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			late := rowlock.Stalls(domain.StallPolicy{Base: time.Hour, Cap: time.Hour, Max: 3})
			for end := time.Now().Add(20 * time.Second); ; {
				drained, err := q.Drain(t.Context(), rowlock.DrainOptions{}, late)
				if err != nil || time.Now().After(end) {
					t.Fatalf("%+v, %v", drained, err)
				}
				if drained == (rowlock.Drained{Recovered: 1}) {
					return
				}
			}
		})
	}
}
