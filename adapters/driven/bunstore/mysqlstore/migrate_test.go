package mysqlstore_test

import (
	"testing"

	"github.com/rowlock/rowlock/domain"
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
	storekit.Complete(t, b)
	return true
}
