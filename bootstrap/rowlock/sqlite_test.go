package rowlock_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// hostPool is a pool of the host's on a file.
func hostPool(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

type order struct{ Left int }

func (order) Kind() string { return "order" }

// Fifty workers share the host's one connection with their handlers, which use
// it too and enqueue in transactions of their own: everything is done once, and
// no lease is lost meanwhile.
func TestAPoolOfOneConnectionServesManyWorkers(t *testing.T) {
	db := hostPool(t, filepath.Join(t.TempDir(), "host.db"))
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE orders (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	backend, err := sqlitestore.FromDB(db, sqlitestore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	seen := &counts{}
	q := opened(t, backend, rowlock.Migrate(), rowlock.WithObserver(seen))
	rowlock.Handle(q, func(ctx context.Context, j work.Job[order]) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", j.Args.Left); err != nil {
			return err
		}
		if j.Args.Left > 0 {
			if _, _, err := q.Enqueue(ctx, order{j.Args.Left - 1}, enqueue.In(sqlitestore.Tx(tx))); err != nil {
				return err
			}
		}
		return tx.Commit()
	})
	for range 100 {
		if _, _, err := q.Enqueue(t.Context(), order{3}); err != nil {
			t.Fatal(err)
		}
	}
	stop := background(t, q, rowlock.Concurrency(50), rowlock.Lease(10*time.Second))
	eventually(t, func() bool { return seen.of(domain.EventCompleted) == 400 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	var rows int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&rows); err != nil || rows != 400 {
		t.Errorf("the handlers wrote %d rows (%v)", rows, err)
	}
	for _, bad := range []domain.EventType{domain.EventRetried, domain.EventLeaseLost, domain.EventStalled, domain.EventOutcomeDropped, domain.EventError} {
		if n := seen.of(bad); n > 0 {
			t.Errorf("%d x %v", n, bad)
		}
	}
}

// counts counts events.
type counts struct {
	n [32]atomic.Int64
}

func (c *counts) Observe(e domain.Event) { c.n[e.Type].Add(1) }

func (c *counts) of(what domain.EventType) int64 { return c.n[what].Load() }

// Somebody else writes for longer than a renewal interval, so that nothing of the
// queue's can be written: no job fails, none is taken for lost, each runs once.
func TestALongWriteOfOthersLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.db")
	seen := &counts{}
	q := open(t, "sqlite:"+path, rowlock.Migrate(), rowlock.WithObserver(seen))
	running, release := make(chan struct{}, 20), make(chan struct{})
	var ran atomic.Int64
	rowlock.Handle(q, func(context.Context, work.Job[order]) error {
		ran.Add(1)
		running <- struct{}{}
		<-release
		return nil
	})
	for i := range 20 {
		if _, _, err := q.Enqueue(t.Context(), order{i}); err != nil {
			t.Fatal(err)
		}
	}
	const lease = 3 * time.Second
	stop := background(t, q, rowlock.Concurrency(20), rowlock.Lease(lease), rowlock.Upkeep(50*time.Millisecond))
	for range 20 {
		within(t, running, "a handler")
	}
	tx, err := hostPool(t, path).BeginTx(t.Context(), nil) // immediate
	if err != nil {
		t.Fatal(err)
	}
	close(release) // outcomes want to be written, leases to be renewed
	<-time.After(lease / 2)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return seen.of(domain.EventCompleted) == 20 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	stats, err := q.Inspect().Stats(t.Context())
	if err != nil || stats.Totals().Done != 20 || ran.Load() != 20 {
		t.Errorf("%d runs, %+v (%v)", ran.Load(), stats.Totals(), err)
	}
	for _, bad := range []domain.EventType{domain.EventRetried, domain.EventDied, domain.EventLeaseLost, domain.EventStalled, domain.EventOutcomeDropped} {
		if n := seen.of(bad); n > 0 {
			t.Errorf("%d x %v", n, bad)
		}
	}
}
