package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// TestTwoRunners work one store side by side: both have their share, and each job
// runs once.
func TestTwoRunners(t *testing.T) {
	onEveryStore(t, testTwoRunners)
}

func testTwoRunners(t *testing.T, b *box) {
	release := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) int {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return say(w, 200)
	})
	one, two := b.worker("--lease", "30s"), b.worker("--lease", "30s") // which no load on the machine outlasts
	eventually(t, "both are known", func() bool { return len(b.stats().Runners) == 2 })
	lines := make([]string, b.many(500))
	for n := range lines {
		lines[n] = fmt.Sprintf(`{"kind":"http","args":{"url":"%s/%d"},"queue":"q%d"}`, srv.URL, n, n%3)
	}
	b.ok("enqueue", "--file", b.file(lines...)) // a third process, which they find by looking
	eventually(t, "both have jobs in hand", func() bool { return len(b.holds(one)) > 0 && len(b.holds(two)) > 0 })
	close(release)
	eventually(t, "every job is done", func() bool { return b.stats().Totals.Done == len(lines) })
	one.stop()
	two.stop()
	log := srv.log()
	for path, hits := range log {
		if len(hits) != 1 {
			t.Errorf("%s ran %d times", path, len(hits))
		}
	}
	if s := b.stats(); len(log) != len(lines) || len(s.Runners) != 0 || len(s.Queues) != 3 {
		t.Errorf("%d of %d ran; in the end %+v", len(log), len(lines), s)
	}
}

// TestUniqueAcrossProcesses: many enqueue one key at once, one of them inserts.
func TestUniqueAcrossProcesses(t *testing.T) {
	onEveryStore(t, testUniqueAcrossProcesses)
}

func testUniqueAcrossProcesses(t *testing.T, b *box) {
	var all []*process
	for range 6 {
		all = append(all, b.start("enqueue", "k", "--unique", "u", "--json"))
	}
	type answer struct{ ID, Result string }
	results, ids := map[string]int{}, map[string]bool{}
	for _, p := range all {
		if code := p.exit(); code != 0 {
			t.Fatalf("exit %d: %s", code, p.log)
		}
		a := read[answer](t, result{out: p.out.String()})
		results[a.Result]++
		ids[a.ID] = true
	}
	if results["inserted"] != 1 || results["existing"] != 5 || len(ids) != 1 || b.stats().Totals.Pending != 1 {
		t.Errorf("answers %v, ids %v", results, ids)
	}
}
