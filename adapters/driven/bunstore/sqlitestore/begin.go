package sqlitestore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	lib "modernc.org/sqlite/lib"
)

// errNobody says that everybody who waited went.
var errNobody = errors.New("sqlitestore: nobody waits")

// errNoConn says that the host's pool gave no connection: a transaction of the
// host's that waits for this very call may hold the last one.
var errNoConn = errors.New("sqlitestore: the pool has no free connection")

// lockWait is a writer's patience: with the lock, after which who waits gets
// Contended, and with a pool of the host's that has no connection free.
const lockWait = 15 * time.Second

// begin opens the transaction. It waits for the lock of other processes by itself,
// with short, jittered sleeps: SQLite's own busy_timeout sleeps longer the longer
// it waited, so that of three busy processes one starves. To wait to begin is no retry.
func (w *writer) begin() (*conn, error) {
	ctx, cancel := context.WithTimeout(w.life, w.patience)
	defer cancel()
	waited := errNoConn // for what, until the lock turns out to be taken
	for {
		conn, err := w.tryBegin(ctx)
		switch {
		case err == nil:
			return conn, nil
		case w.life.Err() != nil:
			return conn, errClosed
		case conn == nil && ctx.Err() != nil:
			return nil, waited
		case !busy(err):
			return conn, err
		case conn != nil:
			w.source.put(conn, nil) // nothing is held while waiting
		}
		waited = err
		select {
		case <-time.After(jitter()):
		case <-ctx.Done():
		}
		switch {
		case w.life.Err() != nil:
			return nil, errClosed
		case ctx.Err() != nil:
			return nil, waited
		case w.idle():
			return nil, errNobody
		}
	}
}

func (w *writer) tryBegin(ctx context.Context) (*conn, error) {
	conn, err := w.source.get(ctx)
	if err == nil {
		_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	}
	return conn, err
}

// jitter is from 0.1 to 1 ms.
func jitter() time.Duration {
	return 100*time.Microsecond + rand.N(900*time.Microsecond) //nolint:gosec // no secret
}

func busy(err error) bool {
	switch result(err) & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return true
	}
	return false
}
