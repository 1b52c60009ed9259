package e2e

import (
	"strings"
	"testing"
)

type step struct {
	Number    int
	AppliedAt *string `json:"applied_at"`
}

func TestMigrations(t *testing.T) {
	onEveryEmptyStore(t, testMigrations)
}

func testMigrations(t *testing.T, b *box) {
	status := b.ok("migrate", "status", "--json") // to find nothing is an answer, and no fault
	steps := read[[]step](t, status)
	if len(steps) == 0 || steps[0].Number != 1 || applied(steps) != 0 || !strings.Contains(status.err, "rowlock migrate up") {
		t.Fatalf("before: %+v", status)
	}
	if !b.store.own {
		for _, args := range [][]string{{"stats"}, {"work", "--once"}, {"enqueue", "k"}} {
			if r := b.fails(6, args...); !strings.Contains(r.err, "rowlock migrate up") {
				t.Errorf("without tables: %v", r)
			}
		}
		b.isEmpty() // to look makes nothing
	}
	if done := b.steps("migrate", "up", "--to", "1"); len(done) != 1 || applied(done) != 1 {
		t.Errorf("the first step: %+v", done)
	}
	if done := b.steps("migrate", "up"); len(done) != len(steps)-1 || applied(done) != len(done) {
		t.Errorf("the others: %+v", done)
	}
	if again := b.steps("migrate", "up"); len(again) != 0 {
		t.Errorf("a second time: %+v", again)
	}
	if r := b.ok("migrate", "status"); strings.Contains(r.err, "rowlock migrate up") {
		t.Errorf("nothing is left to do: %v", r)
	}
	if r := b.ok("migrate", "print", "--step", "1"); !strings.Contains(strings.ToLower(r.out), "create") || !strings.Contains(r.out, "rowlock_jobs") {
		t.Error(r)
	}
	b.ok("enqueue", "k")
	if r := b.with("ROWLOCK_TABLE_PREFIX=other_").fails(6, "stats"); !strings.Contains(r.err, "rowlock migrate up") {
		t.Errorf("another prefix: %v", r)
	}
	if back := b.steps("migrate", "down", "--to", "0"); len(back) != len(steps) {
		t.Errorf("taken back: %+v", back)
	}
	if applied(b.steps("migrate", "status")) != 0 {
		t.Errorf("still applied")
	}
	b.isEmpty()
}

// TestMigrationByManyProcesses: each step once, whoever comes first, and all are content.
func TestMigrationByManyProcesses(t *testing.T) {
	onEveryEmptyStore(t, func(t *testing.T, b *box) {
		var all []*process
		for range 5 {
			all = append(all, b.start("migrate", "up", "--json"))
		}
		done := map[int]int{}
		for _, p := range all {
			if code := p.exit(); code != 0 {
				t.Errorf("exit %d: %s", code, p.log)
				continue
			}
			for _, s := range read[[]step](t, result{out: p.out.String()}) {
				done[s.Number]++
			}
		}
		steps := b.steps("migrate", "status")
		for _, s := range steps {
			if done[s.Number] != 1 || s.AppliedAt == nil {
				t.Errorf("step %d was applied by %d processes", s.Number, done[s.Number])
			}
		}
		b.ok("enqueue", "k")
	})
}

func (b *box) steps(args ...string) []step {
	b.t.Helper()
	return read[[]step](b.t, b.ok(append(args, "--json")...))
}

func applied(steps []step) (n int) {
	for _, s := range steps {
		if s.AppliedAt != nil {
			n++
		}
	}
	return n
}
