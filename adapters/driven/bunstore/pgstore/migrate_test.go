package pgstore_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/domain"
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
			storekit.Complete(t, b)
		}
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
	storekit.Complete(t, b)
}
