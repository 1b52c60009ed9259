package rowlockfx_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type welcome struct {
	UserID int64 `json:"user_id"`
}

func (welcome) Kind() string { return "mail/welcome" }

type followUp struct{}

func (followUp) Kind() string { return "mail/follow-up" }

// memory is a host's constructor of a backend.
func memory() (driven.Backend, error) {
	return memstore.Open(memstore.Config{Now: system.Clock().Now})
}

// diary notes what happens, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lines
}

// welcomer is a handler that enqueues.
type welcomer struct {
	client *enqueue.Client
	ran    chan int64
}

func (w *welcomer) Work(ctx context.Context, j work.Job[welcome]) error {
	w.ran <- j.Args.UserID
	_, _, err := w.client.Enqueue(ctx, followUp{})
	return err
}

// follower is the handler of what that enqueues.
type follower struct{ ran chan string }

func (f *follower) Work(_ context.Context, j work.Job[followUp]) error {
	f.ran <- j.Queue
	return nil
}

// newRan are the channels on which handlers tell that they ran.
func newRan() (chan int64, chan string) { return make(chan int64, 10), make(chan string, 10) }

// within waits for a value with a deadline.
func within[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited too long for %s", what)
	}
	return v
}

// app makes a host's app; it fails the test where fx refuses it.
func app(t *testing.T, opts ...fx.Option) *fxtest.App {
	t.Helper()
	return fxtest.New(t, append(opts, fx.NopLogger)...)
}
