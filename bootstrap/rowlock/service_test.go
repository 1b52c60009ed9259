package rowlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestAnUnknownKindIsRefusedOnceKindsAreKnown(t *testing.T) {
	q := open(t, "memory:")
	if _, _, err := q.Enqueue(t.Context(), welcome{1}); err != nil {
		t.Errorf("without handlers any kind can be enqueued: %v", err)
	}
	rowlock.Handle(q, ignore[followUp])
	_, _, err := q.Enqueue(t.Context(), welcome{1})
	if domain.CodeOf(err) != domain.Invalid || !strings.Contains(domain.HintOf(err), "mail/follow-up") {
		t.Errorf("got %v, want the known kinds", err)
	}
}

func TestInlineRunsHereAndNow(t *testing.T) {
	q := open(t, "memory:")
	refusal := errors.New("no")
	rowlock.Handle(q, func(_ context.Context, j work.Job[welcome]) error {
		if !j.Inline || j.Args.UserID != 42 {
			t.Errorf("the handler got %+v", j)
		}
		return refusal
	})
	if err := q.Inline(t.Context(), welcome{42}); !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	if count, err := q.Inspect().Count(t.Context(), domain.Filter{}); err != nil || count.N != 0 {
		t.Errorf("%+v rows, %v", count, err)
	}
}

type builtin struct{ ran chan string }

func (builtin) Kind() string                                    { return "mail/welcome" }
func (b builtin) Run(context.Context, driven.Task) error        { b.ran <- "builtin"; return nil }
func (b builtin) Work(context.Context, work.Job[welcome]) error { b.ran <- "host"; return nil }

func TestAHostsHandlerBeatsABuiltinOne(t *testing.T) {
	for _, host := range []bool{true, false} {
		q := open(t, "memory:")
		ran := make(chan string, 2)
		var seen []string
		q.Use(func(next work.Next) work.Next {
			return func(ctx context.Context, task *driven.Task) error {
				seen = append(seen, task.Kind)
				return next(ctx, task)
			}
		})
		want := "builtin"
		if host {
			rowlock.Register[welcome](q, builtin{ran})
			want = "host"
		}
		q.Builtin(builtin{ran})
		if _, _, err := q.Enqueue(t.Context(), welcome{1}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Drain(t.Context(), rowlock.DrainOptions{}, rowlock.Concurrency(1)); err != nil {
			t.Fatal(err)
		}
		if got := within(t, ran, "a handler"); got != want {
			t.Errorf("the %s handler ran, want the %s one", got, want)
		}
		if !slices.Equal(seen, q.Kinds()) {
			t.Errorf("the middleware saw %v", seen)
		}
	}
}

// clock is a test's own time.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func TestRetentionHoldsForDoneAndCancelled(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := &clock{now: start}
	b, err := memstore.Open(memstore.Config{Now: now.Now})
	if err != nil {
		t.Fatal(err)
	}
	q := opened(t, b, rowlock.Retention(domain.Retention{Done: time.Hour, Cancelled: 2 * time.Hour}))
	rowlock.Handle(q, ignore[welcome])
	if _, _, err := q.Enqueue(t.Context(), welcome{1}); err != nil {
		t.Fatal(err)
	}
	job, _, err := q.Enqueue(t.Context(), welcome{2}, enqueue.After(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Operate().Cancel(t.Context(), []domain.JobID{job.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Drain(t.Context(), rowlock.DrainOptions{}); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		minutes time.Duration
		pruned  int
	}{{59, 0}, {61, 1}, {119, 0}, {121, 1}}
	for _, step := range steps {
		now.set(start.Add(step.minutes * time.Minute))
		if n, err := q.Prune(t.Context(), nil); err != nil || n != step.pruned {
			t.Errorf("after %d minutes %d were pruned, %v; want %d", step.minutes, n, err, step.pruned)
		}
	}
}

// notifier is a store's own way to other processes.
type notifier struct {
	*system.Bell
	told chan []string
}

func (n notifier) Notify(queues ...string) { n.told <- queues }

func TestAStoresNotifierIsUsedBesideTheBell(t *testing.T) {
	b, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	if err != nil {
		t.Fatal(err)
	}
	others := notifier{system.NewBell(), make(chan []string, 1)}
	b.Notify = others
	q := opened(t, b)
	if _, _, err := q.Enqueue(t.Context(), welcome{1}, enqueue.Queue("mail")); err != nil {
		t.Fatal(err)
	}
	if queues := within(t, others.told, "the hint"); !slices.Equal(queues, []string{"mail"}) {
		t.Errorf("others were told of %v", queues)
	}
}
