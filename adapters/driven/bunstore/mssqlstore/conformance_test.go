package mssqlstore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mssqlstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
)

// These tests want a server, ROWLOCK_MSSQL_DSN; without it each says so.

// TestConformance is the store on a pool of its own, each case in a schema of its own.
func TestConformance(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.MSSQL(t), clock: true}.open)
}

// TestConformanceInRealTime has the database's own clock, and names that want quotes.
func TestConformanceInRealTime(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.MSSQL(t), schema: "odd ] sch'ema %d", prefix: "Jobs_"}.open)
}

// TestConformanceRowVersions has reads see row versions, as Azure does by default.
func TestConformanceRowVersions(t *testing.T) {
	dsn := servers.MSSQL(t)
	servers.Exec(t, dsn, "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE",
		"ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON")
	conformance.Run(t, suite{dsn: dsn, clock: true}.open)
}

// TestConformanceHostPool is the store on a pool of the host's with one connection
// whose session is set up against it, and breaks it below the adapter.
func TestConformanceHostPool(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.MSSQL(t), clock: true, pool: 1, faults: true, session: contrary}.open)
}

// contrary are settings that a host may have in its sessions.
const contrary = "SET NOCOUNT ON; SET XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET DATEFORMAT dmy; SET LANGUAGE British"

// suite is how the cases of one run of the suite open their stores.
type suite struct {
	dsn     string
	clock   bool   // with a test clock
	schema  string // a form for the names of the schemas, with a %d
	prefix  string // of the tables
	pool    int    // on a pool of the host's with so many connections
	faults  bool   // with faults below that pool
	session string // what the host's pool runs at the start of each use
}

// schemas counts the schemas of all tests, so that each case has its own.
var schemas atomic.Int64

func (s suite) config(now *conformance.Clock) mssqlstore.Config {
	if s.schema == "" {
		s.schema = "case_%d"
	}
	cfg := mssqlstore.Config{DSN: s.dsn, Schema: fmt.Sprintf(s.schema, schemas.Add(1)), TablePrefix: s.prefix}
	if s.clock {
		cfg.Now = now.Now
	}
	return cfg
}

func (s suite) open(t testing.TB) conformance.Harness {
	clock := conformance.NewClock()
	cfg := s.config(clock)
	host := sync.OnceValue(func() *sql.DB { return s.db(t, nil) }) // one pool, however many transactions
	h := conformance.Harness{
		Begin: func(t testing.TB) conformance.HostTx { return begin(t, host()) },
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
func (s suite) backend(t testing.TB, cfg mssqlstore.Config, plan *faults.Plan) driven.Backend {
	t.Helper()
	var b driven.Backend
	var err error
	if s.pool > 0 {
		b, err = mssqlstore.FromDB(s.db(t, plan), cfg)
	} else {
		b, err = mssqlstore.Open(t.Context(), cfg)
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

// db is a pool of the host's own.
func (s suite) db(t testing.TB, plan *faults.Plan) *sql.DB {
	t.Helper()
	connector, err := mssql.NewConnector(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector.SessionInitSQL = s.session
	db := sql.OpenDB(connector)
	if plan != nil {
		db = sql.OpenDB(faults.Wrap(connector, plan))
	}
	if s.pool > 0 {
		db.SetMaxOpenConns(s.pool)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func begin(t testing.TB, db *sql.DB) conformance.HostTx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return conformance.HostTx{Tx: mssqlstore.Tx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
}

func up(t testing.TB, b driven.Backend) {
	t.Helper()
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
}

// TestReadableView shows an operator names of any script as text.
func TestReadableView(t *testing.T) {
	dsn := servers.MSSQL(t)
	s := suite{dsn: dsn}
	b := s.backend(t, mssqlstore.Config{DSN: dsn}, nil)
	up(t, b)
	job := domain.NewJob{ID: system.IDs().NewJobID(), Kind: "ñandú/日本/😀", Queue: "q", Args: []byte(`{"ü":"😀"}`)}
	if _, err := b.Store.Insert(t.Context(), []domain.NewJob{job}); err != nil {
		t.Fatal(err)
	}
	var id, state, kind, args string
	row := servers.Open(t, dsn).QueryRowContext(t.Context(), "SELECT id, state, kind, args_begin FROM [dbo].[rowlock_jobs_readable]")
	if err := row.Scan(&id, &state, &kind, &args); err != nil {
		t.Fatal(err)
	}
	if id != job.ID.String() || state != "ready" || kind != job.Kind || args != string(job.Args) {
		t.Errorf("the view shows %s %s %s %s", id, state, kind, args)
	}
}
