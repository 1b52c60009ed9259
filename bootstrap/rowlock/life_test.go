package rowlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestCloseStopsTheWorkAndIsIdempotent(t *testing.T) {
	for name, dsn := range stores(t) {
		t.Run(name, func(t *testing.T) {
			q, err := rowlock.Open(t.Context(), dsn, rowlock.Migrate())
			if err != nil {
				t.Fatal(err)
			}
			began, finish := make(chan struct{}), make(chan struct{})
			rowlock.Handle(q, func(context.Context, work.Job[welcome]) error {
				close(began)
				<-finish
				return nil
			})
			if _, _, err := q.Enqueue(t.Context(), welcome{1}); err != nil {
				t.Fatal(err)
			}
			ended, shut := make(chan error, 1), make(chan error, 2)
			go func() { ended <- q.Work(t.Context()) }()
			within(t, began, "the handler")
			for range 2 {
				go func() { shut <- q.Close() }()
			}
			close(finish)
			for range 2 {
				if err := within(t, shut, "Close"); err != nil {
					t.Errorf("close: %v", err)
				}
			}
			if err := within(t, ended, "Work"); err != nil {
				t.Errorf("work: %v", err)
			}
			if err := q.Close(); err != nil {
				t.Errorf("close again: %v", err)
			}
			_, drain := q.Drain(t.Context(), rowlock.DrainOptions{})
			for _, err := range []error{drain, q.Work(t.Context())} {
				if domain.CodeOf(err) != domain.Conflict {
					t.Errorf("on a closed queue: %v, want Conflict", err)
				}
			}
			if _, _, err := q.Enqueue(t.Context(), welcome{2}); domain.CodeOf(err) != domain.Unavailable {
				t.Errorf("enqueue on a closed queue: %v, want Unavailable", err)
			}
		})
	}
}

func TestStopGivesHandlersTheirTimeAndNoMore(t *testing.T) {
	q := open(t, "memory:")
	began, finish := make(chan struct{}), make(chan struct{})
	rowlock.Handle(q, func(context.Context, work.Job[welcome]) error { // heeds nothing
		close(began)
		<-finish
		return nil
	})
	defer close(finish)
	if _, _, err := q.Enqueue(t.Context(), welcome{1}); err != nil {
		t.Fatal(err)
	}
	stop := background(t, q, rowlock.StopTimeout(50*time.Millisecond))
	within(t, began, "the handler")
	if err := stop(); domain.CodeOf(err) != domain.Canceled {
		t.Errorf("got %v, want Canceled: a handler did not end", err)
	}
}

// Told to end at any moment before the first handler, Work has nothing to report.
func TestAnEndBeforeTheStart(t *testing.T) {
	for name, dsn := range stores(t) {
		t.Run(name, func(t *testing.T) {
			for _, after := range []time.Duration{0, 100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
				q := open(t, dsn, rowlock.Namespace("app"), rowlock.Migrate())
				rowlock.Handle(q, ignore[digest])
				rowlock.Schedule(q, "digest", digest{}, schedules.Every(time.Hour))
				ctx, cancel := context.WithTimeout(t.Context(), after)
				if err := q.Work(ctx); err != nil {
					t.Errorf("ended after %v: %v, of %v", after, err, errors.Unwrap(err))
				}
				cancel()
			}
		})
	}
}

func TestRefusedRegistrationsKeepWorkFromStarting(t *testing.T) {
	q := open(t, "memory:")
	rowlock.Handle(q, ignore[welcome])
	rowlock.Handle(q, ignore[welcome])
	rowlock.Handle(q, ignore[followUp], work.MaxAttempts(0))
	_, drain := q.Drain(t.Context(), rowlock.DrainOptions{})
	for _, err := range []error{drain, q.Work(t.Context())} {
		if domain.CodeOf(err) != domain.Conflict || !strings.Contains(err.Error(), "mail/welcome") || !strings.Contains(err.Error(), "MaxAttempts is 0") {
			t.Errorf("got %v, want both refusals", err)
		}
	}
}

// told is an observer that passes on what is of one type.
type told struct {
	what domain.EventType
	ch   chan domain.Event
}

func (o told) Observe(e domain.Event) {
	if e.Type == o.what {
		o.ch <- e
	}
}

