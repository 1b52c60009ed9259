package pgstore

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// Alone is one transaction that holds the table of migrations against every
// other Alone; readers pass. Ended anyhow, the server lets go of it.
func (e *engine) Alone(ctx context.Context, w bunstore.Work) error {
	if err := e.lay(ctx); err != nil {
		return err
	}
	return e.Write(ctx, func(ctx context.Context, c bunstore.Conn) error {
		lock := "LOCK TABLE " + e.cfg.table("migrations") + " IN SHARE ROW EXCLUSIVE MODE"
		if _, err := c.ExecContext(ctx, lock); err != nil {
			return err
		}
		return w(ctx, c)
	})
}

// layTries bounds how often others may be quicker: once for each thing that is laid.
const layTries = 4

// lay makes the schema and the table of migrations where they are not there.
func (e *engine) lay(ctx context.Context) (err error) {
	for range layTries {
		err = e.One(ctx, func(ctx context.Context, c bunstore.Conn) error { return e.layOnce(ctx, c) })
		switch sqlState(err) {
		case "42P06", "42P07", "42710", "23505": // another caller made it just now
		default:
			return err
		}
	}
	return err
}

func (e *engine) layOnce(ctx context.Context, c bunstore.Conn) error {
	there, err := found(ctx, c, hasTable(e.cfg), e.cfg.TablePrefix+"migrations")
	if err != nil || there {
		return err
	}
	there, err = found(ctx, c, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1::text", e.cfg.Schema)
	if err != nil {
		return err
	}
	if !there { // IF NOT EXISTS would want the right to make it even where it is there
		if _, err := c.ExecContext(ctx, "CREATE SCHEMA "+quote(e.cfg.Schema)); err != nil {
			return err
		}
	}
	_, err = c.ExecContext(ctx, book(e.cfg))
	return err
}

func found(ctx context.Context, c bunstore.Conn, query string, arg any) (there bool, err error) {
	rows, err := c.QueryContext(ctx, query, arg)
	if err != nil {
		return false, err
	}
	err = bunstore.Drain(rows, func(*sql.Rows) error {
		there = true
		return nil
	})
	return there, err
}
