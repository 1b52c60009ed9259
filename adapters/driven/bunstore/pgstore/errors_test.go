package pgstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

func wantCode(t testing.TB, what string, err error, want domain.Code, hint string) {
	t.Helper()
	var f *domain.Fault
	if !errors.As(err, &f) || f.Code != want || !strings.Contains(f.Hint, hint) {
		t.Errorf("%s: got %v (cause %v), want the code %q and %q", what, err, errors.Unwrap(err), want, hint)
	}
}

// TestErrorsAtOpen: what is wrong is said, and nothing of the DSN is shown.
func TestErrorsAtOpen(t *testing.T) {
	dsn := servers.Postgres(t)
	for what, k := range map[string]struct {
		dsn  string
		code domain.Code
		hint string
	}{
		"nobody listens":   {"postgres://u:geheim@127.0.0.1:1/geheim", domain.Unavailable, "reached"},
		"no DSN":           {"postgres://u:geheim@127.0.0.1:port/x", domain.Invalid, "DSN"},
		"no such database": {strings.Replace(dsn, "/rowlock_", "/geheim_", 1), domain.Unavailable, "no such database"},
		"no such user":     {strings.Replace(dsn, "postgres@", "geheim@", 1), domain.Unavailable, "login"},
	} {
		_, err := pgstore.Open(t.Context(), pgstore.Config{DSN: k.dsn})
		wantCode(t, what, err, k.code, k.hint)
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the fault shows the DSN: %v", what, err)
		}
	}
	for _, cfg := range []pgstore.Config{
		{DSN: dsn, TablePrefix: `a"b`}, {DSN: dsn, Schema: `a\b`}, {DSN: dsn, Schema: "a$1"}, {DSN: dsn, Schema: "a\nb"},
		{DSN: dsn, Schema: "pg_x"}, {DSN: dsn, Schema: strings.Repeat("ä", 32)},
	} {
		_, err := pgstore.Open(t.Context(), cfg)
		wantCode(t, fmt.Sprintf("%q %q", cfg.Schema, cfg.TablePrefix), err, domain.Invalid, "use")
	}
	_, err := pgstore.FromDB(nil, pgstore.Config{})
	wantCode(t, "no database", err, domain.Invalid, "nil")
}

// TestErrorsOfTheServer has the server refuse for each reason of its own.
func TestErrorsOfTheServer(t *testing.T) {
	dsn := servers.Postgres(t)
	b, db := one(t, dsn)
	jobs := storekit.Add(t, b, 3)
	held := storekit.Claim(t, b, 1)[0]
	admin := servers.Open(t, dsn)
	run := func(db interface {
		Exec(string, ...any) (sql.Result, error)
	}, text string) {
		t.Helper()
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	settle := func() error {
		_, err := b.Store.Settle(t.Context(), []driven.Outcome{{Ticket: held.Ticket(), To: domain.Done, Counts: true, Keep: time.Hour}})
		return err
	}
	remove := func() error {
		_, err := b.Store.Delete(t.Context(), driven.EditRequest{IDs: []domain.JobID{jobs[2].ID}})
		return err
	}
	block, err := admin.Begin()
	if err != nil {
		t.Fatal(err)
	}
	run(block, "SELECT 1 FROM rowlock_jobs FOR UPDATE")
	run(db, "SET lock_timeout = '20ms'")
	wantCode(t, "settle against a lock", settle(), domain.Contended, "again")
	wantCode(t, "delete against a lock", remove(), domain.Contended, "again")
	run(db, "SET lock_timeout = 0; SET statement_timeout = '20ms'")
	wantCode(t, "settle against the clock", settle(), domain.Unavailable, "timeout")
	run(db, "SET statement_timeout = 0")
	_ = block.Rollback()

	pid := backend(t, db)
	run(db, "SET default_transaction_read_only = on")
	wantCode(t, "settle on a standby", settle(), domain.Unavailable, "read-only")
	if backend(t, db) == pid {
		t.Error("the connection to a read-only server is still in use")
	}
	pid = backend(t, db)
	wantCode(t, "a lost connection", lost(t, admin, pid, settle), domain.Unavailable, "")
	if err := settle(); err != nil {
		t.Errorf("settle on a new connection: %v", err)
	}

	run(admin, "ALTER TABLE rowlock_jobs RENAME COLUMN meta TO atem")
	_, err = b.Store.Claim(t.Context(), storekit.Request(1))
	wantCode(t, "claim without a column", err, domain.Unsupported, "migrate up")
	run(admin, "ALTER TABLE rowlock_jobs RENAME TO gone")
	_, err = b.Store.Claim(t.Context(), storekit.Request(1))
	wantCode(t, "claim without a table", err, domain.Unsupported, "migrate up")
}

// backend is the server process of the pool's one connection.
func backend(t testing.TB, db *sql.DB) (pid int) {
	t.Helper()
	if err := db.QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// lost ends the connection and makes calls until one notices.
func lost(t testing.TB, admin *sql.DB, pid int, call func() error) (err error) {
	t.Helper()
	if _, err := admin.Exec("SELECT pg_terminate_backend($1, 10000)", pid); err != nil {
		t.Fatal(err)
	}
	return call()
}

// TestErrorsOfRights has a user who may look and not write.
func TestErrorsOfRights(t *testing.T) {
	dsn := servers.Postgres(t)
	b, _ := one(t, dsn)
	storekit.Add(t, b, 1)
	role := "rowlock_reader_" + strings.ReplaceAll(ids.NewJobID().String(), "-", "")
	servers.Exec(t, dsn, "CREATE ROLE "+role, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+role)
	defer servers.Exec(t, dsn, "DROP OWNED BY "+role, "DROP ROLE "+role)
	reader, err := pgstore.Open(t.Context(), pgstore.Config{DSN: servers.With(dsn, servers.Param("role", role))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	if found, err := reader.Store.Jobs(t.Context(), domain.Filter{}, domain.Page{}); err != nil || len(found) != 1 {
		t.Errorf("a reader reads %d jobs: %v", len(found), err)
	}
	_, err = reader.Store.Insert(t.Context(), storekit.Jobs(1))
	wantCode(t, "insert by a reader", err, domain.Denied, "right")
	_, err = reader.Schema.Down(t.Context(), 0)
	wantCode(t, "migrate by a reader", err, domain.Denied, "right")
}
