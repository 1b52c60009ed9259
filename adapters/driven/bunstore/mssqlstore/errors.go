package mssqlstore

import (
	"errors"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// verdict is what a number of the server's means.
type verdict struct {
	code domain.Code
	hint string
}

const (
	tryAgain  = "other transactions were in the way and nothing was written: try again"
	badValue  = "the database refused a value"
	noRight   = "the database's user lacks a right on Rowlock's tables or their schema"
	tooOld    = "the server lacks what the store needs: SQL Server 2019 or later, or Azure SQL Database, at compatibility level 130 or more"
	readOnly  = "the database is read-only: the server may have become a secondary"
	login     = "the server refused the login: check user, password and database"
	moving    = "the database is not available for the moment: it is starting, moving or overloaded"
	noRoom    = "the server is out of memory, disk space or log space"
	broken    = "the connection to the server broke"
	damaged   = "the server cannot read or write its files"
	migrateUp = "run `rowlock migrate up`"
)

// numbers are the server's errors by what they mean. Numbers below zero and of
// sockets are those of drivers that speak as the server would.
func numbers() map[verdict][]int32 {
	return map[verdict][]int32{
		{domain.Contended, tryAgain}: {
			1205,       // deadlock
			1222,       // lock timeout
			3960, 3961, // a snapshot was overtaken
			notGranted,
		},
		{domain.Conflict, "a row with this key is there already"}:   {2627, 2601},
		{domain.Invalid, "the transaction is over"}:                 {0, 3902, 3903, 3930, 3998},
		{domain.Invalid, badValue}:                                  {8152, 2628, 515, 547, 220, 232, 245, 8114, 8115, 1946, 13609},
		{domain.Unavailable, readOnly}:                              {3906, 3908, 978},
		{domain.Unsupported, noRight}:                               {229, 230, 262, 297, 300, 2760, 15247},
		{domain.Unsupported, "a table is not there: " + migrateUp}:  {208},
		{domain.Unsupported, "a column is not there: " + migrateUp}: {207},
		{domain.Unsupported, tooOld}:                                {195, 448},
		{domain.Unsupported, "the session's settings forbid filtered indexes: QUOTED_IDENTIFIER and the ANSI settings must be on"}: {1934, 1935},
		{domain.Unsupported, "Rowlock's tables must have no triggers"}:                                                             {334},
		{domain.Unavailable, login}: {4060, 18456, 18452, 18470, 18486, 18487, 18488, 4064, 911, 916},
		{domain.Unavailable, moving}: {
			40613, 40197, 40501, 40143, 40166, 40540, 40549, 40550, 40551, 40552, 40553, 49918, 49919, 49920, 10928, 10929, 4221, 615, // Azure
			922, 924, 927, 942, 952, 976, 979, 983, 18401, 17142,
		},
		{domain.Unavailable, noRoom}:                                          {701, 802, 1101, 1105, 1204, 3958, 8645, 8651, 9002, 40544},
		{domain.Unavailable, damaged}:                                         {823, 824, 825, 3313, 3414},
		{domain.Unavailable, "the server is shutting down"}:                   {6005, 596, 6001},
		{domain.Unavailable, "the statement or the connection took too long"}: {-2, 258, 10060},
		{domain.Unavailable, broken}:                                          {-1, 2, 53, 64, 121, 233, 10053, 10054, 10061, 11001},
	}
}

func verdicts() map[int32]verdict {
	out := map[int32]verdict{}
	for v, list := range numbers() {
		for _, n := range list {
			out[n] = v
		}
	}
	return out
}

// codeOf judges by the server's numbers and by types, never by a message. Of
// several errors of one statement the first that is known counts: the others
// follow from it.
func codeOf(err error) (domain.Code, string) {
	if code, hint := bunstore.CommonCode(err); code == domain.Canceled {
		return code, hint
	}
	if given, ok := serverErrors(err); ok {
		known := verdicts()
		for _, e := range given {
			if v, ok := known[e.Number]; ok {
				return v.code, v.hint
			}
		}
	}
	var (
		connect *connectError
		dead    mssql.ServerError
		stream  mssql.StreamError
	)
	switch {
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
func serverErrors(err error) ([]mssql.Error, bool) {
	var e mssql.Error
	if !errors.As(err, &e) {
		return nil, false
	}
	if len(e.All) == 0 {
		return []mssql.Error{e}, true
	}
	return e.All, true
}

// refused says that a value was refused.
func refused(err error) bool {
	e, ok := err.(mssql.Error) //nolint:errorlint // the store walks the chain
	if !ok {
		return false
	}
	code, hint := codeOf(e)
	return code == domain.Conflict || (code == domain.Invalid && hint == badValue)
}

// unique says that a unique index refused the row.
func unique(err error) bool {
	given, _ := serverErrors(err)
	for _, e := range given {
		if e.Number == 2627 || e.Number == 2601 {
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
