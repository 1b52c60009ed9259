package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// engine is bunstore's way to the database. Each call holds one connection.
type engine struct {
	db      *sql.DB
	cfg     Config
	owned   bool
	keeps   bool // an own pool whose sessions may keep statements
	closed  atomic.Bool
	session atomic.Pointer[session]
}

var _ bunstore.Engine = (*engine)(nil)

func newEngine(db *sql.DB, cfg Config, owned bool) *engine {
	return &engine{db: db, cfg: cfg, owned: owned}
}

// Write is one transaction, READ COMMITTED whatever the database's default is.
func (e *engine) Write(ctx context.Context, w bunstore.Work) error {
	return e.hold(ctx, func(c *sql.Conn, s *session, sent *bool) error { return write(ctx, c, s, sent, w) })
}

func write(ctx context.Context, c *sql.Conn, s *session, sent *bool, w bunstore.Work) error {
	tx, err := c.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	*sent = true
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := w(ctx, newConn(tx, s, sent)); err != nil {
		return err
	}
	return tx.Commit()
}

// One leaves each statement to autocommit, which saves two round trips; where a
// statement of its own would not run under READ COMMITTED it is a Write.
func (e *engine) One(ctx context.Context, w bunstore.Work) error {
	return e.hold(ctx, func(c *sql.Conn, s *session, sent *bool) error {
		if !s.committed {
			return write(ctx, c, s, sent, w)
		}
		err := w(ctx, newConn(c, s, sent))
		if sqlState(err) == "40001" { // which READ COMMITTED never gives
			e.session.Store(nil)
		}
		return err
	})
}

// Read runs on one connection.
func (e *engine) Read(ctx context.Context, w bunstore.Work) error {
	return e.hold(ctx, func(c *sql.Conn, s *session, sent *bool) error { return w(ctx, newConn(c, s, sent)) })
}

// errClosed is the answer after Close, also where the pool is the host's and open.
var errClosed = errors.New("pgstore: the store is closed")

// Close closes a pool of our own.
func (e *engine) Close() error {
	if e.closed.Store(true); !e.owned {
		return nil
	}
	return e.db.Close()
}

// staleTries bounds how many connections may turn out to be dead before one is used.
const staleTries = 3

// hold runs work on one connection. As database/sql itself does, it takes another
// one where the first proved dead before anything was sent.
func (e *engine) hold(ctx context.Context, run func(c *sql.Conn, s *session, sent *bool) error) error {
	for try := 1; ; try++ {
		if e.closed.Load() {
			return errClosed
		}
		c, err := e.db.Conn(ctx)
		if err != nil {
			return err
		}
		sent := false
		s, err := e.learn(ctx, c)
		if err == nil {
			err = run(c, s, &sent)
		}
		if spent(err) {
			_ = c.Raw(func(any) error { return driver.ErrBadConn }) // takes it out of the pool
		}
		_ = c.Close() // gives it back
		if e.forget(s, err) && try < staleTries {
			continue // a statement that did not run ended it
		}
		if sent || try == staleTries || !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
}
