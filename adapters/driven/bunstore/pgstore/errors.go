package pgstore

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// coded is what a PostgreSQL driver's error says of itself: pgx and others have it.
type coded interface{ SQLState() string }

// sqlState is the code of the server's error, "" where it is none.
func sqlState(err error) string {
	var c coded
	if errors.As(err, &c) {
		return c.SQLState()
	}
	return ""
}

// verdict is what a code means. A whole class is named by its first two letters;
// a code of its own goes before its class.
type verdict struct {
	code domain.Code
	hint string
}

const tryAgain = "other transactions were in the way and nothing was written: try again"

func verdicts() map[string]verdict {
	return map[string]verdict{
		"40P01": {domain.Contended, tryAgain}, // deadlock
		"40001": {domain.Contended, tryAgain}, // serialization
		"55P03": {domain.Contended, tryAgain}, // lock timeout
		"23505": {domain.Conflict, "a row with this key is there already"},
		"25006": {domain.Unavailable, "the server is read-only: it may have become a standby"},
		"25P03": {domain.Unavailable, "the server ended the session, which was idle in a transaction for too long"},
		"42501": {domain.Denied, "the database's user lacks a right on Rowlock's tables or their schema"},
		"42P01": {domain.Unsupported, "a table is not there: run `rowlock migrate up`"},
		"42703": {domain.Unsupported, "a column is not there: run `rowlock migrate up`"},
		"3F000": {domain.Unsupported, "the schema is not there: run `rowlock migrate up`"},
		"26000": {domain.Unavailable, noLasting},
		"42P05": {domain.Unavailable, noLasting},
		"57014": {domain.Unavailable, "the server ended the statement: its timeout, or an administrator"},
		"3D000": {domain.Unavailable, "there is no such database"},
		"54000": {domain.Invalid, "a value is too long for an index"},
		"08":    {domain.Unavailable, "the connection to the server broke"},
		"22":    {domain.Invalid, "the database refused a value"},
		"23":    {domain.Invalid, "the database refused a value"},
		"28":    {domain.Unavailable, "the server refused the login: check user, password and pg_hba.conf"},
		"53":    {domain.Unavailable, "the server is out of connections, memory or disk space"},
		"57":    {domain.Unavailable, "the server is shutting down or starting up"},
		"58":    {domain.Unavailable, "the server cannot read or write its files"},
		"XX":    {domain.Unavailable, "the server reports damage of its own"},
	}
}

const noLasting = "the pooler does not keep prepared statements: open the pool with default_query_exec_mode=exec"

// judge gives the verdict of a code.
func judge(state string) (verdict, bool) {
	all := verdicts()
	v, ok := all[state]
	if !ok && len(state) == len("00000") {
		v, ok = all[state[:2]]
	}
	return v, ok
}

// codeOf judges by the typed code alone, never by the message.
func codeOf(err error) (domain.Code, string) {
	if code, hint := bunstore.CommonCode(err); code == domain.Canceled {
		return code, hint
	}
	if errors.Is(err, errClosed) {
		return domain.Unavailable, "the store is closed"
	}
	if v, ok := judge(sqlState(err)); ok {
		return v.code, v.hint
	}
	if errors.Is(err, pgx.ErrTxCommitRollback) { // a statement before had failed
		return domain.Contended, tryAgain
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return domain.Unavailable, "the server cannot be reached"
	}
	if code, hint := bunstore.CommonCode(err); code != "" {
		return code, hint
	}
	return domain.Internal, ""
}

// refused says that a value was refused.
func refused(err error) bool {
	c, ok := err.(coded) //nolint:errorlint // the store walks the chain
	return ok && (strings.HasPrefix(c.SQLState(), "22") || strings.HasPrefix(c.SQLState(), "23") || c.SQLState() == "54000")
}

// unique says that a unique index refused the row.
func unique(err error) bool { return sqlState(err) == "23505" }

// spent says that a connection must not be used again: its server was demoted
// or is about to go, and a new one may lead to its successor.
func spent(err error) bool {
	state := sqlState(err)
	return state == "25006" || strings.HasPrefix(state, "57P") || strings.HasPrefix(state, "08")
}
