package mysqlstore

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// Numbers of the servers' errors. They share those below 1900; above, MySQL's are
// from 3000 on and MariaDB's from 1900 and 4000 on.
const (
	erDuplicate  = 1062
	erParse      = 1064
	erNoFunction = 1305
	erDupEntry   = 1586
)

// number is the server's number of an error, 0 where it is none of the server's.
func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// verdict is what some numbers mean.
type verdict struct {
	code    domain.Code
	hint    string
	numbers []uint16
}

const (
	readOnly = "the server is read-only: it may have become a replica"
	ending   = "the server is going down or ended the session"
	badValue = "the database refused a value"
)

func verdicts() []verdict {
	return []verdict{
		// A lock that came too late, deadlocks, a refusal by group replication,
		// MariaDB's row that changed since the snapshot.
		{domain.Contended, "other transactions were in the way and nothing was written: try again", []uint16{1205, 1213, 1614, 3101, 3572, 1020}},
		{domain.Conflict, "a row with this key is there already", []uint16{erDuplicate, erDupEntry}},
		{domain.Unavailable, readOnly, []uint16{1290, 1792, 1836, 3100}},
		{domain.Unavailable, ending, []uint16{1047, 1053, 1927, 2006, 2013, 4031}},
		{domain.Unavailable, "the server has no connection or no prepared statement left", []uint16{1040, 1203, 1226, 1461}},
		{domain.Unavailable, "the disk is full", []uint16{1021, 1114}},
		{domain.Unavailable, "the server has no memory left", []uint16{1037, 1041}},
		{domain.Unavailable, "the server refused the login: check the user and the password", []uint16{1045, 1698}},
		{domain.Unavailable, "there is no such database on the server", []uint16{1049}},
		{domain.Unavailable, "the statement took longer than the server allows, or was ended there", []uint16{1317, 1969, 3024}},
		{domain.Denied, "the database's user lacks a right on Rowlock's tables or their database", []uint16{1044, 1142, 1143, 1227, 1370}},
		{domain.Unsupported, "a table, column or index is not there: run `rowlock migrate up`", []uint16{1051, 1054, 1146, 1176}},
		{domain.Unsupported, "the server's binlog_format is STATEMENT: use ROW or MIXED", []uint16{1665}},
		{domain.Invalid, "it is larger than the server's max_allowed_packet", []uint16{1153}},
		{domain.Invalid, badValue, badValues},
	}
}

// badValues say that a value was refused.
var badValues = []uint16{
	1048, 1264, 1265, 1292, 1366, 1367, 1406, 1690, // null, out of range, of another type, too long
	1300, 3854, 3988, // not a text of its character set
	3140, 3141, 3144, 3157, // not JSON, or of a wrong character set, or too deep
	3665, 3666, 3668, // a column of a row source: missing, out of range, not a scalar
	3819, 4025, // a check
	4035, 4036, 4037, 4038, 4040, 4174, 4175, // MariaDB: not JSON; a column of a row source
}

func judge(n uint16) verdict {
	for _, v := range verdicts() {
		if n != 0 && slices.Contains(v.numbers, n) {
			return v
		}
	}
	return verdict{}
}

// codeOf judges by the server's number alone, never by its text.
func codeOf(err error) (domain.Code, string) {
	if v := judge(number(err)); v.code != "" {
		return v.code, v.hint
	}
	switch {
	case errors.Is(err, errClosed):
		return domain.Unavailable, "the store is closed"
	case errors.Is(err, errSilent):
		return domain.Unavailable, "the server takes connections and does not answer"
	case errors.Is(err, mysql.ErrInvalidConn):
		return domain.Unavailable, "the connection to the database broke"
	case errors.Is(err, mysql.ErrPktTooLarge):
		return domain.Invalid, "it is larger than the connection's maxAllowedPacket"
	}
	if code, hint := bunstore.CommonCode(err); code != "" {
		return code, hint
	}
	return domain.Internal, ""
}

// refused says that a value was refused.
func refused(err error) bool {
	e, ok := err.(*mysql.MySQLError) //nolint:errorlint // the store walks the chain
	return ok && (slices.Contains(badValues, e.Number) || e.Number == 1153 || e.Number == erDuplicate || e.Number == erDupEntry)
}

// unique says that a unique index refused the row.
func unique(err error) bool {
	n := number(err)
	return n == erDuplicate || n == erDupEntry
}

// spent says that a connection must not be used again: its server was demoted or
// is about to go, and a new one may lead to its successor.
func spent(err error) bool {
	v := judge(number(err))
	return v.hint == readOnly || v.hint == ending
}
