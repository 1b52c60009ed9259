package faults

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
)

// conn forwards every call to the driver's connection unless the plan strikes.
// A broken one is only marked: database/sql closes it when what is open on it is
// closed, since drivers do not survive the other order. Closing ends its transaction.
type conn struct {
	driver.Conn
	plan  *Plan
	epoch int
	cut   atomic.Bool
}

var (
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.NamedValueChecker  = (*conn)(nil)
	_ driver.SessionResetter    = (*conn)(nil)
	_ driver.Validator          = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
)

// Unwrap gives the driver's own connection, for (*sql.Conn).Raw.
func (c *conn) Unwrap() driver.Conn { return c.Conn }

// step runs one statement between the plan's faults. undo takes back what the
// driver opened for it when the answer is lost.
func (c *conn) step(text string, run func() error, undo func()) error {
	if err := c.usable(); err != nil {
		return err
	}
	s := c.plan.begin(text)
	if err := c.strike(s, Before); err != nil {
		return err
	}
	if err := run(); err != nil {
		if errors.Is(err, driver.ErrSkip) {
			c.plan.forget(s) // database/sql prepares the statement instead
		}
		return err
	}
	err := c.strike(s, After)
	if err != nil && undo != nil {
		undo()
	}
	return err
}

func (c *conn) strike(s *step, when When) error {
	what, ok := c.plan.take(s, when)
	switch {
	case !ok:
		return nil
	case what.kind == actDo:
		what.do()
		return nil
	case what.kind == actCut:
		c.cut.Store(true)
	}
	return what.err
}

// usable says why the connection cannot be used.
func (c *conn) usable() error {
	epoch, ok := c.plan.alive()
	switch {
	case !ok:
		return ErrKilled
	case c.cut.Load() || epoch != c.epoch:
		return driver.ErrBadConn
	}
	return nil
}

func (c *conn) IsValid() bool {
	if c.usable() != nil {
		return false
	}
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}

func (c *conn) ResetSession(ctx context.Context) error {
	if c.usable() != nil {
		return driver.ErrBadConn
	}
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *conn) Ping(ctx context.Context) error {
	if err := c.usable(); err != nil {
		return err
	}
	if p, ok := c.Conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (res driver.Result, err error) {
	execer, ok := c.Conn.(driver.ExecerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	err = c.step(query, func() error {
		res, err = execer.ExecContext(ctx, query, args)
		return err
	}, nil)
	return orNone(res, err)
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	queryer, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	err = c.step(query, func() error {
		rows, err = queryer.QueryContext(ctx, query, args)
		return err
	}, func() { _ = rows.Close() })
	return orNone(rows, err)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	var inner driver.Stmt
	err := c.step(query, func() (err error) {
		if p, ok := c.Conn.(driver.ConnPrepareContext); ok {
			inner, err = p.PrepareContext(ctx, query)
		} else {
			inner, err = c.Conn.Prepare(query)
		}
		return err
	}, func() { _ = inner.Close() })
	if err != nil {
		return nil, err
	}
	return &stmt{Stmt: inner, conn: c, query: query}, nil
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	var inner driver.Tx
	err := c.step("BEGIN", func() (err error) {
		inner, err = beginTx(ctx, c.Conn, opts)
		return err
	}, func() { _ = inner.Rollback() })
	if err != nil {
		return nil, err
	}
	return &tx{Tx: inner, conn: c}, nil
}

// beginTx also serves drivers that know no options.
func beginTx(ctx context.Context, c driver.Conn, opts driver.TxOptions) (driver.Tx, error) {
	if b, ok := c.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, opts)
	}
	if opts != (driver.TxOptions{}) {
		return nil, errors.New("faults: the driver has no transaction options")
	}
	return c.Begin() //nolint:staticcheck // the only form such a driver has
}

// orNone gives an answer or an error, never both.
func orNone[T any](answer T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return answer, nil
}
