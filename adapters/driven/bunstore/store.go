package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Store is driven.Store over a dialect and an engine.
type Store struct {
	d   Dialect
	e   Engine
	now func() any
	t   texts
}

var _ driven.Store = (*Store)(nil)

// New makes the store. now is the tests' clock, nil for the database's own.
func New(d Dialect, e Engine, now func() time.Time) *Store {
	s := &Store{d: d, e: e, now: func() any { return nil }}
	if now != nil {
		s.now = func() any { return now().UnixMilli() }
	}
	s.t = newTexts(&s.d)
	return s
}

// Backend is the store with its capabilities.
func (s *Store) Backend() driven.Backend {
	return driven.Backend{
		Name: s.d.Name, Limits: driven.Limits{AtomicBulk: true},
		Store: s, Tx: s, Schema: s.Migrator(), Close: s.e.Close,
	}
}

// write runs work in a transaction.
func (s *Store) write(ctx context.Context, op string, w Work) error {
	return s.fault(ctx, op, s.e.Write(ctx, w))
}

// one runs work of which one statement at most writes.
func (s *Store) one(ctx context.Context, op string, w Work) error {
	return s.fault(ctx, op, s.e.One(ctx, w))
}

// read runs work that writes nothing.
func (s *Store) read(ctx context.Context, op string, w Work) error {
	return s.fault(ctx, op, s.e.Read(ctx, w))
}

// exec runs a statement and says how many rows it touched. Drivers differ in
// whether a row that was set to what it held counts: a short count is a reason
// to look, never a verdict.
func (s *Store) exec(ctx context.Context, c Conn, st Stmt, values ...any) (int, error) {
	res, err := c.ExecContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// each runs a query and hands over every row.
func (s *Store) each(ctx context.Context, c Conn, st Stmt, values []any, row func(*sql.Rows) error) error {
	rows, err := c.QueryContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return err
	}
	return Drain(rows, row)
}

// Drain hands over every row and closes them, whatever happens.
func Drain(rows *sql.Rows, row func(*sql.Rows) error) error {
	defer func() { _ = rows.Close() }() // a failed close is in Err
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// One reads one row into the given places.
func One(ctx context.Context, c Conn, st Stmt, values []any, to ...any) error {
	rows, err := c.QueryContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return err
	}
	return Drain(rows, func(rows *sql.Rows) error { return rows.Scan(to...) })
}

// IDs is the set of the ids in the first column of a query.
func IDs(ctx context.Context, c Conn, st Stmt, values ...any) (map[domain.JobID]bool, error) {
	rows, err := c.QueryContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return nil, err
	}
	found, cell := map[domain.JobID]bool{}, newCells(1)
	err = Drain(rows, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		found[cell.id(0)] = true
		return err
	})
	return found, err
}

// fault gives an error its code. The driver's text stays inside, unseen: it may hold arguments.
func (s *Store) fault(ctx context.Context, op string, err error) error {
	return s.faultOf(ctx, op, err, s.e.Read)
}

// faultOf is fault with a way to ask the schema; nil: it is not asked.
func (s *Store) faultOf(ctx context.Context, op string, err error, read func(context.Context, Work) error) error {
	if err == nil {
		return nil
	}
	var known *domain.Fault
	if errors.As(err, &known) {
		return err
	}
	code, hint := s.d.Codes.Of(err)
	switch {
	case ctx.Err() != nil && (code == domain.Unavailable || errors.Is(err, sql.ErrTxDone)):
		code, hint = domain.Canceled, "" // which ends transactions and connections in the middle
	case code == domain.Canceled && hint == "" && ctx.Err() == nil: // a limit of the driver's own, e.g. connect_timeout
		code, hint = domain.Unavailable, "the database did not answer in time"
	case read != nil && (code == domain.Internal || code == domain.Unsupported):
		if missing := s.lacks(ctx, read); missing != "" {
			code, hint = domain.Unsupported, missing+" not there: run `rowlock migrate up`"
		}
	}
	return &domain.Fault{Code: code, Op: op, Hint: hint, Err: err}
}

// lacks asks the schema which of the store's tables are missing, "" for none.
func (s *Store) lacks(ctx context.Context, read func(context.Context, Work) error) string {
	var missing []string
	err := read(ctx, func(ctx context.Context, c Conn) error {
		missing = nil
		for _, table := range []string{"jobs", "runners", "bounds", "slots", "job_keys", "batches", "schedules", "switches"} {
			there, err := s.hasTable(ctx, c, s.d.Prefix+table)
			if err != nil {
				return err
			}
			if !there {
				missing = append(missing, s.d.Prefix+table)
			}
		}
		return nil
	})
	switch {
	case err != nil || len(missing) == 0:
		return ""
	case len(missing) == 1:
		return "the table " + missing[0] + " is"
	}
	return "the tables " + strings.Join(missing, ", ") + " are"
}

func (s *Store) hasTable(ctx context.Context, c Conn, name string) (there bool, err error) {
	err = s.each(ctx, c, s.t.hasTable, []any{name}, func(*sql.Rows) error {
		there = true
		return nil
	})
	return there, err
}

// Check asks the database for anything at all, in a transaction that may write:
// it opens the file or reaches the server.
func (s *Store) Check(ctx context.Context) error {
	return s.write(ctx, "open", func(ctx context.Context, c Conn) error {
		_, err := s.hasTable(ctx, c, s.d.Prefix+"jobs")
		return err
	})
}
