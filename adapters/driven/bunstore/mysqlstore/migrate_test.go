package mysqlstore_test

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/storekit"
)

// TestMigrateKilled kills a migration up and one back after each of its statements,
// none of which is part of a transaction; the next one makes it whole, and each
// step is recorded once.
func TestMigrateKilled(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		s := newSuite(suite{dsn: p.dsn(t), pool: 1})
		sides, first, stride := []faults.When{faults.After}, 1, 2
		if p.name == "mariadb" {
			first = 2
		}
		if stress() { // before one is after the one before it
			sides, first, stride = append(sides, faults.Before), 1, 1
		}
		for _, when := range sides {
			for step := first; s.killed(t, step, when, false); step += stride {
			}
			for step := first; s.killed(t, step, when, true); step += stride {
			}
		}
	})
}

// killed kills a migration, or one back, at one statement and says whether it came so far.
func (s *tables) killed(t *testing.T, step int, when faults.When, back bool) bool {
	t.Helper()
	prefix, plan := s.fresh(), faults.NewPlan()
	db, broken := s.db(t, nil), s.db(t, plan)
	defer func() { _, _ = db.Close(), broken.Close() }()
	b := fromDB(t, db, s.config(prefix, nil))
	schema := fromDB(t, broken, s.config(prefix, nil)).Schema
	move := schema.Up
	if back {
		up(t, b)
		move = schema.Down
	}
	plan.Reset()
	plan.At(step, when, faults.Kill())
	_, err := move(t.Context(), 0)
	if plan.Pending() > 0 {
		return false
	}
	if err != nil && domain.CodeOf(err) != domain.Unavailable { // none: the lock's release was what was killed
		t.Fatalf("killed %v step %d of %q: %v", when, step, plan.Statements(), err)
	}
	up(t, b)
	complete(t, b)
	return true
}

// TestMigrateFromEveryVersion has rows in all states when the later steps come.
func TestMigrateFromEveryVersion(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		s := newSuite(suite{dsn: p.dsn(t), pool: 1})
		steps, err := s.backend(t, s.config(s.fresh(), nil), nil).Schema.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range steps[:len(steps)-1] {
			b := s.backend(t, s.config(s.fresh(), nil), nil)
			if _, err := b.Schema.Up(t.Context(), from.Number); err != nil {
				t.Fatal(err)
			}
			want := allStates(t, b)
			if done, err := b.Schema.Up(t.Context(), 0); err != nil || len(done) != len(steps)-from.Number {
				t.Fatalf("from step %d: applied %d steps: %v", from.Number, len(done), err)
			}
			for id, state := range want {
				storekit.IsIn(t, b.Store, id, state)()
			}
			complete(t, b)
		}
	})
}

// allStates makes one job in each state that a store of this version can make.
func allStates(t *testing.T, b driven.Backend) map[domain.JobID]domain.State {
	t.Helper()
	want := map[domain.JobID]domain.State{}
	for _, state := range []domain.State{domain.Done, domain.Dead, domain.Cancelled, domain.Scheduled} {
		id, out := storekit.Running(t, b)
		out[0].To, out[0].After = state, time.Hour
		if _, err := b.Store.Settle(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		want[id] = state
	}
	id, _ := storekit.Running(t, b)
	want[id] = domain.Running
	want[storekit.Add(t, b, 1)[0].ID] = domain.Ready
	return want
}

// complete checks that every step is recorded and that a job can be run.
func complete(t *testing.T, b driven.Backend) {
	t.Helper()
	steps, err := b.Schema.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.AppliedAt.IsZero() {
			t.Errorf("step %d is not recorded", s.Number)
		}
	}
	storekit.Running(t, b)
	if err := b.Store.Beat(t.Context(), domain.RunnerInfo{ID: "r"}, time.Hour); err != nil {
		t.Error(err)
	}
}
