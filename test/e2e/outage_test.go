package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/storekit"
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
	way, dsn := storekit.Through(t, b.dsn())
	other, lost := b.worker(), b.with(storeVar+dsn).worker()
	eventually(t, "both are known", func() bool { return len(b.stats().Runners) == 2 })
	lines := make([]string, 50)
	for n := range lines {
		lines[n] = fmt.Sprintf(`{"kind":"http","args":{"url":"%s/%d"}}`, srv.URL, n)
	}
	b.ok("enqueue", "--file", b.file(lines...))
	eventually(t, "both have jobs in hand", func() bool { return len(b.holds(lost)) > 0 && len(b.holds(other)) > 0 })
	way.Set(faults.Stalling)
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
	way.Set(faults.Refusing)
	lost.logged("unavailable")
	other.stop()
	way.Set(faults.Fair)
	b.ok("enqueue", "http", `{"url":"`+srv.URL+`/again"}`)
	eventually(t, "the runner is back", func() bool { return b.stats().Totals.Done == len(lines)+1 })
	lost.stop()
}
