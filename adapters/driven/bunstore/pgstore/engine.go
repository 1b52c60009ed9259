package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// engine is bunstore's way to the database. Each call holds one connection.
type engine struct {
	db      *sql.DB
	cfg     Config
	owned   bool
	closed  atomic.Bool
	session atomic.Pointer[session]
}

var _ bunstore.Engine = (*engine)(nil)

func newEngine(db *sql.DB, cfg Config, owned bool) *engine {
	return &engine{db: db, cfg: cfg, owned: owned}
}

// session is how the pool's sessions are set up, learnt from one of them.
type session struct {
	option    []any // goes before the arguments of every statement
	committed bool  // what is left to autocommit runs under READ COMMITTED
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
	if err := w(ctx, &conn{tx, s.option, sent}); err != nil {
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
		err := w(ctx, &conn{c, s.option, sent})
		if sqlState(err) == "40001" { // which READ COMMITTED never gives
			e.session.Store(nil)
		}
		return err
	})
}

// Read runs on one connection.
func (e *engine) Read(ctx context.Context, w bunstore.Work) error {
	return e.hold(ctx, func(c *sql.Conn, s *session, sent *bool) error { return w(ctx, &conn{c, s.option, sent}) })
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
		if sent || try == staleTries || !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
}

// learn asks a session how it is set up, once for all.
func (e *engine) learn(ctx context.Context, c *sql.Conn) (*session, error) {
	if s := e.session.Load(); s != nil {
		return s, nil
	}
	s := &session{}
	err := c.Raw(func(dc any) error {
		if own, ok := dc.(*stdlib.Conn); ok && own.Conn().Config().DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
			s.option = []any{pgx.QueryExecModeExec}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var level string
	err = c.QueryRowContext(ctx, "SELECT current_setting('transaction_isolation')", s.option...).Scan(&level)
	if err != nil {
		return nil, err
	}
	s.committed = level == "read committed"
	e.session.Store(s)
	return s, nil
}

// conn puts the session's option before the arguments. pgx plans a cached
// statement five times for its values and then perhaps once for all; a plan made
// while the table was small is 40 times slower later.
type conn struct {
	bunstore.Conn
	option []any
	sent   *bool
}

func (c *conn) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	res, err := c.Conn.ExecContext(ctx, text, c.with(args)...)
	c.note(err)
	return res, err
}

func (c *conn) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, text, c.with(args)...)
	c.note(err)
	return rows, err
}

func (c *conn) with(args []any) []any {
	if len(c.option) == 0 {
		return args
	}
	return append(c.option[:1:1], args...)
}

func (c *conn) note(err error) {
	if !errors.Is(err, driver.ErrBadConn) {
		*c.sent = true
	}
}
