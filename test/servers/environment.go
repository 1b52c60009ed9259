package servers

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// lookup returns the DSN of the environment, or ends the test.
func lookup(t testing.TB, server string) string {
	t.Helper()
	required := required(t)
	variable := "ROWLOCK_" + strings.ToUpper(server) + "_DSN"
	if dsn := os.Getenv(variable); dsn != "" {
		return dsn
	}
	if slices.Contains(required, server) {
		t.Fatalf("%s is not set, and ROWLOCK_REQUIRE names %s; test/servers/up starts servers", variable, server)
	}
	t.Skipf("SKIPPED: NOTHING IS TESTED ON %s HERE, %s is not set; test/servers/up starts servers", strings.ToUpper(server), variable)
	return ""
}

// contained ends a test that needs a server as a process of this machine's.
func contained(t testing.TB, server string) {
	t.Helper()
	t.Skipf("SKIPPED: NOTHING IS TESTED ON %s HERE, it runs in a container, which no test restarts", strings.ToUpper(server))
}

// required reads ROWLOCK_REQUIRE. A name it does not know is an error, for a
// misspelt one would require nothing.
func required(t testing.TB) []string {
	t.Helper()
	var names []string
	for name := range strings.SplitSeq(os.Getenv("ROWLOCK_REQUIRE"), ",") {
		name = strings.TrimSpace(name)
		switch name {
		case "":
			continue
		case "postgres", "pgbouncer", "mysql", "mariadb", "mssql", "mongo":
			names = append(names, name)
		default:
			t.Fatalf("ROWLOCK_REQUIRE names %q; there are postgres, pgbouncer, mysql, mariadb, mssql, mongo", name)
		}
	}
	return names
}
