package bunstore

import (
	"context"
	"database/sql"
)

// Conn runs statements with bound arguments: *sql.Tx, *sql.Conn and *sql.DB are
// Conns. A statement that returns rows must have them closed before the next.
type Conn interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// Work is what an engine runs on a connection. It may be run on any goroutine
// and must use the context it is given.
type Work func(ctx context.Context, c Conn) error

// Engine runs work on one database. Errors come as the driver gave them.
type Engine interface {
	// Write runs the work in one read-write transaction and answers after its
	// commit. An error of the work undoes all of it.
	Write(ctx context.Context, w Work) error
	// One is Write for work of one statement that writes, or of some that each
	// stand for themselves, as those of a claim do: an engine may leave them to
	// autocommit, and what some wrote before one failed is for the work to answer.
	One(ctx context.Context, w Work) error
	// Read runs work that writes nothing.
	Read(ctx context.Context, w Work) error
	// Alone is Write while no other caller on any process is inside Alone.
	// Where the database has no transactional DDL it is a lock only.
	Alone(ctx context.Context, w Work) error
	// Close frees what the engine opened; idempotent.
	Close() error
}
