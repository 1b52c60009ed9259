package pgnotify_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/pgnotify"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/test/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 20 * time.Second
	watch    = 200 * time.Millisecond
)

func open(t *testing.T, dsn, name string) *pgnotify.Notifier {
	t.Helper()
	n, err := pgnotify.New(pgnotify.Config{DSN: dsn, Name: name, Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// ear is somebody who listens.
type ear struct {
	heard chan string
	ended chan error
	stop  context.CancelFunc
}

func listen(t *testing.T, n *pgnotify.Notifier) ear {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	e := ear{heard: make(chan string, 100), ended: make(chan error, 1), stop: cancel}
	t.Cleanup(cancel)
	go func() {
		e.ended <- n.Listen(ctx, func(queue string) {
			select {
			case e.heard <- queue:
			default:
			}
		})
	}()
	return e
}

// listening waits until it listens, which it says by a hint at any queue.
func (e ear) listening(t *testing.T) ear {
	t.Helper()
	select {
	case queue := <-e.heard:
		if queue != "" {
			t.Fatalf("the first hint is of queue %q", queue)
		}
	case <-time.After(patience):
		t.Fatal("it does not listen")
	}
	return e
}

// hears sends a hint over and over until it is heard: who began to listen a moment
// ago may have missed the first.
func (e ear) hears(t *testing.T, from *pgnotify.Notifier, queue string) {
	t.Helper()
	late, again := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer again.Stop()
	for {
		from.Notify(queue)
		select {
		case got := <-e.heard:
			if got == queue {
				return
			}
		case <-again.C:
		case <-late:
			t.Fatalf("nobody heard of queue %q", queue)
		}
	}
}

func (e ear) ends(t *testing.T, want domain.Code) {
	t.Helper()
	select {
	case err := <-e.ended:
		if domain.CodeOf(err) != want {
			t.Fatalf("listening ended with %v, want code %q", err, want)
		}
	case <-time.After(patience):
		t.Fatal("listening goes on")
	}
}

func TestOthersHear(t *testing.T) {
	dsn := servers.Postgres(t)
	a, b, stranger := open(t, dsn, "app.rowlock_"), open(t, dsn, "app.rowlock_"), open(t, dsn, "app.other_")
	e, own, other := listen(t, b).listening(t), listen(t, a).listening(t), listen(t, stranger).listening(t)
	for _, queue := range []string{"mail", "Mail ", "日本:x", "it's", ""} {
		e.hears(t, a, queue)
	}
	own.hears(t, b, "back") // so it listens, and has heard nothing of its own
	other.stop()
	e.stop()
	own.stop()
	e.ends(t, "")
	own.ends(t, "")
	other.ends(t, "")
	for _, deaf := range []ear{own, other} {
		for len(deaf.heard) > 0 {
			if queue := <-deaf.heard; queue != "back" {
				t.Errorf("heard of %q, which was for others", queue)
			}
		}
	}
}

// TestKilledListener has the server end the session: the listener says so, and
// hears again once it listens again. So does the sender, without being asked.
func TestKilledListener(t *testing.T) {
	dsn := servers.Postgres(t)
	a, b := open(t, dsn, "n"), open(t, dsn, "n")
	e := listen(t, b)
	e.hears(t, a, "q")
	admin, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.WithoutCancel(t.Context())) }()
	if _, err := admin.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
		t.Fatal(err)
	}
	e.ends(t, domain.Unavailable)
	again := listen(t, b)
	again.hears(t, a, "q")
}

// TestSilentConnection cuts the way without a word: the listener finds out.
func TestSilentConnection(t *testing.T) {
	dsn := servers.Postgres(t)
	way := newRelay(t, dsn)
	a, b := open(t, dsn, "n"), open(t, way.dsn, "n")
	e := listen(t, b)
	e.hears(t, a, "q")
	way.silent.Store(true)
	e.ends(t, domain.Unavailable)
}

func TestServerThatIsNotThere(t *testing.T) {
	n := open(t, "postgres://127.0.0.1:1/none", "n")
	n.Notify("q")
	listen(t, n).ends(t, domain.Unavailable)
	if _, err := pgnotify.New(pgnotify.Config{DSN: "postgres://%zz"}); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a DSN that is none: %v", err)
	}
}

// TestCloseEndsTheSender also where nothing can be sent, and whoever notifies later.
func TestCloseEndsTheSender(t *testing.T) {
	n := open(t, servers.Postgres(t), "n")
	for range 100 {
		n.Notify("a", "b")
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n.Notify("late")
}

// relay passes bytes on until it is told to be silent.
type relay struct {
	dsn    string
	silent atomic.Bool
}

func newRelay(t *testing.T, dsn string) *relay {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, server := &relay{}, u.Host
	u.Host = door.Addr().String()
	r.dsn = u.String()
	t.Cleanup(func() { _ = door.Close() })
	go func() {
		for {
			in, err := door.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				return
			}
			t.Cleanup(func() { _ = in.Close(); _ = out.Close() })
			go r.pass(in, out)
			go r.pass(out, in)
		}
	}()
	return r
}

func (r *relay) pass(to io.Writer, from io.Reader) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if r.silent.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
