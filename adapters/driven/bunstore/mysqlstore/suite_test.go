package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
)

// suite is how the cases of one run of the suite open their stores.
type suite struct {
	dsn    string
	clock  bool   // with a test clock
	pool   int    // on a pool of the host's with so many connections
	faults bool   // with faults below that pool
	noSkip bool   // with the claim for servers that cannot skip
	prefix string // of all prefixes
}

// tables hands out prefixes. Tables that a case is done with are emptied for the
// next one: to make them costs more than most cases do.
type tables struct {
	suite
	mu   sync.Mutex
	made int
	free []string
}

func newSuite(s suite) *tables { return &tables{suite: s} }

func (s *tables) fresh() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return fmt.Sprintf("%sc%d_", s.prefix, s.made)
}

// migrated gives the prefix of empty tables, and whether they are there already.
func (s *tables) migrated(t testing.TB) (prefix string, there bool) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		prefix, there = s.free[n-1], true
		s.free = s.free[:n-1]
	}
	s.mu.Unlock()
	if !there {
		prefix = s.fresh()
	}
	t.Cleanup(func() { s.empty(t, prefix) })
	return prefix, there
}

func (s *tables) empty(t testing.TB, prefix string) {
	db := s.db(t, nil)
	defer func() { _ = db.Close() }()
	for _, table := range []string{"jobs", "runners", "bounds", "slots", "job_keys", "batches", "schedules", "switches"} {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), "DELETE FROM `"+prefix+table+"`"); err != nil {
			return // these tables are not used again
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, prefix)
}

func (s *tables) config(prefix string, now *conformance.Clock) mysqlstore.Config {
	cfg := mysqlstore.Config{DSN: s.dsn, TablePrefix: prefix, NoSkipLocked: s.noSkip}
	if s.clock {
		cfg.Now = now.Now
	}
	return cfg
}

func (s *tables) open(t testing.TB) conformance.Harness {
	clock := conformance.NewClock()
	prefix, there := s.migrated(t)
	cfg := s.config(prefix, clock)
	host := sync.OnceValue(func() *sql.DB { return s.db(t, nil) }) // one pool, however many transactions
	h := conformance.Harness{
		Begin: func(t testing.TB) conformance.HostTx { return begin(t, host()) },
		Again: func(t testing.TB) driven.Backend { return s.backend(t, cfg, nil) },
		Bare: func(t testing.TB) func() driven.Backend {
			cfg := s.config(s.fresh(), clock)
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
	if !there {
		up(t, h.Backend)
	}
	return h
}

// backend opens a store, closed when the test ends.
func (s *tables) backend(t testing.TB, cfg mysqlstore.Config, plan *faults.Plan) driven.Backend {
	t.Helper()
	if s.pool > 0 {
		return fromDB(t, s.db(t, plan), cfg)
	}
	return openBare(t, cfg)
}

// db is a pool of the host's own.
func (s *tables) db(t testing.TB, plan *faults.Plan) *sql.DB {
	t.Helper()
	db := hostDB(t, s.dsn, plan)
	if s.pool > 0 {
		db.SetMaxOpenConns(s.pool)
	}
	return db
}

func hostDB(t testing.TB, dsn string, plan *faults.Plan) *sql.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
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

// quotedDatabase is the DSN of a database whose name needs quoting.
func quotedDatabase(t *testing.T, p product) string {
	t.Helper()
	plain := p.dsn(t)
	cfg, err := mysql.ParseDSN(plain)
	if err != nil {
		t.Fatal(err)
	}
	name := "Jobs of-" + strings.TrimPrefix(cfg.DBName, "rowlock_") + " é"
	servers.Exec(t, plain, "CREATE DATABASE `"+name+"`")
	t.Cleanup(func() {
		db, err := sql.Open("mysql", plain)
		if err == nil {
			_, err = db.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE `"+name+"`")
			_ = db.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	cfg.DBName = name
	return cfg.FormatDSN()
}
