package rowlockfx_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlockfx"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// bare is a store whose tables were never made.
type bare struct{ driven.Store }

func (bare) Queues(context.Context, string, int) ([]string, error) {
	return nil, &domain.Fault{Code: domain.Unsupported, Hint: "run `rowlock migrate up`"}
}

func TestTheStartFailsWithoutTheTables(t *testing.T) {
	b, err := memory()
	if err != nil {
		t.Fatal(err)
	}
	b.Store = bare{b.Store}
	a := app(t, rowlockfx.Module(rowlockfx.Backend(func() driven.Backend { return b }), rowlockfx.Worker(runner.Config{})))
	if err := a.Start(t.Context()); domain.CodeOf(err) != domain.Unsupported {
		t.Errorf("got %v, want Unsupported", err)
	}
	if _, err := b.Store.ListRunners(t.Context(), 1); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("a failed start leaves the store open: %v", err)
	}
}

// pool is what a store stands on, e.g. the host's *sql.DB.
type pool struct{}

func TestTheStopIsTheStartInReverse(t *testing.T) {
	book := &diary{}
	finish, began := make(chan struct{}), make(chan struct{})
	hook := func(life fx.Lifecycle, what string) {
		life.Append(fx.Hook{
			OnStart: func(context.Context) error { book.note("start " + what); return nil },
			OnStop:  func(context.Context) error { book.note("stop " + what); return nil },
		})
	}
	var client *enqueue.Client
	a := app(t,
		fx.Provide(func(life fx.Lifecycle) *pool { hook(life, "pool"); return &pool{} }),
		rowlockfx.Module(
			rowlockfx.Backend(func(*pool) (driven.Backend, error) {
				b, err := memory()
				shut := b.Close
				b.Close = func() error { book.note("close backend"); return shut() }
				b.Schema = schema{book}
				return b, err
			}),
			rowlockfx.Migrate(),
			rowlockfx.Worker(runner.Config{}),
		),
		rowlockfx.Handle[welcome](func(life fx.Lifecycle) handlerFunc {
			hook(life, "mailer")
			return func() {
				close(began)
				<-finish
				book.note("handled")
			}
		}),
		fx.Populate(&client),
	)
	a.RequireStart()
	if _, _, err := client.Enqueue(t.Context(), welcome{1}); err != nil {
		t.Fatal(err)
	}
	within(t, began, "the handler")
	stopped := make(chan error, 1)
	go func() { stopped <- a.Stop(t.Context()) }()
	close(finish)
	if err := within(t, stopped, "the stop"); err != nil {
		t.Fatal(err)
	}
	want := []string{"start pool", "migrate", "start mailer", "handled", "stop mailer", "close backend", "stop pool"}
	if got := book.read(); !slices.Equal(got, want) {
		t.Errorf("it went %q,\nwant %q", got, want)
	}
}

type handlerFunc func()

func (f handlerFunc) Work(context.Context, work.Job[welcome]) error { f(); return nil }

// schema notes its migration.
type schema struct{ book *diary }

func (s schema) Up(context.Context, int) ([]driven.Step, error) {
	s.book.note("migrate")
	return nil, nil
}
func (s schema) Down(context.Context, int) ([]driven.Step, error) { return nil, nil }
func (s schema) Status(context.Context) ([]driven.Step, error)    { return nil, nil }
func (s schema) Print(int) (string, error)                        { return "", nil }

// A handler that does not end costs the app its stop's time, and no other hook its run.
func TestTheStopObeysItsContext(t *testing.T) {
	finish, began, shut := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(finish)
	var client *enqueue.Client
	a := app(t,
		rowlockfx.Module(
			rowlockfx.Backend(func() (driven.Backend, error) {
				b, err := memory()
				b.Close = func() error { close(shut); return nil }
				return b, err
			}),
			rowlockfx.Worker(runner.Config{}),
		),
		rowlockfx.Handle[welcome](func() handlerFunc { return func() { close(began); <-finish } }),
		fx.Populate(&client),
	)
	a.RequireStart()
	if _, _, err := client.Enqueue(t.Context(), welcome{1}); err != nil {
		t.Fatal(err)
	}
	within(t, began, "the handler")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- a.Stop(ctx) }()
	if err := within(t, stopped, "the stop"); domain.CodeOf(err) != domain.Canceled {
		t.Errorf("got %v, want Canceled: a handler did not end", err)
	}
	within(t, shut, "the backend's close")
}
