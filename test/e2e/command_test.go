package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/system"
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
	if took := clock.Now().Sub(began); took.Seconds() > 10 {
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

func TestDemoOnOnesOwnStoreLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if s := read[summary](t, b.ok("demo", "--json")); !s.adds() {
		t.Errorf("it does not add up: %+v", s)
	}
	// a store in which anything was left is not taken for new
	if r := b.ok("stats", "--json"); !strings.Contains(r.err, "the store is new") {
		t.Errorf("something was left: %v", r)
	}
	b.ok("enqueue", "k")
	if s := read[summary](t, b.ok("demo", "--json")); !s.adds() || b.stats().Totals.Pending != 1 {
		t.Errorf("beside own jobs: %+v, %+v", s, b.stats().Totals)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const missing = "0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10"
	b.fails(0, "version")
	b.fails(2, "bogus")
	b.fails(2, "stats", "--bogus")
	b.fails(2, "enqueue", "k", "{")
	b.with("ROWLOCK_STORE=").fails(2, "stats")
	b.with("ROWLOCK_STORE=bogus").fails(2, "stats")
	b.fails(3, "jobs", "show", missing)
	b.fails(3, "jobs", "retry", missing)
	b.fails(3, "enqueue", "--file", "/is/not/there")
	b.fails(0, "enqueue", "k", "--unique", "u")
	b.fails(0, "enqueue", "k", "--unique", "u")
	b.fails(4, "enqueue", "k", "--unique", "u", "--on-conflict", "error")
	id := b.jobs()[0].ID
	b.fails(4, "jobs", "delete", id, missing)
	b.with("ROWLOCK_STORE=postgres://user:hush@host/db").fails(6, "stats")
	b.fails(7, "stats", "--store", "sqlite:/is/not/there/app.db")
	r := b.fails(3, "jobs", "show", missing, "--json")
	if v := read[struct{ Error struct{ Code string } }](t, r); v.Error.Code != "not_found" {
		t.Errorf("the error as a document: %v", r)
	}
	if r := b.with("ROWLOCK_STORE=postgres://user:hush@host/db").run("stats", "--json"); strings.Contains(r.out+r.err, "hush") {
		t.Errorf("a password was printed: %v", r)
	}
}

func TestTwinsOfFlags(t *testing.T) {
	t.Parallel()
	b := newBox(t).with("ROWLOCK_QUEUE=q", "ROWLOCK_MAX_ATTEMPTS=7", "ROWLOCK_JSON=1", "ROWLOCK_TENANT=acme")
	id := read[struct{ ID string }](t, b.ok("enqueue", "k")).ID
	list := read[[]struct {
		ID, Queue, Tenant string
		MaxAttempts       int `json:"max_attempts"`
	}](t, b.ok("jobs", "list"))
	if len(list) != 1 || list[0].ID != id || list[0].Queue != "q" || list[0].Tenant != "acme" || list[0].MaxAttempts != 7 {
		t.Errorf("%+v", list)
	}
	if list := read[[]struct{}](t, b.ok("jobs", "list", "--tenant", "other", "--queue", "q")); len(list) != 0 {
		t.Errorf("another tenant sees %d jobs", len(list))
	}
	b.with("ROWLOCK_MAX_ATTEMPTS=many").fails(2, "enqueue", "k")
}

func TestExecIsOffUnlessAllowed(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	mark := filepath.Join(b.dir, "mark")
	b.ok("enqueue", "exec", `{"command":"sh","args":["-c","echo done > `+mark+`"]}`)
	b.ok("enqueue", "exec", `{"command":"sh","args":["-c","echo why >&2; exit 3"]}`, "--max-attempts", "1")
	r := b.ok("work", "--once", "--json")
	if v := read[struct{ Unhandled []string }](t, r); len(v.Unhandled) != 1 || v.Unhandled[0] != "exec" || !strings.Contains(r.err, "exec") {
		t.Errorf("no warning: %v", r)
	}
	if s := b.stats(); s.Totals.Due != 2 || len(s.Unhandled) != 1 {
		t.Errorf("off: %+v", s)
	}
	b.ok("work", "--once", "--allow-exec")
	if _, err := os.Stat(mark); err != nil {
		t.Error(err)
	}
	dead := b.jobs("--state", "dead")
	if len(dead) != 1 || !strings.Contains(dead[0].Error, "exit status 3") || !strings.Contains(dead[0].Error, "why") || b.stats().Totals.Done != 1 {
		t.Errorf("allowed: %+v", dead)
	}
}

func TestOperating(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for range 3 {
		b.ok("enqueue", "exec", `{}`, "--keep-done", "1ms")
	}
	b.ok("work", "--once", "--allow-exec")
	if s := b.stats().Totals; s.Dead != 3 {
		t.Fatalf("%+v", s)
	}
	ids := b.jobs("--state", "dead")
	b.ok("dead", "delete", ids[0].ID)
	b.ok("dead", "retry", "--all", "--after", "1h")
	if s := b.stats().Totals; s.Scheduled != 2 || s.Dead != 0 {
		t.Errorf("after retry: %+v", s)
	}
	b.ok("jobs", "cancel", ids[1].ID)
	b.ok("jobs", "retry", ids[2].ID)
	if s := b.stats().Totals; s.Cancelled != 1 || s.Due != 1 {
		t.Errorf("after cancel and retry: %+v", s)
	}
	b.ok("enqueue", "exec", `{"command":"true"}`, "--keep-done", "1ms")
	b.ok("work", "--once", "--allow-exec")
	eventually(t, "the done job is pruned", func() bool {
		b.ok("prune", "--json")
		return b.stats().Totals.Done == 0
	})
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	type step struct {
		Number    int
		AppliedAt *string `json:"applied_at"`
	}
	steps := read[[]step](t, b.ok("migrate", "up", "--json"))
	if len(steps) == 0 || steps[0].Number != 1 || steps[0].AppliedAt == nil {
		t.Fatalf("%+v", steps)
	}
	if again := read[[]step](t, b.ok("migrate", "up", "--json")); len(again) != 0 {
		t.Errorf("a second time: %+v", again)
	}
	if r := b.ok("migrate", "print", "--step", "1"); !strings.Contains(r.out, "CREATE TABLE") {
		t.Error(r)
	}
	b.ok("enqueue", "k")
	b.ok("migrate", "down", "--to", "0")
	for _, s := range read[[]step](t, b.ok("migrate", "status", "--json")) {
		if s.AppliedAt != nil {
			t.Errorf("still applied: %+v", s)
		}
	}
	other := filepath.Join(b.dir, "host.db")
	host := b.with("ROWLOCK_STORE=sqlite:"+other, "ROWLOCK_TABLE_PREFIX=host_")
	host.ok("enqueue", "k") // new, so migrated
	b.with("ROWLOCK_STORE=sqlite:"+other).fails(6, "stats")
}
