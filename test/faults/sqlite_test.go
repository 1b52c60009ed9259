package faults_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"github.com/rowlock/rowlock/test/faults"
)

// openSQLite gives a database behind a plan and a plain way to look at it.
func openSQLite(t *testing.T) (db, plain *sql.DB, plan *faults.Plan) {
	t.Helper()
	dsn := "file:" + filepath.Join(t.TempDir(), "f.db") + "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	inner, err := faults.Connector(&sqlite.Driver{}, dsn)
	if err != nil {
		t.Fatal(err)
	}
	plan = faults.NewPlan()
	db, plain = sql.OpenDB(faults.Wrap(inner, plan)), sql.OpenDB(inner)
	t.Cleanup(func() { _ = errors.Join(db.Close(), plain.Close()) })
	if _, err := plain.ExecContext(t.Context(), "CREATE TABLE t (a INTEGER, b TEXT)"); err != nil {
		t.Fatal(err)
	}
	return db, plain, plan
}

func rowsIn(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// pair writes two rows in one transaction, one of them by way of rows that stay
// open until the transaction ends.
func pair(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "INSERT INTO t VALUES (?, ?)", 1, "one"); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, "SELECT value FROM json_each('[1,2,3]')")
	if err != nil {
		return err
	}
	defer rows.Close()
	rows.Next() // two more are to come
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO t VALUES (?, ?)")
	if err != nil {
		return err
	}
	if _, err := stmt.ExecContext(ctx, 2, "two"); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	return tx.Commit()
}

// TestNoHalfTransactionOnSQLite breaks a transaction at every step: it took if,
// and only if, the commit was let through, and nothing stays locked.
func TestNoHalfTransactionOnSQLite(t *testing.T) {
	db, plain, plan := openSQLite(t)
	if err := pair(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	steps := plan.Statements()
	if len(steps) != 6 || rowsIn(t, plain) != 2 {
		t.Fatalf("%d rows after the steps %q", rowsIn(t, plain), steps)
	}
	ways := map[string]faults.Action{"fail": faults.Fail(errors.New("failed")), "cut": faults.Cut(), "kill": faults.Kill()}
	for n := 1; n <= len(steps); n++ {
		for _, when := range []faults.When{faults.Before, faults.After} {
			for name, way := range ways {
				t.Run(fmt.Sprint(name, " ", when, " step ", n), func(t *testing.T) {
					before := rowsIn(t, plain)
					plan.Reset()
					plan.At(n, when, way)
					if err := pair(t.Context(), db); err == nil || plan.Pending() != 0 {
						t.Fatalf("%v, %d pending", err, plan.Pending())
					}
					want := before
					if n == len(steps) && when == faults.After {
						want += 2
					}
					if got := rowsIn(t, plain); got != want {
						t.Fatalf("%d rows, want %d", got, want)
					}
					// No timeout is set: a transaction left open would be SQLITE_BUSY here.
					if err := pair(t.Context(), plain); err != nil {
						t.Fatalf("the file is locked: %v", err)
					}
					plan.Reset()
					if err := pair(t.Context(), db); err != nil {
						t.Fatalf("the pool is broken: %v", err)
					}
				})
			}
		}
	}
}

// TestCutTransactionBeganByHand covers adapters that send BEGIN as a statement.
func TestCutTransactionBeganByHand(t *testing.T) {
	db, plain, plan := openSQLite(t)
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec := func(q string) error { _, err := c.ExecContext(t.Context(), q); return err }
	plan.At(3, faults.Before, faults.Cut())
	for _, q := range []string{"BEGIN IMMEDIATE", "INSERT INTO t VALUES (1, 'x')"} {
		if err := exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec("COMMIT"); !errors.Is(err, faults.ErrCut) {
		t.Fatal(err)
	}
	if err := exec("ROLLBACK"); err == nil {
		t.Fatal("a cut connection took a statement")
	}
	_ = c.Close()
	if err := pair(t.Context(), plain); err != nil || rowsIn(t, plain) != 2 {
		t.Fatal("the transaction is still there", err)
	}
}

// TestManyWorkersUnderFaults keeps breaking connections under a busy pool.
func TestManyWorkersUnderFaults(t *testing.T) {
	db, plain, plan := openSQLite(t)
	db.SetMaxOpenConns(1)
	for n := range 60 {
		plan.At(7*n+1, faults.When(n%2), []faults.Action{faults.Cut(), faults.Fail(errors.New("failed"))}[n/2%2])
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	sure, unsure := 0, 0
	for range 4 {
		wg.Go(func() {
			for range 40 {
				err := pair(t.Context(), db)
				mu.Lock()
				if err == nil {
					sure += 2
				} else {
					unsure += 2
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	got := rowsIn(t, plain)
	if got < sure || got > sure+unsure || got%2 != 0 || unsure == 0 {
		t.Fatalf("%d rows; %d were answered, %d were not", got, sure, unsure)
	}
}
