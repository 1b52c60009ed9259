package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// session is how the pool's sessions are set up, learnt from one of them.
type session struct {
	option    []any // goes before the arguments of every statement
	kept      []any // goes before those of a statement that is to be kept
	keeps     bool  // kept differs from option
	committed bool  // what is left to autocommit runs under READ COMMITTED
}

// learn asks a session how it is set up, once for all.
func (e *engine) learn(ctx context.Context, c *sql.Conn) (*session, error) {
	if s := e.session.Load(); s != nil {
		return s, nil
	}
	s, mine, may := &session{}, uint32(0), false
	err := c.Raw(func(dc any) error {
		own, ok := dc.(*stdlib.Conn)
		if !ok {
			return nil
		}
		cfg := own.Conn().Config()
		if cfg.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
			s.option = []any{pgx.QueryExecModeExec}
		}
		mine = own.Conn().PgConn().PID()
		may = (len(s.option) > 0 || e.keeps) && cfg.StatementCacheCapacity > 0
		return nil
	})
	if err != nil {
		return nil, err
	}
	var level string
	var theirs uint32
	err = c.QueryRowContext(ctx, "SELECT current_setting('transaction_isolation'), pg_backend_pid()", s.option...).Scan(&level, &theirs)
	if err != nil {
		return nil, err
	}
	s.committed, s.kept = level == "read committed", s.option
	if s.keeps = may && mine == theirs; s.keeps { // a pooler makes up the number that it gives at login
		s.kept = []any{pgx.QueryExecModeCacheStatement}
	}
	e.session.Store(s)
	return s, nil
}

// forget ends the keeping of statements where one was lost after all: a host's pool
// may throw them away between two uses, an answer change with its columns.
func (e *engine) forget(s *session, err error) bool {
	switch sqlState(err) {
	case "26000", "42P05", "0A000":
	default:
		return false
	}
	if s == nil || !s.keeps {
		return false
	}
	e.session.Store(&session{option: s.option, kept: s.option, committed: s.committed})
	return true
}

// conn puts the session's option before the arguments. pgx plans a cached
// statement five times for its values and then perhaps once for all; a plan made
// while the table was small is 40 times slower later.
type conn struct {
	bunstore.Conn
	option []any
	s      *session
	sent   *bool
}

func newConn(c bunstore.Conn, s *session, sent *bool) *conn { return &conn{c, s.option, s, sent} }

// keep is for statements that have one plan, whatever is in the tables.
func keep(c bunstore.Conn) bunstore.Conn {
	if own, ok := c.(*conn); ok {
		return &conn{own.Conn, own.s.kept, own.s, own.sent}
	}
	return c
}

// forValues is a condition that is true, of statements that a session may keep. With
// the values known it is gone before anything is planned; unknown, it makes the plan
// for any values so dear that the server plans for the values each time. A setting,
// plan_cache_mode, does the same and belongs to a session. What is saved is to parse
// the text: a third of a small claim.
const (
	forValues = "($1::bigint IS NULL OR $1::bigint IS NOT NULL OR " + dear + ")"
	dear      = "(SELECT count(*) FROM generate_series(1, 1000000) AS x, generate_series(1, 1000000) AS y) > 0"
)

func (c *conn) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	res, err := c.Conn.ExecContext(ctx, text, c.with(text, args)...)
	c.note(err)
	return res, err
}

func (c *conn) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, text, c.with(text, args)...)
	c.note(err)
	return rows, err
}

func (c *conn) with(text string, args []any) []any {
	option := c.option
	if c.s.keeps && strings.Contains(text, dear) {
		option = c.s.kept
	}
	if len(option) == 0 {
		return args
	}
	return append(option[:1:1], args...)
}

func (c *conn) note(err error) {
	if !errors.Is(err, driver.ErrBadConn) {
		*c.sent = true
	}
}
