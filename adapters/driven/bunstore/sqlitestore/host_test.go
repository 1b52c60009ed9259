package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/domain"
)

// args that a formatter would trip over: bun writes values into the text.
const odd = `{"a":"' \\\" ? ?0 $1 :x @p1 -- ; \\'","n":9007199254740993}`

// TestHostTransactions takes every kind of transaction that a host may have, and
// writes its values bound.
func TestHostTransactions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	b := open(t, sqlitestore.Config{Path: path})
	db := pool(t, path, nil)
	bdb := bun.NewDB(db, sqlitedialect.New())
	in := func(tx bun.IConn) domain.JobID {
		t.Helper()
		inserter, err := b.Tx.Bind(sqlitestore.Tx(tx))
		if err != nil {
			t.Fatal(err)
		}
		n := jobs(1, "k")
		n[0].Args, n[0].Unique = []byte(odd), &domain.Unique{Key: "?'"}
		got, err := inserter.Insert(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].ID
	}
	plain, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	first := in(plain)
	if err := plain.Commit(); err != nil {
		t.Fatal(err)
	}
	err = bdb.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
		if again := in(tx); again != first {
			t.Errorf("the key is held by %s, got %s", first, again)
		}
		return tx.RunInTx(ctx, nil, func(_ context.Context, nested bun.Tx) error {
			in(&nested)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	j, err := b.Store.Job(t.Context(), first, "")
	if err != nil || string(j.Args) != odd {
		t.Errorf("args came back as %s (%v)", j.Args, err)
	}
}

// What is no transaction of the host's is refused.
func TestHostTransactionRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	b := open(t, sqlitestore.Config{Path: path})
	db := pool(t, path, nil)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, tx := range []bun.IConn{nil, db, conn, bun.NewDB(db, sqlitedialect.New()), (*sql.Tx)(nil), bun.Tx{}, (*bun.Tx)(nil)} {
		_, err := b.Tx.Bind(sqlitestore.Tx(tx))
		wantCode(t, err, domain.Invalid)
	}
	_, err = b.Tx.Bind(nil)
	wantCode(t, err, domain.Invalid)
	over, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := over.Rollback(); err != nil {
		t.Fatal(err)
	}
	inserter, err := b.Tx.Bind(sqlitestore.Tx(over))
	if err != nil {
		t.Fatal(err)
	}
	_, err = inserter.Insert(t.Context(), jobs(1, "k"))
	wantCode(t, err, domain.Invalid)
}

// TestPoolOfOne has forty goroutines share the host's one connection, among them
// transactions of the host's that enqueue: everything moves.
func TestPoolOfOne(t *testing.T) {
	db := pool(t, filepath.Join(t.TempDir(), "jobs.db"), nil)
	db.SetMaxOpenConns(1)
	b := fromDB(t, db, sqlitestore.Config{})
	up(t, b)
	var wg sync.WaitGroup
	report := func(what string, err error) {
		if err != nil {
			t.Error(what, err)
		}
	}
	for range 40 {
		wg.Go(func() {
			tx, err := db.BeginTx(t.Context(), nil)
			report("begin", err)
			inserter, err := b.Tx.Bind(sqlitestore.Tx(tx))
			report("bind", err)
			_, err = inserter.Insert(t.Context(), jobs(3, "k"))
			report("insert", err)
			report("commit", tx.Commit())
			_, err = b.Store.Insert(t.Context(), jobs(2, "k"))
			report("own insert", err)
			_, err = b.Store.Stats(t.Context(), "", 10)
			report("stats", err)
		})
	}
	wg.Wait()
	n, exact, err := b.Store.Count(t.Context(), domain.Filter{}, 1000)
	if got := fmt.Sprint(n, exact, err); got != "200 true <nil>" {
		t.Errorf("counted %s", got)
	}
}

// Jobs of a nested transaction live and die with the outermost one.
func TestHostSavepoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	b := open(t, sqlitestore.Config{Path: path})
	db := pool(t, path, nil)
	for _, c := range []struct {
		inner, outer string
		want         int
	}{{"ROLLBACK TO host", "COMMIT", 1}, {"RELEASE host", "ROLLBACK", 0}, {"RELEASE host", "COMMIT", 2}} {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		inserter, err := b.Tx.Bind(sqlitestore.Tx(tx))
		if err != nil {
			t.Fatal(err)
		}
		do := func(text string) {
			t.Helper()
			if _, err := tx.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		put := func() {
			t.Helper()
			if _, err := inserter.Insert(t.Context(), jobs(1, "k")); err != nil {
				t.Fatal(err)
			}
		}
		put()
		do("SAVEPOINT host")
		put()
		do(c.inner)
		if n, _, err := b.Store.Count(t.Context(), domain.Filter{States: []domain.State{domain.Ready}}, 10); n != 0 || err != nil {
			t.Errorf("%d jobs were seen before the end (%v)", n, err)
		}
		end := tx.Commit
		if c.outer == "ROLLBACK" {
			end = tx.Rollback
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if n := len(claim(t, b, 10, "k").Jobs); n != c.want {
			t.Errorf("%s, %s: %d jobs, want %d", c.inner, c.outer, n, c.want)
		}
	}
}
