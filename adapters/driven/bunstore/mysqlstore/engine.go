package mysqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// engine is bunstore's way to the server. Each call holds one connection.
type engine struct {
	db       *sql.DB
	own      bool // the pool is ours: its sessions are READ COMMITTED
	lockName string
	closed   atomic.Bool
}

// errClosed is the answer of a store that is closed.
var errClosed = errors.New("mysqlstore: the store is closed")

var _ bunstore.Engine = (*engine)(nil)

// Write is one transaction, READ COMMITTED whatever the sessions' default is.
func (e *engine) Write(ctx context.Context, w bunstore.Work) error {
	opts := &sql.TxOptions{}
	if !e.own {
		opts.Isolation = sql.LevelReadCommitted
	}
	return e.hold(ctx, func(c *sql.Conn, sent *bool) error {
		tx, err := c.BeginTx(ctx, opts)
		if err != nil {
			return err
		}
		*sent = true
		defer func() { _ = tx.Rollback() }() // after a commit it does nothing
		if err := w(ctx, ownTx{tx}); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// ownTx is a transaction of the store's: each of its reads sees what is committed
// when it begins. One of the host's is a *sql.Tx.
type ownTx struct{ bunstore.Conn }

// One leaves each statement to autocommit.
func (e *engine) One(ctx context.Context, w bunstore.Work) error {
	return e.hold(ctx, func(c *sql.Conn, sent *bool) error { return w(ctx, &noting{c, sent}) })
}

// Read runs on one connection.
func (e *engine) Read(ctx context.Context, w bunstore.Work) error { return e.One(ctx, w) }

// Close refuses further calls and closes a pool of our own.
func (e *engine) Close() error {
	if e.closed.Swap(true) || !e.own {
		return nil
	}
	return e.db.Close()
}

// staleTries bounds how many connections may turn out to be dead before one is used.
const staleTries = 3

// hold runs work on one connection. As database/sql itself does, it takes another
// one where the first proved dead before anything was sent.
func (e *engine) hold(ctx context.Context, run func(c *sql.Conn, sent *bool) error) error {
	for try := 1; ; try++ {
		if e.closed.Load() {
			return errClosed
		}
		c, err := e.db.Conn(ctx)
		if err != nil {
			return err
		}
		sent := false
		err = run(c, &sent)
		if spent(err) {
			discard(c)
		}
		_ = c.Close() // gives it back
		if sent || try == staleTries || !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
}

// discard takes a connection out of the pool.
func discard(c *sql.Conn) { _ = c.Raw(func(any) error { return driver.ErrBadConn }) }

// noting notes that a statement was sent.
type noting struct {
	*sql.Conn
	sent *bool
}

// ExecContext runs a statement.
func (n *noting) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	res, err := n.Conn.ExecContext(ctx, text, args...)
	n.note(err)
	return res, err
}

// QueryContext runs a query.
func (n *noting) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	rows, err := n.Conn.QueryContext(ctx, text, args...)
	n.note(err)
	return rows, err
}

func (n *noting) note(err error) {
	if !errors.Is(err, driver.ErrBadConn) {
		*n.sent = true
	}
}
