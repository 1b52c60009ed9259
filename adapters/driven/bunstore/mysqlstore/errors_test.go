package mysqlstore_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

// TestErrorsAtOpen: what is wrong is said, and nothing of the DSN is shown.
func TestErrorsAtOpen(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t)
		for what, k := range map[string]struct {
			dsn  string
			code domain.Code
			hint string
		}{
			"nobody listens":   {"u:geheim@tcp(127.0.0.1:1)/geheim", domain.Unavailable, "reached"},
			"nobody at a URL":  {"mysql://u:geheim@127.0.0.1:1/geheim", domain.Unavailable, "reached"},
			"no DSN":           {"u:geheim@geheim", domain.Invalid, "DSN"},
			"no URL":           {"mysql://u:geheim@127.0.0.1:port/x", domain.Invalid, "DSN"},
			"no such database": {strings.Replace(dsn, "/rowlock_", "/geheim_", 1), domain.Unavailable, "no such database"},
			"no such user":     {strings.Replace(dsn, "rowlock@", "geheim@", 1), domain.Unavailable, "login"},
			"no database":      {dsn[:strings.LastIndex(dsn, "/")+1], domain.Invalid, "name the database"},
		} {
			_, err := mysqlstore.Open(t.Context(), mysqlstore.Config{DSN: k.dsn})
			wantCode(t, what, err, k.code, k.hint)
			if err != nil && strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s: the fault shows the DSN: %v", what, err)
			}
		}
		for _, cfg := range []mysqlstore.Config{
			{DSN: dsn, TablePrefix: "a`b"}, {DSN: dsn, Database: "a`b"}, {DSN: dsn, Database: "a$1"}, {DSN: dsn, Database: "a?"},
			{DSN: dsn, Database: `a\b`}, {DSN: dsn, Database: "a'b"}, {DSN: dsn, TablePrefix: strings.Repeat("x", 41)},
		} {
			_, err := mysqlstore.Open(t.Context(), cfg)
			wantCode(t, fmt.Sprintf("%q %q", cfg.Database, cfg.TablePrefix), err, domain.Invalid, "use")
		}
	})
	_, err := mysqlstore.FromDB(nil, mysqlstore.Config{})
	wantCode(t, "no pool", err, domain.Invalid, "nil")
}

// TestErrorsOfTheServer has the server refuse for each reason of its own.
func TestErrorsOfTheServer(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t)
		b, db := one(t, dsn)
		jobs := storekit.Add(t, b, 3)
		held := storekit.Claim(t, b, 1)[0]
		admin := servers.Open(t, dsn)
		settle := func() error {
			_, err := b.Store.Settle(t.Context(), []driven.Outcome{{Ticket: held.Ticket(), To: domain.Done, Counts: true, Keep: time.Hour}})
			return err
		}
		block, err := admin.Begin()
		if err != nil {
			t.Fatal(err)
		}
		run(t, block, "SELECT 1 FROM rowlock_jobs FOR UPDATE")
		run(t, db, "SET SESSION innodb_lock_wait_timeout = 1")
		wantCode(t, "settle against a lock", settle(), domain.Contended, "again")
		_ = block.Rollback()
		deadlock(t, b, admin, jobs)

		session := sessionOf(t, db)
		run(t, db, "SET SESSION TRANSACTION READ ONLY")
		wantCode(t, "settle on a replica", settle(), domain.Unavailable, "read-only")
		if sessionOf(t, db) == session {
			t.Error("the connection to a read-only server is still in use")
		}
		run(t, admin, fmt.Sprint("KILL ", sessionOf(t, db)))
		if err := settle(); err != nil { // the pool notices before anything is sent, or the call says so
			wantCode(t, "a lost connection", err, domain.Unavailable, "")
		}
		if err := settle(); err != nil {
			t.Errorf("settle on a new connection: %v", err)
		}
		run(t, admin, "ALTER TABLE rowlock_jobs RENAME COLUMN meta TO atem")
		_, err = b.Store.Claim(t.Context(), storekit.Request(1))
		wantCode(t, "claim without a column", err, domain.Unsupported, "migrate up")
		run(t, admin, "RENAME TABLE rowlock_jobs TO gone")
		_, err = b.Store.Claim(t.Context(), storekit.Request(1))
		wantCode(t, "claim without a table", err, domain.Unsupported, "migrate up")
	})
}

// deadlock has the store meet a transaction that took two rows the other way round.
// The server ends the lighter one of the two, which is the store's.
func deadlock(t *testing.T, b driven.Backend, admin *sql.DB, jobs []domain.NewJob) {
	t.Helper()
	tx, err := admin.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	run(t, tx, "CREATE TEMPORARY TABLE weight (n INT) ENGINE=InnoDB", "INSERT INTO weight VALUES (1), (2), (3), (4), (5)",
		fmt.Sprintf("UPDATE rowlock_jobs SET turn = turn + 1 WHERE id = X'%x'", jobs[2].ID[:]))
	answer := make(chan error, 1)
	go func() {
		_, err := b.Store.Reschedule(t.Context(), driven.EditRequest{IDs: []domain.JobID{jobs[1].ID, jobs[2].ID}})
		answer <- err
	}()
	// The store holds the first row by now, or takes it and the test waits for it.
	for deadline := time.Now().Add(10 * time.Second); ; {
		var id []byte
		err := admin.QueryRow("SELECT id FROM rowlock_jobs WHERE id = ? FOR UPDATE SKIP LOCKED", jobs[1].ID[:]).Scan(&id)
		if err == sql.ErrNoRows || time.Now().After(deadline) {
			break
		}
	}
	run(t, tx, fmt.Sprintf("UPDATE rowlock_jobs SET turn = turn + 1 WHERE id = X'%x'", jobs[1].ID[:]))
	_ = tx.Rollback()
	wantCode(t, "reschedule in a deadlock", <-answer, domain.Contended, "again")
}

// sessionOf is the server's number of the pool's one connection.
func sessionOf(t testing.TB, db *sql.DB) (id int) {
	t.Helper()
	if err := db.QueryRow("SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestErrorsOfRights has a user who may look and not write.
func TestErrorsOfRights(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t)
		b, _ := one(t, dsn)
		storekit.Add(t, b, 1)
		user := fmt.Sprintf("reader_%x", ids.NewToken())[:30]
		admin := servers.Open(t, dsn)
		run(t, admin, "CREATE USER "+user+"@'%'", "GRANT SELECT ON * TO "+user+"@'%'")
		defer run(t, admin, "DROP USER "+user+"@'%'")
		reader, err := mysqlstore.Open(t.Context(), mysqlstore.Config{DSN: strings.Replace(dsn, "rowlock@", user+"@", 1)})
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
	})
}
