package bunstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/rowlock/rowlock/domain"
)

// CommonCode judges what every driver and database/sql share: an end of the
// context, a lost connection, a closed pool. A dialect asks it for errors that
// carry no code of the database; "" is none of these.
func CommonCode(err error) (domain.Code, string) {
	var lost net.Error
	var dial *net.OpError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return domain.Canceled, ""
	case errors.Is(err, sql.ErrTxDone):
		return domain.Invalid, "the transaction is over"
	case errors.As(err, &dial) && dial.Op == "dial":
		return domain.Unavailable, "the server cannot be reached"
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.As(err, &lost):
		return domain.Unavailable, "the connection to the database broke"
	case errors.Is(err, closedPool()):
		return domain.Unavailable, "the store is closed"
	}
	return "", ""
}

// closedPool is database/sql's error of a closed pool, which has no name outside
// of it: a pool that was closed tells.
func closedPool() error {
	db := sql.OpenDB(nowhere{})
	if err := db.Close(); err != nil {
		return err
	}
	return db.Ping()
}

// nowhere connects to nothing.
type nowhere struct{}

func (nowhere) Connect(context.Context) (driver.Conn, error) { return nil, driver.ErrBadConn }
func (nowhere) Driver() driver.Driver                        { return nil }
