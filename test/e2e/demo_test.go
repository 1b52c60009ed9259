package e2e

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/test/servers"
)

type summary struct{ Enqueued, Done, Dead, Cancelled, Waiting int }

func (s summary) adds() bool {
	return s.Enqueued == s.Done+s.Dead+s.Cancelled+s.Waiting && s.Done > 0 && s.Dead > 0 && s.Cancelled > 0 && s.Waiting > 0
}

func TestDemo(t *testing.T) {
	t.Parallel()
	b := newBox(t).with("ROWLOCK_STORE=")
	clock := system.Clock()
	began := clock.Now()
	r := b.ok("demo")
	if took := clock.Now().Sub(began); took.Seconds() > 30 {
		t.Errorf("it took %v", took)
	}
	last := regexp.MustCompile(`enqueued (\d+) = done (\d+) \+ dead (\d+) \+ cancelled (\d+) \+ waiting (\d+)`).FindStringSubmatch(r.out)
	if last == nil {
		t.Fatal(r)
	}
	n := make([]int, 6)
	for i, digits := range last[1:] {
		n[i], _ = strconv.Atoi(digits)
	}
	if s := (summary{n[0], n[1], n[2], n[3], n[4]}); !s.adds() {
		t.Errorf("it does not add up: %+v", s)
	}
	if s := read[summary](t, b.ok("demo", "--json")); !s.adds() {
		t.Errorf("it does not add up: %+v", s)
	}
	if left, err := os.ReadDir(b.dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestDemoOnOnesOwnStore: beside what is there, and nothing of it stays, whether
// it comes to its end or not.
func TestDemoOnOnesOwnStore(t *testing.T) {
	onEveryEmptyStore(t, testDemoOnOnesOwnStore)
}

func testDemoOnOnesOwnStore(t *testing.T, b *box) {
	if s := read[summary](t, b.ok("demo", "--json")); !s.adds() {
		t.Errorf("it does not add up: %+v", s)
	}
	cut := b.start("demo")
	eventually(t, "the demo has begun", func() bool { return strings.Contains(cut.out.String(), "1. Enqueued") })
	cut.signal(syscall.SIGINT)
	if code := cut.exit(); code != 130 && code != 0 { // it may have come to its end
		t.Errorf("interrupted: exit %d", code)
	}
	b.isEmpty()
	b.ok("migrate", "up")
	b.ok("enqueue", "k")
	if s := read[summary](t, b.ok("demo", "--json")); !s.adds() || b.stats().Totals.Pending != 1 {
		t.Errorf("beside own jobs: %+v, %+v", s, b.stats().Totals)
	}
	b.ok("migrate", "down", "--to", "0")
	b.isEmpty()
}

// isEmpty looks with other eyes than the command's where it can.
func (b *box) isEmpty() {
	b.t.Helper()
	if b.store.own { // a file in which anything was left is not taken for new
		if r := b.ok("stats", "--json"); !strings.Contains(r.err, "the store is new") {
			b.t.Errorf("something was left: %v", r)
		}
		b.ok("migrate", "down", "--to", "0")
		return
	}
	if left := servers.Tables(b.t, b.dsn()); len(left) != 0 {
		slices.Sort(left)
		b.t.Errorf("left behind: %v", left)
	}
}
