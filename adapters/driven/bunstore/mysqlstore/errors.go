package mysqlstore

import (
	"errors"

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

// verdict is what a number means.
type verdict struct {
	code domain.Code
	hint string
}

const (
	tryAgain = "other transactions were in the way and nothing was written: try again"
	readOnly = "the server is read-only: it may have become a replica"
	noRight  = "the database's user lacks a right on Rowlock's tables or their database"
	noEntry  = "the server refused the user or the password"
	ending   = "the server is going down or ended the session"
	crowded  = "the server has no connection or no prepared statement left"
	migrate  = "a table or column is not there: run `rowlock migrate up`"
	badValue = "the database refused a value"
)

func verdicts() map[uint16]verdict {
	return map[uint16]verdict{
		1205: {domain.Contended, tryAgain}, // lock wait timeout
		1213: {domain.Contended, tryAgain}, // deadlock
		1614: {domain.Contended, tryAgain}, // deadlock of an XA branch
		3101: {domain.Contended, tryAgain}, // rolled back by group replication
		3572: {domain.Contended, tryAgain}, // locked, and not waited for
		1020: {domain.Contended, tryAgain}, // MariaDB: the row changed since the snapshot

		erDuplicate: {domain.Conflict, "a row with this key is there already"},
		erDupEntry:  {domain.Conflict, "a row with this key is there already"},

		1290: {domain.Unavailable, readOnly},
		1792: {domain.Unavailable, readOnly}, // a read-only transaction
		1836: {domain.Unavailable, readOnly},
		3100: {domain.Unavailable, readOnly}, // refused by group replication

		1040: {domain.Unavailable, crowded},
		1203: {domain.Unavailable, crowded},
		1226: {domain.Unavailable, crowded},
		1461: {domain.Unavailable, crowded},
		1021: {domain.Unavailable, "the disk is full"},
		1114: {domain.Unavailable, "the disk is full"},
		1037: {domain.Unavailable, "the server has no memory left"},
		1041: {domain.Unavailable, "the server has no memory left"},
		1053: {domain.Unavailable, ending},
		1927: {domain.Unavailable, ending}, // MariaDB: the connection was killed
		2006: {domain.Unavailable, ending},
		2013: {domain.Unavailable, ending},
		4031: {domain.Unavailable, ending}, // idle for too long
		1317: {domain.Canceled, "the server was told to end the statement"},
		1969: {domain.Canceled, "the statement took longer than the server allows"},
		3024: {domain.Canceled, "the statement took longer than the server allows"},

		1044: {domain.Unsupported, noRight},
		1142: {domain.Unsupported, noRight},
		1143: {domain.Unsupported, noRight},
		1227: {domain.Unsupported, noRight},
		1370: {domain.Unsupported, noRight},
		1045: {domain.Unavailable, noEntry},
		1698: {domain.Unavailable, noEntry},
		1049: {domain.Unsupported, "the database is not there"},
		1051: {domain.Unsupported, migrate},
		1054: {domain.Unsupported, migrate},
		1146: {domain.Unsupported, migrate},
		1665: {domain.Unsupported, "the server's binlog_format is STATEMENT: use ROW or MIXED"},
		1153: {domain.Invalid, "it is larger than the server's max_allowed_packet"},
	}
}

// badValues are numbers that say that a value was refused.
func badValues() map[uint16]bool {
	bad := map[uint16]bool{}
	for _, n := range []uint16{
		1048,             // must not be null
		1153,             // larger than a packet
		1264,             // out of range
		1292, 1366, 1367, // not of the column's type
		1406, 1265, // too long
		1300, 3854, 3988, // not a text of its character set
		1690,       // a sum out of range
		3140, 3141, // not JSON
		3144, 3157, // JSON of a wrong character set, or too deep
		3665, 3666, 3668, // a column of a row source: missing, out of range, not a scalar
		3819, 4025, // a check
		4035, 4036, 4037, 4038, 4040, // MariaDB: not JSON
		4174, 4175, // MariaDB: a column of a row source
		erDuplicate, erDupEntry,
	} {
		bad[n] = true
	}
	return bad
}

// codeOf judges by the server's number alone, never by its text.
func codeOf(err error) (domain.Code, string) {
	n := number(err)
	if v, known := verdicts()[n]; known {
		return v.code, v.hint
	}
	if badValues()[n] {
		return domain.Invalid, badValue
	}
	switch {
	case errors.Is(err, errClosed):
		return domain.Unavailable, "the store is closed"
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
	return ok && badValues()[e.Number]
}

// unique says that a unique index refused the row.
func unique(err error) bool {
	n := number(err)
	return n == erDuplicate || n == erDupEntry
}

// spent says that a connection must not be used again: its server was demoted or
// is about to go, and a new one may lead to its successor.
func spent(err error) bool {
	v := verdicts()[number(err)]
	return v.hint == readOnly || v.hint == ending
}
