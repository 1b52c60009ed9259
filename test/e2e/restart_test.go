package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/test/servers"
)

// TestRestart: the server is stopped for a while and started again, and then its role
// changes under open connections. Nobody else is restarted.
func TestRestart(t *testing.T) { onServers(t, []string{"postgres", "mariadb"}, testRestart) }

func testRestart(t *testing.T, on store) {
	server := servers.Own(t, on.name)
	s := newSite(t)
	s.start(loweredDSN(t, on.name, server))
	before := s.steady()
	server.Stop()
	away(t, s, "the server is away", 2*time.Second, 20*time.Second)
	server.Start()
	s.back(before)
	for n, role := range roles()[on.name] {
		if n > 0 && !stress() {
			break
		}
		servers.Exec(t, server.DSN, role.on...)
		away(t, s, "the server is read-only", time.Second, 10*time.Second)
		servers.Exec(t, server.DSN, role.off...)
		s.back(before)
	}
	s.close()
	s.left()
}

// role makes a server read-only and ends that.
type role struct{ on, off []string }

// roles are the manners in which servers change. In the first of PostgreSQL's every
// session is one of a standby and stays so: the pool must let go of each.
func roles() map[string][]role {
	const others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
	const may = "SET default_transaction_read_only = off"
	return map[string][]role{
		"postgres": {
			{
				on:  []string{"ALTER DATABASE postgres SET default_transaction_read_only = on", others},
				off: []string{may, "ALTER DATABASE postgres RESET default_transaction_read_only"},
			},
			{
				on:  []string{"ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"},
				off: []string{may, "ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()"},
			},
		},
		"mysql":   {{on: []string{"SET GLOBAL super_read_only = ON"}, off: []string{"SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"}}},
		"mariadb": {{on: []string{"SET GLOBAL read_only = ON"}, off: []string{"SET GLOBAL read_only = OFF"}}},
	}
}

// loweredDSN is of a user whom a read-only server holds to it.
func loweredDSN(t *testing.T, name string, server *servers.Server) string {
	t.Helper()
	if name != "mariadb" {
		return server.DSN
	}
	servers.Exec(t, server.DSN, "CREATE USER app@'%'", "GRANT ALL ON rowlock.* TO app@'%'")
	return strings.Replace(server.DSN, "rowlock@", "app@", 1)
}

// away waits while nothing can be done, and sees that the loops do not hurry.
func away(t *testing.T, s *site, what string, short, long time.Duration) {
	t.Helper()
	if stress() {
		short = long
	}
	failed, done := s.failed.Load(), s.done.Load()
	<-time.After(short)
	failed, done = s.failed.Load()-failed, s.done.Load()-done
	t.Logf("%s for %v: %d errors, %d jobs done", what, short, failed, done)
	if failed == 0 || failed > int64(100*short.Seconds()) {
		t.Errorf("%d errors in %v: %s", failed, short, s.tally())
	}
}
