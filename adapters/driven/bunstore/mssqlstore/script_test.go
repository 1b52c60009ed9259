package mssqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// script is a driver that answers by a function and notes what it was asked: it
// stands for the server where only our side of a talk is in question.
type script struct {
	answer func(text string, args []any) (results [][][]driver.Value, err error)
	asked  []asked
}

type asked struct {
	text string
	args []any
}

var (
	_ driver.QueryerContext    = (*script)(nil)
	_ driver.ExecerContext     = (*script)(nil)
	_ driver.NamedValueChecker = (*script)(nil)
)

func (s *script) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *script) Driver() driver.Driver                        { return nil }
func (s *script) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("nothing is prepared") }
func (s *script) Close() error                                 { return nil }
func (s *script) Commit() error                                { return nil }
func (s *script) Rollback() error                              { return nil }
func (s *script) Begin() (driver.Tx, error)                    { return s, nil }
func (s *script) CheckNamedValue(*driver.NamedValue) error     { return nil }
func (s *script) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o.Isolation != driver.IsolationLevel(sql.LevelReadCommitted) {
		return nil, errors.New("a transaction is not READ COMMITTED")
	}
	return s, nil
}

func (s *script) ask(text string, named []driver.NamedValue) ([][][]driver.Value, error) {
	args := make([]any, len(named))
	for i, n := range named {
		args[i] = n.Value
	}
	s.asked = append(s.asked, asked{text, args})
	return s.answer(text, args)
}

func (s *script) ExecContext(_ context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	results, err := s.ask(text, args)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return driver.RowsAffected(0), nil
	}
	return driver.RowsAffected(int64(len(results[0]))), nil
}

func (s *script) QueryContext(_ context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	results, err := s.ask(text, args)
	if err != nil {
		return nil, err
	}
	return &answered{results: results}, nil
}

// answered are results as go-mssqldb gives them: the next one shows when the one
// before is read to its end.
type answered struct {
	results [][][]driver.Value
	ended   bool
}

func (a *answered) Columns() []string {
	if len(a.results) == 0 || len(a.results[0]) == 0 {
		return nil
	}
	return make([]string, len(a.results[0][0]))
}

func (a *answered) Close() error { return nil }

func (a *answered) Next(to []driver.Value) error {
	if len(a.results) == 0 || len(a.results[0]) == 0 {
		a.ended = true
		return io.EOF
	}
	copy(to, a.results[0][0])
	a.results[0] = a.results[0][1:]
	return nil
}

func (a *answered) HasNextResultSet() bool { return a.ended && len(a.results) > 1 }

func (a *answered) NextResultSet() error {
	if !a.HasNextResultSet() {
		return io.EOF
	}
	a.results, a.ended = a.results[1:], false
	return nil
}

// talk opens a store on a script.
func talk(t *testing.T, answer func(text string, args []any) ([][][]driver.Value, error)) (driven.Backend, *script) {
	t.Helper()
	s := &script{answer: answer}
	db := sql.OpenDB(s)
	db.SetMaxOpenConns(1)
	b, err := FromDB(db, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = b.Close(), db.Close() })
	return b, s
}

// texts are the statements that were asked and hold a part.
func (s *script) texts(part string) (out []asked) {
	for _, a := range s.asked {
		if strings.Contains(a.text, part) {
			out = append(out, a)
		}
	}
	return out
}

func wantCode(t testing.TB, err error, want domain.Code) {
	t.Helper()
	if got := domain.CodeOf(err); got != want {
		t.Errorf("got %v (cause %v), want the code %q", err, errors.Unwrap(err), want)
	}
}
