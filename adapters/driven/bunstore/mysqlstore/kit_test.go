package mysqlstore_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

var ids = system.IDs()

// one opens an installed store with one connection to a database of its own.
func one(t testing.TB, dsn string) (driven.Backend, *sql.DB) {
	t.Helper()
	db := hostDB(t, dsn, nil)
	db.SetMaxOpenConns(1)
	b := fromDB(t, db, mysqlstore.Config{})
	up(t, b)
	return b, db
}

func wantCode(t testing.TB, what string, err error, want domain.Code, hint string) {
	t.Helper()
	var f *domain.Fault
	if !errors.As(err, &f) || f.Code != want || !strings.Contains(f.Hint, hint) {
		t.Errorf("%s: got %v (cause %v), want the code %q and %q", what, err, errors.Unwrap(err), want, hint)
	}
}

func run(t testing.TB, db interface {
	Exec(string, ...any) (sql.Result, error)
}, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
}
