package mssqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// engine is bunstore's way to the server: a pool whose connections bind values
// as this store's texts want them.
type engine struct {
	pool   bunstore.Pool
	cfg    Config
	closed atomic.Bool
}

// errClosed is the answer of a store that is closed.
var errClosed = errors.New("mssqlstore: the store is closed")

var _ bunstore.Engine = (*engine)(nil)

func newEngine(db *sql.DB, cfg Config, owned bool) *engine {
	return &engine{pool: bunstore.Pool{DB: db, Level: sql.LevelReadCommitted, Owned: owned}, cfg: cfg}
}

// Write is one transaction, READ COMMITTED whatever the session's level is.
func (e *engine) Write(ctx context.Context, w bunstore.Work) error {
	return e.run(ctx, e.pool.Write, w)
}

// One leaves each statement to autocommit, which saves two round trips.
func (e *engine) One(ctx context.Context, w bunstore.Work) error { return e.run(ctx, e.pool.One, w) }

// Read runs on the pool.
func (e *engine) Read(ctx context.Context, w bunstore.Work) error { return e.run(ctx, e.pool.Read, w) }

func (e *engine) run(ctx context.Context, how func(context.Context, bunstore.Work) error, w bunstore.Work) error {
	if e.closed.Load() {
		return errClosed
	}
	return how(ctx, func(ctx context.Context, c bunstore.Conn) error { return w(ctx, conn{c}) })
}

// Close refuses further calls and closes a pool of our own.
func (e *engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	return e.pool.Close()
}

// conn brings statements into the form that the driver and the server want.
type conn struct{ bunstore.Conn }

// ExecContext runs a statement.
func (c conn) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	return c.Conn.ExecContext(ctx, settled(text, args), bind(text, args)...)
}

// QueryContext runs a query.
func (c conn) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return c.Conn.QueryContext(ctx, settled(text, args), bind(text, args)...)
}

// settings make a statement independent of what a host's pool has set in its
// sessions: rows are counted, a refused row does not end the transaction, and a
// read may pass over locked rows. The server takes them back at the end of the
// statement, for it comes by sp_executesql.
const settings = "SET NOCOUNT OFF; " + keepTx + "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; "

// keepTx keeps a refused row from ending the transaction.
const keepTx = "SET XACT_ABORT OFF; "

// settled puts the settings before a statement. One without values goes as it is:
// it is DDL, some of which must be the first of its batch, and no settings would
// be taken back.
func settled(text string, args []any) string {
	if len(args) == 0 {
		return text
	}
	return settings + text
}

// bind gives texts their type. Left to the driver each is an NVARCHAR, beside
// which a column of bytes is converted row by row and no index is sought. What a
// statement reads as text it says (asText), and that is always NVARCHAR(MAX): a
// type with its length would make a plan for each length. All else is a name.
func bind(text string, args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		out[i] = arg
		if value, ok := arg.(string); ok {
			out[i] = []byte(value)
			if strings.Contains(text, asText("@p"+strconv.Itoa(i+1))) {
				out[i] = mssql.NVarCharMax(value)
			}
		}
	}
	return out
}

// asText is a parameter that is read as text.
func asText(param string) string { return "CONVERT(NVARCHAR(MAX), " + param + ")" }
