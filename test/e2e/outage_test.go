package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestOutage: a runner loses its way to the server for longer than its lease, first
// in silence, then with an error. What it held is done by another, what it says of
// that later does not count, and it works on when it finds the server again.
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
	way.hush()
	held := b.holds(lost)
	other.logged("stalled")
	lost.logged("lease_lost")
	close(release)
	eventually(t, "the other did every job", func() bool { return b.stats().Totals.Done == len(lines) })
	for _, id := range held {
		if j := b.show(id); j.Attempts != 1 || len(j.History) == 0 || !strings.HasPrefix(j.History[0].Message, "stalled") {
			t.Errorf("what was lost is %+v", j)
		}
	}
	way.cut()
	lost.logged("unavailable")
	other.stop()
	way.mend()
	b.ok("enqueue", "http", `{"url":"`+srv.URL+`/again"}`)
	eventually(t, "the runner is back", func() bool { return b.stats().Totals.Done == len(lines)+1 })
	lost.stop()
}

// way is the network between a runner and a server.
type way struct {
	dsn  string // by this way
	to   string
	mu   sync.Mutex
	news *sync.Cond // of the two below
	mute bool       // nothing comes through, and nobody is told
	off  bool
	ends []net.Conn
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
	w.news = sync.NewCond(&w.mu)
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
		go w.join(near, far)
		go w.join(far, near)
	}
}

// keep notes a connection, or refuses it.
func (w *way) keep(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, ends...)
	if w.off {
		w.close()
	}
	return !w.off
}

// join passes on what comes, until either end is closed.
func (w *way) join(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		w.passes()
		if _, failed := to.Write(part[:n]); err != nil || failed != nil {
			return
		}
	}
}

func (w *way) passes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.mute {
		w.news.Wait()
	}
}

func (w *way) hush() { w.set(true, false) }
func (w *way) cut()  { w.set(false, true) }
func (w *way) mend() { w.set(false, false) }

func (w *way) set(mute, off bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mute, w.off = mute, off; off {
		w.close()
	}
	w.news.Broadcast()
}

func (w *way) close() {
	for _, end := range w.ends {
		_ = end.Close()
	}
	w.ends = nil
}
