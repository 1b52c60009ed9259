package pgstore_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

// TestMigrateKilled kills a migration on either side of each of its statements;
// the next one makes it whole, and each step is recorded once.
func TestMigrateKilled(t *testing.T) {
	s := suite{dsn: servers.Postgres(t), pool: 1}
	sides := []faults.When{faults.After}
	if os.Getenv("ROWLOCK_STRESS") == "1" { // before one is after the one before it
		sides = append(sides, faults.Before)
	}
	for _, when := range sides {
		for step := 1; ; step++ {
			cfg, plan := s.config(nil), faults.NewPlan()
			broken := s.backend(t, cfg, plan)
			plan.At(step, when, faults.Kill())
			_, err := broken.Schema.Up(t.Context(), 0)
			if plan.Pending() > 0 {
				break
			}
			if domain.CodeOf(err) != domain.Unavailable {
				t.Fatalf("killed %v step %d of %q: %v", when, step, plan.Statements(), err)
			}
			b := s.backend(t, cfg, nil)
			up(t, b)
			complete(t, b)
		}
	}
}

// TestMigrateFromEveryVersion has rows in all states when the later steps come.
func TestMigrateFromEveryVersion(t *testing.T) {
	dsn := servers.Postgres(t)
	s := suite{dsn: dsn, pool: 1}
	steps, err := s.backend(t, s.config(nil), nil).Schema.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range steps[:len(steps)-1] {
		cfg := s.config(nil)
		b := s.backend(t, cfg, nil)
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

// TestMigrateWithFewRights installs into a schema that somebody else made, with
// no right to make schemas.
func TestMigrateWithFewRights(t *testing.T) {
	dsn := servers.Postgres(t)
	role := fmt.Sprintf("rowlock_owner_%x", ids.NewToken())
	servers.Exec(t, dsn, "CREATE ROLE "+role, "CREATE SCHEMA app AUTHORIZATION "+role)
	defer servers.Exec(t, dsn, "DROP OWNED BY "+role, "DROP ROLE "+role)
	b, err := pgstore.Open(t.Context(), pgstore.Config{DSN: servers.With(dsn, servers.Param("role", role)), Schema: "app"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	up(t, b)
	complete(t, b)
}
