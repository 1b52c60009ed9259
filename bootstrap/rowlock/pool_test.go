package rowlock_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
)

// holding is a job whose transaction holds the pool's connection for so long.
type holding struct{ For time.Duration }

func (holding) Kind() string { return "holding" }

// poolOfOne is a host whose one connection is for all: its handlers' transactions and
// whatever the queue does.
type poolOfOne struct {
	t    *testing.T
	db   *sql.DB
	q    *rowlock.Queue
	tx   func(*sql.Tx) driven.HostTx
	mark string // how a statement names its argument
	over atomic.Bool
	long chan struct{} // the long handler has ended
}

// chain does an order and enqueues the next one, in one transaction.
func (p *poolOfOne) chain(ctx context.Context, j work.Job[order]) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES ("+p.mark+")", j.Args.Left); err != nil {
		return err
	}
	if !p.over.Load() {
		if _, _, err := p.q.Enqueue(ctx, order{j.Args.Left + 1}, enqueue.In(p.tx(tx))); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (p *poolOfOne) hold(ctx context.Context, j work.Job[holding]) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	<-time.After(j.Args.For)
	return tx.Rollback()
}

// Fifty workers want the one connection all the time, and once it is held for most of
// a third of a lease: all is done once, and renewals come in time for a handler that
// runs longer than their interval.
func TestAPoolOfOneConnectionOnServers(t *testing.T) {
	for name, c := range map[string]struct {
		dsn    func(testing.TB, ...servers.Option) string
		driver string
		mark   string
		open   func(*sql.DB) (driven.Backend, error)
		tx     func(*sql.Tx) driven.HostTx
	}{
		"postgres": {servers.Postgres, "pgx", "$1",
			func(db *sql.DB) (driven.Backend, error) { return pgstore.FromDB(db, pgstore.Config{}) },
			func(tx *sql.Tx) driven.HostTx { return pgstore.Tx(tx) }},
		"mysql": {servers.MySQL, "mysql", "?",
			func(db *sql.DB) (driven.Backend, error) { return mysqlstore.FromDB(db, mysqlstore.Config{}) },
			func(tx *sql.Tx) driven.HostTx { return mysqlstore.Tx(tx) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open(c.driver, c.dsn(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			db.SetMaxOpenConns(1)
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE orders (n INTEGER)"); err != nil {
				t.Fatal(err)
			}
			backend, err := c.open(db)
			if err != nil {
				t.Fatal(err)
			}
			(&poolOfOne{t: t, db: db, tx: c.tx, mark: c.mark, long: make(chan struct{})}).run(backend)
		})
	}
}

func (p *poolOfOne) run(backend driven.Backend) {
	t, seen := p.t, &counts{}
	const lease = 12 * time.Second
	p.q = opened(t, backend, rowlock.Migrate(), rowlock.WithObserver(seen))
	rowlock.Handle(p.q, p.chain)
	rowlock.Handle(p.q, p.hold)
	rowlock.Handle(p.q, func(context.Context, work.Job[welcome]) error {
		<-time.After(lease/3 + 2*time.Second) // it must be renewed meanwhile
		p.over.Store(true)
		close(p.long)
		return nil
	})
	items := []enqueue.Item{{Args: welcome{}}, {Args: holding{lease/3 - time.Second}, Options: []enqueue.Option{enqueue.After(2 * time.Second)}}}
	for range 100 {
		items = append(items, enqueue.Item{Args: order{}})
	}
	if _, err := p.q.EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	stop := background(t, p.q, rowlock.Concurrency(50), rowlock.Lease(lease))
	within(t, p.long, "the long handler")
	var stats domain.Tally
	eventually(t, func() bool {
		all, err := p.q.Inspect().Stats(t.Context())
		stats = all.Totals()
		return err == nil && stats.Running+stats.Due+stats.Scheduled == 0
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	var rows int64
	if err := p.db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&rows); err != nil || rows < 200 || stats.Done != rows+2 {
		t.Errorf("the handlers wrote %d rows (%v), the jobs are %+v", rows, err, stats)
	}
	for _, bad := range []domain.EventType{domain.EventRetried, domain.EventDied, domain.EventLeaseLost, domain.EventStalled, domain.EventOutcomeDropped} {
		if n := seen.of(bad); n > 0 {
			t.Errorf("%d x %v", n, bad)
		}
	}
	if n := seen.of(domain.EventPoolSmall); n != 1 {
		t.Errorf("told %d times that the pool is small", n)
	}
	t.Logf("%d jobs on one connection, %d errors that loops went on from", stats.Done, seen.of(domain.EventError))
}
