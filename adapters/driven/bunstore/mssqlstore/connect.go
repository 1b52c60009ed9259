package mssqlstore

import (
	"context"
	"database/sql/driver"
	"errors"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

var errNoDSN = errors.New("mssqlstore: the DSN is empty")

// connector tells what failed before there was a connection: much of that the
// driver gives as plain text.
type connector struct{ driver.Connector }

func newConnector(conn msdsn.Config) driver.Connector {
	return connector{mssql.NewConnectorConfig(conn)}
}

// Connect makes one connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, &connectError{err}
	}
	return conn, nil
}

// connectError is why a connection could not be made.
type connectError struct{ cause error }

// Error is the driver's text.
func (e *connectError) Error() string { return e.cause.Error() }

// Unwrap gives the driver's error.
func (e *connectError) Unwrap() error { return e.cause }
