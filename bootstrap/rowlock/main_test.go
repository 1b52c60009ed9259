package rowlock_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type welcome struct {
	UserID int64 `json:"user_id"`
}

func (welcome) Kind() string { return "mail/welcome" }

type followUp struct{}

func (followUp) Kind() string { return "mail/follow-up" }

// open opens a queue that is closed at the end of the test.
func open(t *testing.T, dsn string, opts ...rowlock.Option) *rowlock.Queue {
	t.Helper()
	q, err := rowlock.Open(t.Context(), dsn, opts...)
	return closed(t, q, err)
}

// opened puts a queue on a backend; both are closed at the end of the test.
func opened(t *testing.T, b driven.Backend, opts ...rowlock.Option) *rowlock.Queue {
	t.Helper()
	q, err := rowlock.New(b, opts...)
	return closed(t, q, err)
}

func closed(t *testing.T, q *rowlock.Queue, err error) *rowlock.Queue {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return q
}

// stores are the DSNs that every test of the facade runs on.
func stores(t *testing.T) map[string]string {
	return map[string]string{"memory": "memory:", "sqlite": "sqlite:" + filepath.Join(t.TempDir(), "q.db")}
}

// background works on the queue until the answered function is called, which
// gives what Work returned.
func background(t *testing.T, q *rowlock.Queue, opts ...rowlock.WorkOption) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- q.Work(ctx, opts...) }()
	return func() error {
		cancel()
		return within(t, ended, "Work to end")
	}
}

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

func ignore[T work.Args](context.Context, work.Job[T]) error { return nil }
