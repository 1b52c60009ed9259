package bunstore

import (
	"context"
	"database/sql"
)

// SizeOf tells how many connections the pool has at most, for a Backend's Pool: the
// host may set that at any time.
func SizeOf(db *sql.DB) func() int { return func() int { return db.Stats().MaxOpenConnections } }

// Pool is the Engine over an ordinary connection pool: a transaction is one of
// database/sql, One is left to autocommit. No work holds a connection while it
// waits for a second one.
type Pool struct {
	DB    *sql.DB
	Level sql.IsolationLevel // of Write; the default is the database's own
	// Lock runs work alone among all processes, for Alone.
	Lock func(ctx context.Context, db *sql.DB, w Work) error
	// Owned pools are closed with the engine.
	Owned bool
}

var _ Engine = (*Pool)(nil)

// Write is one transaction of database/sql.
func (p *Pool) Write(ctx context.Context, w Work) error {
	tx, err := p.DB.BeginTx(ctx, &sql.TxOptions{Isolation: p.Level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := w(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// One runs on the pool itself.
func (p *Pool) One(ctx context.Context, w Work) error { return w(ctx, p.DB) }

// Read runs on the pool itself.
func (p *Pool) Read(ctx context.Context, w Work) error { return w(ctx, p.DB) }

// Alone takes the dialect's lock.
func (p *Pool) Alone(ctx context.Context, w Work) error { return p.Lock(ctx, p.DB, w) }

// Close closes an owned pool.
func (p *Pool) Close() error {
	if !p.Owned {
		return nil
	}
	return p.DB.Close()
}
