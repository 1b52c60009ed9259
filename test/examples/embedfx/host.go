package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"

	"go.uber.org/fx"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/application/enqueue"
)

// path is where the database is.
type path string

// newPool is the host's pool. The store works on it and leaves it open; it closes
// when everything above it has stopped.
func newPool(life fx.Lifecycle, file path) (*sql.DB, error) {
	params := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+string(file)+"?"+params.Encode())
	if err != nil {
		return nil, err
	}
	life.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "CREATE TABLE users (name TEXT PRIMARY KEY CHECK (name <> ''))")
			return err
		},
		OnStop: func(context.Context) error { return db.Close() },
	})
	return db, nil
}

// Signup is the host's business.
type Signup struct {
	db   *sql.DB
	jobs *enqueue.Client
}

func newSignup(db *sql.DB, jobs *enqueue.Client) *Signup { return &Signup{db, jobs} }

// Register writes the user and the job that welcomes them, both or neither.
func (s *Signup) Register(ctx context.Context, name string) (err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the first error is the one to tell
		}
	}()
	if _, _, err = s.jobs.Enqueue(ctx, Welcome{name}, enqueue.In(sqlitestore.Tx(tx))); err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, "INSERT INTO users (name) VALUES (?)", name); err != nil {
		return errors.New("a user needs a name")
	}
	return tx.Commit()
}

// Report counts what is there.
func (s *Signup) Report(ctx context.Context, out io.Writer) error {
	var users, jobs int
	row := s.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM rowlock_jobs)")
	if err := row.Scan(&users, &jobs); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d user, %d jobs\n", users, jobs)
	return err
}
