package servers

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"  // database/sql drivers: pgx,
	_ "github.com/microsoft/go-mssqldb" // sqlserver; dsn.go brings mysql
)

// Open returns a pool on the DSN, closed when the test ends.
func Open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver(dsn), driverDSN(dsn))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs statements one after the other on a connection of their own.
func Exec(t testing.TB, dsn string, statements ...string) {
	t.Helper()
	if err := execAll(t.Context(), dsn, statements...); err != nil {
		t.Fatalf("%v", err)
	}
}

func execAll(ctx context.Context, dsn string, statements ...string) error {
	db, err := sql.Open(driver(dsn), driverDSN(dsn))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func driver(dsn string) string {
	scheme, _, _ := strings.Cut(dsn, "://")
	switch scheme {
	case "postgres", "postgresql":
		return "pgx"
	case "sqlserver":
		return "sqlserver"
	default:
		return "mysql"
	}
}
