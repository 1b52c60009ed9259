package servers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
)

// product is how one make of server names, creates and drops a database.
type product struct {
	dsn    func(t testing.TB, dsn, database string) string
	admin  Option // of the connection that creates and drops
	create string
	drop   []string // the last one counts, those before it may fail
}

var (
	// Nobody is ever connected to template0, so tests can create at the same
	// time; FORCE ends the sessions that a test forgot.
	postgres = product{
		dsn:    postgresDSN,
		admin:  Param("default_query_exec_mode", "simple_protocol"), // suits a pooler too
		create: "CREATE DATABASE %s TEMPLATE template0",
		drop:   []string{"DROP DATABASE IF EXISTS %s WITH (FORCE)"},
	}
	// A transaction that a test forgot holds locks: the drop fails and says so.
	mySQL = product{
		dsn:    mySQLDSN,
		admin:  Param("lock_wait_timeout", "20"),
		create: "CREATE DATABASE %s",
		drop:   []string{"DROP DATABASE IF EXISTS %s"},
	}
	msSQL = product{
		dsn:    msSQLDSN,
		admin:  Param("app name", "rowlock tests"),
		create: "CREATE DATABASE %s",
		drop:   []string{"ALTER DATABASE %s SET SINGLE_USER WITH ROLLBACK IMMEDIATE", "DROP DATABASE IF EXISTS %s"},
	}
)

// fresh creates a database that lives as long as the test.
func fresh(t testing.TB, server string, p product, opts []Option) string {
	t.Helper()
	given := lookup(t, server)
	name := uniqueName(t)
	dsn := p.dsn(t, given, name)
	admin := With(driverDSN(given), p.admin)
	Exec(t, admin, fmt.Sprintf(p.create, name))
	t.Cleanup(func() { p.remove(t, admin, name) })
	return With(dsn, opts...)
}

func (p product) remove(t testing.TB, admin, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	var err error
	for _, statement := range p.drop {
		err = execAll(ctx, admin, fmt.Sprintf(statement, name))
	}
	if err != nil {
		t.Errorf("the test's database %s cannot be dropped, is something of it still open? %v", name, err)
	}
}

// uniqueName needs no quoting anywhere and tells which test it belongs to.
func uniqueName(t testing.TB) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(t.Name()))
	random := make([]byte, 6)
	_, _ = rand.Read(random) // never fails
	return fmt.Sprintf("rowlock_%.30s_%s", word, hex.EncodeToString(random))
}
