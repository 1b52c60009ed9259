package pgstore_test

import (
	"database/sql"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
)

var ids = system.IDs()

// one opens an installed store with one connection to a database of its own.
func one(t testing.TB, dsn string) (driven.Backend, *sql.DB) {
	t.Helper()
	db := servers.Open(t, servers.With(dsn, servers.Param("default_query_exec_mode", "exec")))
	db.SetMaxOpenConns(1)
	b, err := pgstore.FromDB(db, pgstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	up(t, b)
	return b, db
}
