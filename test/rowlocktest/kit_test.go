package rowlocktest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/test/rowlocktest"
)

type welcome struct {
	User  int64  `json:"user"`
	Words string `json:"words,omitempty"`
}

func (welcome) Kind() string { return "welcome" }

type report struct{}

func (report) Kind() string { return "report" }

func nothing[T any](context.Context, work.Job[T]) error { return nil }

// failing is a test that writes down how it fails.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = format
	for _, a := range args {
		if s, ok := a.(string); ok {
			f.text += " " + s
		}
	}
	panic(f)
}

// fails runs a check that must fail, and gives how.
func fails(t *testing.T, check func(testing.TB)) string {
	t.Helper()
	f := &failing{TB: t}
	func() {
		defer func() { _ = recover() }()
		check(f)
	}()
	if f.text == "" {
		t.Error("the check passed, it must fail")
	}
	return f.text
}

func TestRequireEnqueued(t *testing.T) {
	q := rowlocktest.Open(t)
	ctx := domain.WithTenant(t.Context(), "acme")
	args := welcome{User: 1<<53 + 1}
	id, _, err := q.Enqueue(ctx, args, enqueue.Queue("mail"), enqueue.Priority(3), enqueue.Tags("a", "b"), enqueue.After(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	all := []rowlocktest.Want{
		rowlocktest.Queue("mail"), rowlocktest.Tenant("acme"), rowlocktest.Priority(3), rowlocktest.Tagged("b"),
		rowlocktest.State(domain.Scheduled), rowlocktest.DueIn(time.Hour, time.Second),
	}
	if job := rowlocktest.RequireEnqueued(t, q, args, all...); job.ID != id.ID {
		t.Errorf("it gave job %s, want %s", job.ID, id.ID)
	}
	for name, other := range map[string]rowlocktest.Want{
		"queue": rowlocktest.Queue("Mail"), "tenant": rowlocktest.Tenant(""), "priority": rowlocktest.Priority(0),
		"tag": rowlocktest.Tagged("c"), "state": rowlocktest.State(domain.Ready), "due": rowlocktest.DueIn(0, time.Minute),
	} {
		if text := fails(t, func(t testing.TB) { rowlocktest.RequireEnqueued(t, q, args, other) }); !strings.Contains(text, name) {
			t.Errorf("%s: the message does not name it: %s", name, text)
		}
		rowlocktest.RequireNotEnqueued(t, q, args, other)
	}
	fails(t, func(t testing.TB) { rowlocktest.RequireEnqueued(t, q, welcome{User: 1 << 53}) }) // what a float64 cannot tell apart
	fails(t, func(t testing.TB) { rowlocktest.RequireNotEnqueued(t, q, args) })
	if _, _, err := q.Enqueue(ctx, args); err != nil {
		t.Fatal(err)
	}
	fails(t, func(t testing.TB) { rowlocktest.RequireEnqueued(t, q, args) })
}

func TestWorkRunsOneJob(t *testing.T) {
	boom := errors.New("boom")
	var got work.Job[welcome]
	err := rowlocktest.Work(t, func(_ context.Context, j work.Job[welcome]) error {
		got = j
		return work.Bury(boom)
	}, welcome{User: 7}, enqueue.Queue("mail"))
	if !errors.Is(err, boom) || got.Args.User != 7 || got.Queue != "mail" || got.Attempt != 1 {
		t.Errorf("job %+v, error %v", got, err)
	}
}

func TestDrainRunsWhatIsDue(t *testing.T) {
	q := rowlocktest.Open(t)
	rowlock.Handle(q, func(ctx context.Context, j work.Job[welcome]) error {
		_, _, err := q.Enqueue(ctx, report{})
		return err
	})
	rowlock.Handle(q, nothing[report])
	if _, _, err := q.Enqueue(t.Context(), welcome{User: 1}); err != nil {
		t.Fatal(err)
	}
	if got := rowlocktest.Drain(t, q); got.Completed != 2 {
		t.Errorf("drained %+v, want 2 completed", got)
	}
	rowlocktest.RequireEnqueued(t, q, report{}, rowlocktest.State(domain.Done))
}

func TestDrainRunsWhatIsDelayed(t *testing.T) {
	q := rowlocktest.Open(t)
	rowlock.Handle(q, func(_ context.Context, j work.Job[welcome]) error {
		if j.Attempt < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if _, _, err := q.Enqueue(t.Context(), welcome{User: 1}, enqueue.After(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := rowlocktest.Drain(t, q); got != (rowlock.Drained{}) {
		t.Errorf("drained %+v, nothing is due", got)
	}
	if got := rowlocktest.DrainDelayed(t, q); got.Completed != 1 || got.Retried != 2 {
		t.Errorf("drained %+v, want 2 retries and 1 completed", got)
	}
	rowlocktest.RequireEnqueued(t, q, welcome{User: 1}, rowlocktest.State(domain.Done))
}

// TestPassAWeek has a week of retries and of schedules go by.
func TestPassAWeek(t *testing.T) {
	began := time.Now() //nolint:forbidigo // what it costs is shown
	synctest.Test(t, func(t *testing.T) {
		q := rowlocktest.Open(t)
		var tries, reports atomic.Int64
		rowlock.Handle(q, func(context.Context, work.Job[welcome]) error {
			if tries.Add(1) < 40 {
				return errors.New("not yet")
			}
			return nil
		}, work.MaxAttempts(50))
		rowlock.Handle(q, func(context.Context, work.Job[report]) error {
			reports.Add(1)
			return nil
		})
		rowlock.Schedule(q, "five", report{}, schedules.Every(5*time.Minute))
		if _, _, err := q.Enqueue(t.Context(), welcome{User: 1}); err != nil {
			t.Fatal(err)
		}
		rowlocktest.Pass(t, q, 7*24*time.Hour+time.Second)
		if tries.Load() != 40 {
			t.Errorf("%d tries, want 40", tries.Load())
		}
		if n := reports.Load(); n < 2015 || n > 2017 {
			t.Errorf("%d reports in a week of five minutes, want 2016", n)
		}
	})
	t.Logf("a week took %v", time.Since(began))
}