func TestALateRegistrationIsTold(t *testing.T) {
	errs := told{domain.EventError, make(chan domain.Event, 1)}
	q := open(t, "memory:", rowlock.WithObserver(errs))
	rowlock.Handle(q, ignore[welcome])
	if _, err := q.Drain(t.Context(), rowlock.DrainOptions{}); err != nil {
		t.Fatal(err)
	}
	rowlock.Handle(q, ignore[followUp])
	if e := within(t, errs.ch, "the event"); domain.CodeOf(e.Err) != domain.Conflict || e.Operation != "register handler" {
		t.Errorf("told %+v", e)
	}
}

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	q := open(t, "memory:")
	cases := map[string]rowlock.WorkOption{
		"a renewal too late":       rowlock.Renew(time.Minute),
		"a poll like a lease":      rowlock.Poll(time.Minute),
		"no lease":                 rowlock.Lease(time.Nanosecond),
		"workers below one":        rowlock.Concurrency(-1),
		"a queue of none":          rowlock.Queues(map[string]int{"mail": 0}),
		"a sweep each second year": rowlock.Upkeep(2 * 365 * 24 * time.Hour),
		"stalls that fall":         rowlock.Stalls(domain.StallPolicy{Base: time.Hour, Cap: time.Minute}),
		"endless attempts":         rowlock.DefaultRetry(domain.RetryPolicy{MaxAttempts: -1}),
	}
	for name, opt := range cases {
		if err := q.Work(t.Context(), opt); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
}

func TestWorkNeedsTheTables(t *testing.T) {
	q := open(t, stores(t)["sqlite"])
	rowlock.Handle(q, ignore[welcome])
	err := q.Work(t.Context())
	if domain.CodeOf(err) != domain.Unsupported || !strings.Contains(domain.HintOf(err), "rowlock migrate up") {
		t.Errorf("got %v, want the command that makes the tables", err)
	}
	if steps, err := q.Schema().Up(t.Context(), 0); err != nil || len(steps) == 0 || steps[0].Number != 1 {
		t.Fatalf("up: %v, %v", steps, err)
	}
	if _, err := q.Drain(t.Context(), rowlock.DrainOptions{}); err != nil {
		t.Errorf("after the migration: %v", err)
	}
	if text, err := q.Schema().Print(1); err != nil || !strings.Contains(text, "rowlock_jobs") {
		t.Errorf("print: %v, %q", err, text)
	}
	if steps, err := q.Schema().Down(t.Context(), 0); err != nil || len(steps) == 0 {
		t.Errorf("down: %v, %v", steps, err)
	}
	if steps, err := q.Schema().Status(t.Context()); err != nil || len(steps) == 0 || !steps[0].AppliedAt.IsZero() {
		t.Errorf("status: %v, %v", steps, err)
	}
	if open(t, "memory:").Schema() != nil {
		t.Error("a store in memory has nothing to install")
	}
}

func TestABackendWithoutItsPartsIsRefused(t *testing.T) {
	whole, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]driven.Backend{"nothing": {}, "no Close": {Store: whole.Store}} {
		if _, err := rowlock.New(b); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
	if _, err := rowlock.New(whole, rowlock.Retention(domain.Retention{Done: 1})); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a retention below a millisecond: %v, want Invalid", err)
	}
}

func TestADSNAndItsOptionsAreCheckedByTheStore(t *testing.T) {
	dsn := stores(t)["sqlite"]
	for name, opt := range map[string]rowlock.Option{"prefix": rowlock.TablePrefix(`a"b`), "durability": rowlock.Synchronous("OFF")} {
		if _, err := rowlock.Open(t.Context(), dsn, opt); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("a bad %s: %v, want Invalid", name, err)
		}
	}
	q := open(t, dsn, rowlock.TablePrefix("jobs_"), rowlock.Synchronous("NORMAL"), rowlock.Migrate())
	if text, err := q.Schema().Print(1); err != nil || !strings.Contains(text, "jobs_jobs") {
		t.Errorf("the prefix is not used: %v", err)
	}
	if _, err := rowlock.Open(t.Context(), "redis://db"); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a store that nobody knows: %v, want Invalid", err)
	}
}

// broken is a schema that cannot be installed.
type broken struct{ driven.Migrator }

var errBroken = errors.New("read-only")

func (broken) Up(context.Context, int) ([]driven.Step, error) { return nil, errBroken }

func TestAFailedMigrationFailsTheOpening(t *testing.T) {
	b, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	if err != nil {
		t.Fatal(err)
	}
	b.Schema = broken{}
	if _, err := rowlock.New(b, rowlock.Migrate()); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}
