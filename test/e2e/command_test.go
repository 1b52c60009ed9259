package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	onEveryStore(t, testExitCodes)
}

func testExitCodes(t *testing.T, b *box) {
	const missing = "0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10"
	b.fails(2, "enqueue", "k", "{")
	b.fails(3, "jobs", "show", missing)
	b.fails(3, "jobs", "retry", missing)
	b.ok("enqueue", "k", "--unique", "u")
	b.ok("enqueue", "k", "--unique", "u")
	b.fails(4, "enqueue", "k", "--unique", "u", "--on-conflict", "error")
	if jobs := b.jobs(); len(jobs) != 1 {
		t.Errorf("one key, %d jobs", len(jobs))
	} else {
		b.fails(4, "jobs", "delete", jobs[0].ID, missing)
	}
	r := b.fails(3, "jobs", "show", missing, "--json")
	if v := read[struct{ Error struct{ Code string } }](t, r); v.Error.Code != "not_found" {
		t.Errorf("the error as a document: %v", r)
	}
	for _, args := range [][]string{{"stats", "--json"}, {"work", "--once"}, {"migrate", "up"}, {"demo"}} {
		r := b.with("ROWLOCK_STORE="+b.store.away).fails(7, args...)
		if strings.Contains(r.out+r.err, "hush") || !strings.Contains(r.err, "unavailable: ") {
			t.Errorf("a store that is not there: %v", r)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.fails(0, "version")
	b.fails(2, "bogus")
	b.fails(2, "stats", "--bogus")
	b.with("ROWLOCK_STORE=").fails(2, "stats")
	b.with("ROWLOCK_STORE=bogus").fails(2, "stats")
	b.fails(3, "enqueue", "--file", "/is/not/there")
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
