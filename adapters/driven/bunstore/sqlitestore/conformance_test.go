package sqlitestore_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
)

// TestConformance is the store on a file of its own.
func TestConformance(t *testing.T) { conformance.Run(t, ownFile) }

// TestLifecycle is the real services over the store.
func TestLifecycle(t *testing.T) {
	conformance.RunLifecycle(t, ownFile, system.Clock(), system.IDs())
}

// TestVariationInRealTime has the database's own clock.
func TestVariationInRealTime(t *testing.T) {
	conformance.Run(t, func(t testing.TB) conformance.Harness {
		cfg := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "jobs.db")}
		return harness(open(t, cfg), cfg)
	})
}

// TestVariationHostPool is the store on a pool of the host's with one
// connection, and breaks it below the adapter.
func TestVariationHostPool(t *testing.T) {
	conformance.Run(t, func(t testing.TB) conformance.Harness {
		clock := conformance.NewClock()
		path, plan := filepath.Join(t.TempDir(), "jobs.db"), faults.NewPlan()
		db := pool(t, path, plan)
		db.SetMaxOpenConns(1)
		cfg := sqlitestore.Config{Path: path, Now: clock.Now}
		b := fromDB(t, db, cfg)
		up(t, b)
		h := harness(b, cfg)
		h.Advance, h.Faults = clock.Advance, plan
		return h
	})
}

func ownFile(t testing.TB) conformance.Harness {
	clock := conformance.NewClock()
	cfg := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "jobs.db"), Now: clock.Now, Synchronous: "NORMAL"}
	h := harness(open(t, cfg), cfg)
	h.Advance = clock.Advance
	return h
}

func harness(b driven.Backend, cfg sqlitestore.Config) conformance.Harness {
	return conformance.Harness{
		Backend: b,
		Begin:   func(t testing.TB) conformance.HostTx { return begin(t, pool(t, cfg.Path, nil)) },
		Again:   func(t testing.TB) driven.Backend { return openBare(t, cfg) },
		Bare: func(t testing.TB) func() driven.Backend {
			cfg := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "bare.db"), Now: cfg.Now}
			return func() driven.Backend { return openBare(t, cfg) }
		},
	}
}

// pool is a pool of the host's own.
func pool(t testing.TB, path string, plan *faults.Plan) *sql.DB {
	t.Helper()
	connector, err := sqlite.NewConnector("file:" + path + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		t.Fatal(err)
	}
	if plan != nil {
		connector = faults.Wrap(connector, plan)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func fromDB(t testing.TB, db *sql.DB, cfg sqlitestore.Config) driven.Backend {
	t.Helper()
	cfg.Path = ""
	b, err := sqlitestore.FromDB(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func begin(t testing.TB, db *sql.DB) conformance.HostTx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return conformance.HostTx{Tx: sqlitestore.Tx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
}
