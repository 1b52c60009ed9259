package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// maxStmts bounds the prepared statements of a connection.
const maxStmts = 200

// conn is the writer's connection. On one of its own the statements are prepared
// once and kept. On the host's they are not: a statement that is open when
// database/sql closes its connection keeps the transaction, hence the lock, alive.
type conn struct {
	*sql.Conn
	keep  bool
	stmts map[string]*sql.Stmt
}

// ExecContext runs a statement.
func (c *conn) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if !c.keep {
		return c.Conn.ExecContext(ctx, text, args...)
	}
	st, err := c.prepare(ctx, text) //nolint:sqlclosecheck // forget closes it
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

// QueryContext runs a query.
func (c *conn) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if !c.keep {
		return c.Conn.QueryContext(ctx, text, args...)
	}
	st, err := c.prepare(ctx, text) //nolint:sqlclosecheck // forget closes it
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (c *conn) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := c.stmts[text]; st != nil {
		return st, nil
	}
	if len(c.stmts) >= maxStmts {
		c.forget()
	}
	st, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if c.stmts == nil {
		c.stmts = make(map[string]*sql.Stmt)
	}
	c.stmts[text] = st
	return st, nil
}

// forget closes the prepared statements.
func (c *conn) forget() {
	for _, st := range c.stmts {
		_ = st.Close() // it has no rows open; nothing is lost with it
	}
	c.stmts = nil
}

// source gives the writer its connection.
type source interface {
	get(context.Context) (*conn, error)
	// put takes the connection back after a turn; one with an error is closed.
	put(*conn, error)
	// drop closes what is kept.
	drop()
}

// own keeps one connection of a pool that is the store's alone.
type own struct {
	db   *sql.DB
	kept *conn
}

func (o *own) get(ctx context.Context) (*conn, error) {
	if o.kept != nil {
		c := o.kept
		o.kept = nil
		return c, nil
	}
	c, err := o.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, keep: true}, nil
}

func (o *own) put(c *conn, err error) {
	if err != nil {
		discard(c)
		return
	}
	o.kept = c
}

func (o *own) drop() {
	if o.kept != nil {
		o.kept.forget()
		_ = o.kept.Close() // the pool is closed next
		o.kept = nil
	}
}

// lent takes a connection of the host's pool for one turn.
type lent struct{ db *sql.DB }

func (l *lent) get(ctx context.Context) (*conn, error) {
	c, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

func (l *lent) put(c *conn, err error) {
	if err != nil {
		discard(c)
		return
	}
	c.forget()
	_ = c.Close() // back into the pool
}

func (l *lent) drop() {}

// discard closes a connection for good: what state it is in is not known. That
// undoes a transaction that is open on it.
func discard(c *conn) {
	c.forget()
	_ = c.Raw(func(any) error { return driver.ErrBadConn }) // takes it out of the pool
	_ = c.Close()
}
