package e2e

import (
	"testing"
)

// TestOperating: a job's life as an operator sees and changes it.
func TestOperating(t *testing.T) {
	onEveryStore(t, testOperating)
}

func testOperating(t *testing.T, b *box) {
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
	b.ok("enqueue", "exec", `{"command":"true"}`, "--keep-done", "1ms", "--after", "1h")
	b.ok("work", "--once", "--allow-exec", "--delayed")
	eventually(t, "the done job is pruned", func() bool {
		b.ok("prune", "--json")
		return b.stats().Totals.Done == 0
	})
}
