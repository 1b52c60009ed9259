package rowlockfx_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/inspect"
	"github.com/rowlock/rowlock/application/operate"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlockfx"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func newWelcomer(c *enqueue.Client, ran chan int64) *welcomer { return &welcomer{c, ran} }
func newFollower(ran chan string) (*follower, error)          { return &follower{ran}, nil }

// host is an app that welcomes and follows up.
func host(opts ...rowlockfx.Option) fx.Option {
	return fx.Options(
		fx.Provide(newRan),
		rowlockfx.Module(append([]rowlockfx.Option{rowlockfx.Backend(memory)}, opts...)...),
		rowlockfx.Handle[welcome](newWelcomer, work.MaxAttempts(8)),
		rowlockfx.Handle[followUp](newFollower),
	)
}

func TestTheHostsAppIsValid(t *testing.T) {
	services := fx.Invoke(func(*enqueue.Client, *batches.Service, *operate.Service, *operate.Bounds, *inspect.Service) {})
	for name, opts := range map[string]fx.Option{
		"working":   host(rowlockfx.Worker(runner.Config{})),
		"enqueuing": host(),
		"migrating": host(rowlockfx.Migrate()),
	} {
		if err := fx.ValidateApp(opts, services, fx.NopLogger); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAHandlerThatEnqueues(t *testing.T) {
	var (
		client *enqueue.Client
		look   *inspect.Service
		ran    chan int64
		after  chan string
	)
	a := app(t, host(rowlockfx.Worker(runner.Config{Concurrency: 2})), fx.Populate(&client, &look, &ran, &after))
	a.RequireStart()
	job, _, err := client.Enqueue(t.Context(), welcome{42}, enqueue.Unique("welcome:42"))
	if err != nil {
		t.Fatal(err)
	}
	if id := within(t, ran, "the handler"); id != 42 {
		t.Errorf("the handler got user %d", id)
	}
	within(t, after, "what the handler enqueued")
	a.RequireStop()
	if _, err := look.Get(t.Context(), job.ID); domain.CodeOf(err) != domain.Unavailable {
		t.Errorf("after the stop the store is closed: %v", err)
	}
}

func TestNothingStartsWithoutAWorker(t *testing.T) {
	var client *enqueue.Client
	var look *inspect.Service
	var do *operate.Service
	var sets *batches.Service
	constructed := false
	a := app(t,
		rowlockfx.Module(rowlockfx.Backend(memory)),
		rowlockfx.Handle[followUp](func() *follower { constructed = true; return &follower{} }),
		fx.Populate(&client, &look, &do, &sets),
	)
	a.RequireStart()
	if made, err := sets.Make(t.Context(), batches.Options{}, batches.Of()); err != nil || made.ID.IsZero() {
		t.Errorf("a batch: %+v, %v", made, err)
	}
	job, _, err := client.Enqueue(t.Context(), welcome{1}) // of a kind that this process does not handle
	if err != nil {
		t.Fatal(err)
	}
	edited, err := do.Cancel(t.Context(), []domain.JobID{job.ID})
	if err != nil || edited[0].Err != nil {
		t.Errorf("cancel: %v, %v", edited, err)
	}
	stats, err := look.Stats(t.Context())
	if want := (domain.Tally{Cancelled: 1}); err != nil || stats.Totals() != want || len(stats.Runners) != 0 {
		t.Errorf("stats: %+v, %v", stats, err)
	}
	a.RequireStop()
	if constructed {
		t.Error("the handler was constructed")
	}
}

func TestTwoNamedInstancesKeepApart(t *testing.T) {
	type hands struct {
		fx.In
		Mail    *enqueue.Client  `name:"mail"`
		Billing *enqueue.Client  `name:"billing"`
		Look    *inspect.Service `name:"billing"`
		Do      *operate.Service `name:"billing"`
	}
	type needs struct {
		fx.In
		Client *enqueue.Client `name:"mail"`
		Ran    chan int64
	}
	var h hands
	var ran chan int64
	var after chan string
	a := app(t,
		fx.Provide(newRan),
		rowlockfx.Module(rowlockfx.Named("mail"), rowlockfx.Backend(memory), rowlockfx.Worker(runner.Config{})),
		rowlockfx.Module(rowlockfx.Named("billing"), rowlockfx.Backend(memory), rowlockfx.Worker(runner.Config{})),
		rowlockfx.HandleFor[welcome]("mail", func(n needs) *welcomer { return newWelcomer(n.Client, n.Ran) }),
		rowlockfx.HandleFor[followUp]("mail", newFollower),
		rowlockfx.HandleFor[followUp]("billing", newFollower),
		fx.Invoke(func(in hands) { h = in }),
		fx.Populate(&ran, &after),
	)
	a.RequireStart()
	defer a.RequireStop()
	if _, _, err := h.Mail.Enqueue(t.Context(), welcome{7}); err != nil {
		t.Fatal(err)
	}
	within(t, ran, "the mail instance")
	within(t, after, "its follow-up")
	if _, _, err := h.Billing.Enqueue(t.Context(), welcome{8}); err != nil { // waits: billing does not handle it
		t.Fatal(err)
	}
	if _, _, err := h.Billing.Enqueue(t.Context(), followUp{}); err != nil {
		t.Fatal(err)
	}
	within(t, after, "the billing instance")
	stats, err := h.Look.Stats(t.Context())
	if err != nil || !slices.Equal(stats.Unhandled, []string{"mail/welcome"}) {
		t.Errorf("billing sees %+v, %v", stats, err)
	}
}

// loud is a host's own observer.
type loud struct{ types chan domain.EventType }

func (l loud) Observe(e domain.Event) { l.types <- e.Type }

func TestTheHostsOwnThingsAreUsedOrLeftAlone(t *testing.T) {
	core, lines := observer.New(zapcore.DebugLevel)
	own := driven.Backend{Name: "the host's own"}
	events := loud{make(chan domain.EventType, 100)}
	var seen driven.Backend
	var client *enqueue.Client
	a := app(t, host(),
		fx.Supply(own, zap.New(core)),
		fx.Provide(func() driven.Observer { return events }),
		fx.Populate(&seen, &client),
	)
	a.RequireStart()
	defer a.RequireStop()
	if seen.Name != own.Name {
		t.Errorf("the host sees the backend %q", seen.Name)
	}
	if _, _, err := client.Enqueue(t.Context(), welcome{1}); err != nil {
		t.Fatal(err)
	}
	if got := within(t, events.types, "the event"); got != domain.EventEnqueued {
		t.Errorf("the host's observer was told of %v", got)
	}
	if log := lines.FilterMessage("enqueued").All(); len(log) != 1 || log[0].LoggerName != "rowlock" {
		t.Errorf("logged %v", log)
	}
}

func TestWhatCannotWorkIsRefusedAtTheStart(t *testing.T) {
	refusal := errors.New("no database")
	cases := map[string]struct {
		opt  fx.Option
		hint string
	}{
		"no backend":      {rowlockfx.Module(), "rowlockfx.Backend"},
		"a bad retention": {rowlockfx.Module(rowlockfx.Backend(memory), rowlockfx.Retention(domain.Retention{Done: 1})), "retention"},
		"a bad lease":     {host(rowlockfx.Worker(runner.Config{Lease: 1})), "Lease"},
		"two handlers":    {fx.Options(host(rowlockfx.Worker(runner.Config{})), rowlockfx.Handle[followUp](newFollower)), "mail/follow-up"},
		"two modules":     {fx.Options(host(), rowlockfx.Module(rowlockfx.Backend(memory))), "already provided"},
		"no store": {fx.Options(rowlockfx.Module(rowlockfx.Backend(func() driven.Backend { return driven.Backend{Close: func() error { return nil }} })),
			fx.Invoke(func(*enqueue.Client) {})), "no Store"},
		"a store that is down": {fx.Options(rowlockfx.Module(rowlockfx.Backend(func() (driven.Backend, error) { return driven.Backend{}, refusal })),
			fx.Invoke(func(*enqueue.Client) {})), "no database"},
		"a handler of something else": {fx.Options(rowlockfx.Module(rowlockfx.Backend(memory), rowlockfx.Worker(runner.Config{})),
			rowlockfx.Handle[welcome](func() *follower { return nil })), "does not implement"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := fx.New(c.opt, fx.NopLogger).Err()
			if err == nil || !strings.Contains(err.Error(), c.hint) {
				t.Errorf("got %v, want something about %q", err, c.hint)
			}
		})
	}
}
