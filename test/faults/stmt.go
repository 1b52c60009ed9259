package faults

import (
	"context"
	"database/sql/driver"
)

// stmt is a prepared statement; each run is a step.
type stmt struct {
	driver.Stmt
	conn  *conn
	query string
}

var (
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
)

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (res driver.Result, err error) {
	err = s.conn.step(s.query, func() error {
		if e, ok := s.Stmt.(driver.StmtExecContext); ok {
			res, err = e.ExecContext(ctx, args)
		} else {
			res, err = s.Stmt.Exec(values(args)) //nolint:staticcheck // the only form such a driver has
		}
		return err
	}, nil)
	return orNone(res, err)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = s.conn.step(s.query, func() error {
		if q, ok := s.Stmt.(driver.StmtQueryContext); ok {
			rows, err = q.QueryContext(ctx, args)
		} else {
			rows, err = s.Stmt.Query(values(args)) //nolint:staticcheck // the only form such a driver has
		}
		return err
	}, func() { _ = rows.Close() })
	return orNone(rows, err)
}

func values(args []driver.NamedValue) []driver.Value {
	plain := make([]driver.Value, len(args))
	for i, a := range args {
		plain[i] = a.Value
	}
	return plain
}

// tx ends its transaction whatever the plan does: a commit that was not let
// through is a rollback.
type tx struct {
	driver.Tx
	conn *conn
}

func (t *tx) Commit() error   { return t.end("COMMIT", t.Tx.Commit) }
func (t *tx) Rollback() error { return t.end("ROLLBACK", t.Tx.Rollback) }

func (t *tx) end(text string, run func() error) error {
	ran := false
	err := t.conn.step(text, func() error {
		ran = true
		return run()
	}, nil)
	if !ran {
		_ = t.Tx.Rollback()
	}
	return err
}
