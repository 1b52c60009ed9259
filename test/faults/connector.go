package faults

import (
	"context"
	"database/sql/driver"
	"io"
)

// Wrap puts a plan between database/sql and a driver.
func Wrap(inner driver.Connector, plan *Plan) driver.Connector {
	return &connector{inner, plan}
}

// Connector makes one of any driver and its data source name, e.g. of
// (*sql.DB).Driver() of a database opened by name.
func Connector(d driver.Driver, dsn string) (driver.Connector, error) {
	if d, ok := d.(driver.DriverContext); ok {
		return d.OpenConnector(dsn)
	}
	return byName{d, dsn}, nil
}

type byName struct {
	driver driver.Driver
	dsn    string
}

func (b byName) Connect(context.Context) (driver.Conn, error) { return b.driver.Open(b.dsn) }
func (b byName) Driver() driver.Driver                        { return b.driver }

type connector struct {
	driver.Connector
	plan *Plan
}

// Connect is no step, but a killed process connects to nothing.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	epoch, ok := c.plan.alive()
	if !ok {
		return nil, ErrKilled
	}
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: inner, plan: c.plan, epoch: epoch}, nil
}

// Close is what database/sql calls at the end of the pool.
func (c *connector) Close() error {
	if closer, ok := c.Connector.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
