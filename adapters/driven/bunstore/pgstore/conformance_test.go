package pgstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConformance is the store on a pool of its own, each case in a schema of its own.
func TestConformance(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.Postgres(t), clock: true}.reusing(t).open)
}

// TestLifecycle is the real services over the store.
func TestLifecycle(t *testing.T) {
	conformance.RunLifecycle(t, suite{dsn: servers.Postgres(t), clock: true}.open, system.Clock(), system.IDs())
}

// TestVariationHostPool is the store on a pool of the host's with one
// connection, and breaks it below the adapter.
func TestVariationHostPool(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.Postgres(t), clock: true, pool: 1, faults: true}.reusing(t).open, but("concurrency", "identity", "payload", "time", "order", "fair", "tenancy", "migrate", "bound", "turn", "slot", "find", "errors", "schedule", "edit", "unique")...)
}

// suite is how the cases of one run of the suite open their stores.
type suite struct {
	dsn    string
	clock  bool              // with a test clock
	schema string            // a form for the names of the schemas, with a %d
	prefix string            // of the tables
	pool   int               // on a pool of the host's with so many connections
	mode   pgx.QueryExecMode // of the host's pool; exec where none is given
	faults bool              // with faults below that pool

	notify bool // the host's transactions are those of NotifyTx

	shared  *sql.DB // that pool, one for all cases
	wrapped bool    // with a driver around pgx, as tracing libraries have

	used *used // schemas of cases that are over; nil: none is used again
}

// schemas counts the schemas of all tests, so that each case has its own.
var schemas atomic.Int64

func (s suite) config(now *conformance.Clock) pgstore.Config {
	if s.schema == "" {
		s.schema = "case_%d"
	}
	cfg := pgstore.Config{DSN: s.dsn, Schema: fmt.Sprintf(s.schema, schemas.Add(1)), TablePrefix: s.prefix, Hint: hint}
	if s.clock {
		cfg.Now = now.Now
	}
	return cfg
}

func (s suite) open(t testing.TB) conformance.Harness {
	clock := conformance.NewClock()
	cfg := s.config(clock)
	there := s.used.take(t, &cfg)
	host := sync.OnceValue(func() *sql.DB { return s.host(t) }) // one pool, however many transactions
	h := conformance.Harness{
		Begin: func(t testing.TB) conformance.HostTx { return begin(t, host(), s.notify) },
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
	if !there {
		up(t, h.Backend)
	}
	return h
}

// backend opens a store, closed when the test ends.
func (s suite) backend(t testing.TB, cfg pgstore.Config, plan *faults.Plan) driven.Backend {
	t.Helper()
	var b driven.Backend
	var err error
	switch {
	case s.shared != nil:
		b, err = pgstore.FromDB(s.shared, cfg)
	case s.pool > 0:
		b, err = pgstore.FromDB(s.db(t, plan), cfg)
	default:
		b, err = pgstore.Open(t.Context(), cfg)
	}
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

// sharing has one pool for all cases, so that they need not connect anew.
func (s suite) sharing(t testing.TB) suite {
	var plan *faults.Plan
	if s.wrapped {
		plan = faults.NewPlan()
	}
	s.shared = s.db(t, plan)
	return s
}

// host is where the host's transactions are made.
func (s suite) host(t testing.TB) *sql.DB {
	if s.shared != nil {
		return s.shared
	}
	return s.db(t, nil)
}

// db is a pool of the host's own.
func (s suite) db(t testing.TB, plan *faults.Plan) *sql.DB {
	t.Helper()
	cfg, err := pgx.ParseConfig(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DefaultQueryExecMode = s.mode; s.mode == 0 {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	connector := stdlib.GetConnector(*cfg)
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

func begin(t testing.TB, db *sql.DB, notify bool) conformance.HostTx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	commit := func() error {
		err := tx.Commit()
		var server *pgconn.PgError
		if errors.As(err, &server) && server.Code == "40001" { // the host's own isolation
			return &domain.Fault{Code: domain.Contended, Op: "commit", Err: err}
		}
		return err
	}
	h := conformance.HostTx{Tx: pgstore.Tx(tx), Commit: commit, Rollback: tx.Rollback}
	if notify {
		h.Tx = pgstore.NotifyTx(tx)
	}
	return h
}

func up(t testing.TB, b driven.Backend) {
	t.Helper()
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
}
