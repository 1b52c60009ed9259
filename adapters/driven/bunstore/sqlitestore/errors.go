package sqlitestore

import (
	"errors"

	lib "modernc.org/sqlite/lib"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// coded is what a SQLite driver's error says of itself: its result code.
type coded interface{ Code() int }

// result is the (extended) result code of an error, 0 for none.
func result(err error) int {
	var c coded
	if errors.As(err, &c) {
		return c.Code()
	}
	return 0
}

// codeOf judges by the typed result code alone. SQLite has no code of its own
// for a missing table: the store asks the schema then.
func codeOf(err error) (domain.Code, string) {
	switch {
	case errors.Is(err, errClosed):
		return domain.Unavailable, "the store is closed"
	case errors.Is(err, errNoConn):
		return domain.Unavailable, "the pool has no free connection: inside a transaction of your own, enqueue in it (enqueue.In)"
	}
	switch result(err) & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return domain.Contended, "another connection holds the database's lock: try again"
	case lib.SQLITE_READONLY:
		return domain.Unavailable, "the database is read-only"
	case lib.SQLITE_FULL:
		return domain.Unavailable, "the disk is full"
	case lib.SQLITE_CANTOPEN:
		return domain.Unavailable, "the file cannot be opened: check its path and rights"
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return domain.Unavailable, "the file is not a sound SQLite database"
	case lib.SQLITE_IOERR, lib.SQLITE_PERM, lib.SQLITE_PROTOCOL, lib.SQLITE_NOMEM:
		return domain.Unavailable, "the file cannot be read or written"
	case lib.SQLITE_INTERRUPT:
		return domain.Canceled, ""
	case lib.SQLITE_CONSTRAINT, lib.SQLITE_TOOBIG, lib.SQLITE_MISMATCH:
		return domain.Invalid, "the database refused a value"
	}
	if code, hint := bunstore.CommonCode(err); code != "" {
		return code, hint
	}
	return domain.Internal, ""
}

// fatal says that a connection is better opened anew: the file may be another
// one by now, or writable again.
func fatal(err error) bool {
	code, _ := codeOf(err)
	return err != nil && code == domain.Unavailable
}

// refused says that a value was refused.
func refused(err error) bool {
	c, ok := err.(coded) //nolint:errorlint // the store walks the chain
	if !ok {
		return false
	}
	switch c.Code() & 0xff {
	case lib.SQLITE_CONSTRAINT, lib.SQLITE_TOOBIG, lib.SQLITE_MISMATCH:
		return true
	}
	return false
}

// unique says that a unique index refused the row.
func unique(err error) bool {
	switch result(err) {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY:
		return true
	}
	return false
}
