package mysqlstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// products are the servers that every test here runs on.
var products = []struct {
	name string
	dsn  func(testing.TB, ...servers.Option) string
}{
	{"mysql", servers.MySQL},
	{"mariadb", servers.MariaDB},
}

// onEach runs a test on each server, in a database of its own.
func onEach(t *testing.T, test func(t *testing.T, dsn string), opts ...servers.Option) {
	for _, p := range products {
		t.Run(p.name, func(t *testing.T) { test(t, p.dsn(t, opts...)) })
	}
}

// TestConformance is the store on a pool of its own, each case with tables of its own.
func TestConformance(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) { conformance.Run(t, suite{dsn: dsn, clock: true}.open) })
}

// TestConformanceInRealTime has the database's own clock.
func TestConformanceInRealTime(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) { conformance.Run(t, suite{dsn: dsn}.open) })
}

// TestConformanceHostPool is the store on a pool of the host's with one
// connection, and breaks it below the adapter.
func TestConformanceHostPool(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) {
		conformance.Run(t, suite{dsn: dsn, clock: true, pool: 1, faults: true}.open)
	})
}

// TestConformanceNoSkipLocked is the claim for servers that cannot skip locked rows.
func TestConformanceNoSkipLocked(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) {
		conformance.Run(t, suite{dsn: dsn, clock: true, noSkip: true}.open)
	})
}

// suite is how the cases of one run of the suite open their stores.
type suite struct {
	dsn    string
	clock  bool // with a test clock
	pool   int  // on a pool of the host's with so many connections
	faults bool // with faults below that pool
	noSkip bool
}

// cases counts the cases of all tests, so that each has its own tables.
var cases atomic.Int64

func (s suite) config(now *conformance.Clock) mysqlstore.Config {
	cfg := mysqlstore.Config{DSN: s.dsn, TablePrefix: fmt.Sprintf("c%d_", cases.Add(1)), NoSkipLocked: s.noSkip}
	if s.clock {
		cfg.Now = now.Now
	}
	return cfg
}

func (s suite) open(t testing.TB) conformance.Harness {
	clock := conformance.NewClock()
	cfg := s.config(clock)
	h := conformance.Harness{
		Begin: func(t testing.TB) conformance.HostTx { return begin(t, s.db(t, nil)) },
		Again: func(t testing.TB) driven.Backend { return s.backend(t, cfg, nil) },
		Bare: func(t testing.TB) func() driven.Backend {
			cfg := s.config(clock)
			return func() driven.Backend { return s.backend(t, cfg, nil) }
		},
	}
	var plan *faults.Plan
	if s.faults {
		plan = faults.NewPlan()
		h.Faults = plan
	}
	if s.clock {
		h.Advance = clock.Advance
	}
	h.Backend = s.backend(t, cfg, plan)
	up(t, h.Backend)
	return h
}

// backend opens a store, closed when the test ends.
func (s suite) backend(t testing.TB, cfg mysqlstore.Config, plan *faults.Plan) driven.Backend {
	t.Helper()
	if s.pool > 0 {
		return fromDB(t, s.db(t, plan), cfg)
	}
	return openBare(t, cfg)
}

// db is a pool of the host's own.
func (s suite) db(t testing.TB, plan *faults.Plan) *sql.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if plan != nil {
		connector = faults.Wrap(connector, plan)
	}
	db := sql.OpenDB(connector)
	if s.pool > 0 {
		db.SetMaxOpenConns(s.pool)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openBare(t testing.TB, cfg mysqlstore.Config) driven.Backend {
	t.Helper()
	b, err := mysqlstore.Open(t.Context(), cfg)
	return opened(t, b, err)
}

func fromDB(t testing.TB, db *sql.DB, cfg mysqlstore.Config) driven.Backend {
	t.Helper()
	b, err := mysqlstore.FromDB(db, cfg)
	return opened(t, b, err)
}

func opened(t testing.TB, b driven.Backend, err error) driven.Backend {
	t.Helper()
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func begin(t testing.TB, db *sql.DB) conformance.HostTx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return conformance.HostTx{Tx: mysqlstore.Tx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
}

func up(t testing.TB, b driven.Backend) {
	t.Helper()
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
}
