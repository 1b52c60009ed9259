package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestOutage: a runner loses its way to the server for longer than its lease. What
// it held is done by another, what it says of that later does not count, and it
// works on when it finds the server again.
func TestOutage(t *testing.T) {
	on(t, slices.DeleteFunc(stores(), func(s store) bool { return s.own }), testOutage)
}

func testOutage(t *testing.T, b *box) {
	b.ok("migrate", "up")
	release := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) int {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return say(w, 200)
	})
	way := newWay(t, b.dsn())
	other, lost := b.worker(), b.with(storeVar+way.dsn).worker()
	eventually(t, "both are known", func() bool { return len(b.stats().Runners) == 2 })
	lines := make([]string, 50)
	for n := range lines {
		lines[n] = fmt.Sprintf(`{"kind":"http","args":{"url":"%s/%d"}}`, srv.URL, n)
	}
	b.ok("enqueue", "--file", b.file(lines...))
	eventually(t, "both have jobs in hand", func() bool { return len(b.holds(lost)) > 0 && len(b.holds(other)) > 0 })
	way.cut()
	held := b.holds(lost)
	other.logged("stalled")
	close(release)
	eventually(t, "the other did every job", func() bool { return b.stats().Totals.Done == len(lines) })
	for _, id := range held {
		if j := b.show(id); j.Attempts != 1 || len(j.History) != 1 || !strings.HasPrefix(j.History[0].Message, "stalled") {
			t.Errorf("what was lost is %+v", j)
		}
	}
	lost.logged("unavailable")
	lost.logged("lease_lost")
	other.stop()
	way.mend()
	b.ok("enqueue", "http", `{"url":"`+srv.URL+`/again"}`)
	eventually(t, "the runner is back", func() bool { return b.stats().Totals.Done == len(lines)+1 })
	lost.stop()
}

// way is the network between a runner and a server, which can be cut.
type way struct {
	dsn  string // by this way
	to   string
	mu   sync.Mutex
	off  bool
	open []net.Conn
}

func newWay(t *testing.T, dsn string) *way {
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("the DSN must be of one server: %v", err)
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{to: u.Host}
	u.Host = door.Addr().String()
	if query := u.Query(); strings.HasPrefix(u.Scheme, "mongodb") { // else it would be told the server's own address
		query.Set("directConnection", "true")
		u.RawQuery = query.Encode()
	}
	w.dsn = u.String()
	go w.serve(door)
	t.Cleanup(func() {
		_ = door.Close()
		w.cut()
	})
	return w
}

func (w *way) serve(door net.Listener) {
	for {
		near, err := door.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil || !w.keep(near, far) {
			_ = near.Close()
			continue
		}
		go join(near, far)
		go join(far, near)
	}
}

// keep notes a connection, or refuses it.
func (w *way) keep(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, ends...)
	if w.off {
		w.close()
	}
	return !w.off
}

func join(from, to net.Conn) {
	_, _ = io.Copy(to, from) // it ends when either end is closed
	_, _ = from.Close(), to.Close()
}

func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = true
	w.close()
}

func (w *way) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = false
}

func (w *way) close() {
	for _, end := range w.open {
		_ = end.Close()
	}
	w.open = nil
}
