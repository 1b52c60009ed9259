package mssqlstore

import (
	"errors"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// verdict is what a number of the server's means; the zero one is not known.
type verdict struct {
	code domain.Code
	hint string
}

const (
	badValue = "the database refused a value"
	heldKey  = "a row with this key is there already"
	migrate  = ": run `rowlock migrate up`"
)

// judge gives the verdict of a number.
func judge(n int32) verdict {
	switch n {
	case 1205, 1222, 3960, 3961, notGranted: // deadlock, lock timeout, an overtaken snapshot
		return verdict{domain.Contended, "other transactions were in the way and nothing was written: try again"}
	case 2627, 2601:
		return verdict{domain.Conflict, heldKey}
	case 8152, 2628, 515, 547, 220, 232, 245, 8114, 8115, 1946, 13609: // too long, null, out of range, not that type, no JSON
		return verdict{domain.Invalid, badValue}
	case 3902, 3903, 3930, 3998:
		return verdict{domain.Invalid, "the transaction is over"}
	case 229, 230, 262, 297, 300, 2760, 15247:
		return verdict{domain.Denied, "the database's user lacks a right on Rowlock's tables or their schema"}
	case 208:
		return verdict{domain.Unsupported, "a table is not there" + migrate}
	case 207:
		return verdict{domain.Unsupported, "a column is not there" + migrate}
	case 2714, 1913:
		return verdict{domain.Conflict, "a table, view or index of this name is there already"}
	case 334:
		return verdict{domain.Unsupported, "Rowlock's tables may have no triggers"}
	case 1934, 1935:
		return verdict{domain.Unsupported, "the session's settings forbid filtered indexes: QUOTED_IDENTIFIER and the ANSI settings must be on"}
	case 195, 448: // no such function or collation
		return verdict{domain.Unsupported, tooOld}
	}
	return unavailable(n)
}

// unavailable judges what says that the database cannot be reached or cannot
// write. Numbers below zero and those of sockets come from between, not from the server.
func unavailable(n int32) verdict {
	hint := ""
	switch n {
	case 3906, 3908, 978:
		hint = "the database is read-only: the server may have become a secondary"
	case 18456, 18452, 18470, 18486, 18487, 18488, 4060, 4064, 911, 916:
		hint = "the server refused the login: check user, password and database"
	case 40613, 40197, 40143, 40166, 40540, 4221, 615, 922, 924, 927, 942, 952, 976, 979, 983, 18401, 17142:
		hint = "the database is starting or moving"
	case 40501, 40549, 40550, 40551, 40552, 40553, 49918, 49919, 49920, 10928, 10929:
		hint = "the server is overloaded or the database's share of it is used up"
	case 701, 802, 1101, 1105, 1204, 3958, 8645, 8651, 9002, 40544:
		hint = "the server is out of memory, disk space or log space"
	case 823, 824, 825, 3313, 3414:
		hint = "the server cannot read or write its files"
	case 596, 6001, 6005:
		hint = "the server is shutting down or ended the session"
	case -2, 258, 10060:
		hint = "the server took too long"
	case -1, 2, 53, 64, 121, 233, 10053, 10054, 10061, 11001:
		hint = broken
	case 0: // the driver's own
		hint = "the server ended the request or its transaction and gave no reason"
	default:
		return verdict{}
	}
	return verdict{domain.Unavailable, hint}
}

const broken = "the connection to the server broke"

// codeOf judges by the server's numbers and by types, never by a message. Of
// several errors of one statement the first that is known counts: the others
// follow from it.
func codeOf(err error) (domain.Code, string) {
	if code, hint := bunstore.CommonCode(err); code == domain.Canceled {
		return code, hint
	}
	for _, e := range serverErrors(err) {
		if v := judge(e.Number); v.code != "" {
			return v.code, v.hint
		}
	}
	var (
		connect *connectError
		dead    mssql.ServerError
		stream  mssql.StreamError
	)
	switch {
	case errors.Is(err, errClosed):
		return domain.Unavailable, "the store is closed"
	case errors.As(err, &connect):
		return domain.Unavailable, "the server cannot be reached"
	case errors.As(err, &dead), errors.As(err, &stream):
		return domain.Unavailable, broken
	}
	if code, hint := bunstore.CommonCode(err); code != "" {
		return code, hint
	}
	return domain.Internal, ""
}

// serverErrors are the errors that the server gave, from first to last.
func serverErrors(err error) []mssql.Error {
	var e mssql.Error
	switch {
	case !errors.As(err, &e):
		return nil
	case len(e.All) == 0:
		return []mssql.Error{e}
	}
	return e.All
}

// refused says that a value was refused.
func refused(err error) bool {
	e, ok := err.(mssql.Error) //nolint:errorlint // the store walks the chain
	if !ok {
		return false
	}
	_, hint := codeOf(e)
	return hint == badValue || hint == heldKey
}

// unique says that a unique index refused the row.
func unique(err error) bool {
	for _, e := range serverErrors(err) {
		if judge(e.Number).hint == heldKey {
			return true
		}
	}
	return false
}

// fault gives an error outside of the store's own calls its code.
func fault(err error) error {
	var known *domain.Fault
	if err == nil || errors.As(err, &known) {
		return err
	}
	code, hint := codeOf(err)
	return &domain.Fault{Code: code, Op: "open sqlserver", Hint: hint, Err: err}
}
