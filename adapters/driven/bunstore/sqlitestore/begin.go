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

// lockWait is a writer's patience with the lock; after it who waits gets Contended.
const lockWait = 15 * time.Second

// begin opens the transaction. It waits for the lock of other processes by itself,
// with short, jittered sleeps: SQLite's own busy_timeout sleeps longer the longer
// it waited, so that of three busy processes one starves. To wait to begin is no retry.
func (w *writer) begin() (*conn, error) {
	limit := time.NewTimer(w.patience)
	defer limit.Stop()
	for {
		conn, err := w.source.get(w.life)
		if err == nil {
			if _, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err == nil {
				return conn, nil
			}
		}
		if w.life.Err() != nil {
			return conn, errClosed
		}
		if !busy(err) {
			return conn, err
		}
		if conn != nil {
			w.source.put(conn, nil) // nothing is held while waiting
		}
		select {
		case <-time.After(jitter()):
		case <-limit.C:
			return nil, err
		case <-w.life.Done():
			return nil, errClosed
		}
		if w.idle() {
			return nil, errNobody
		}
	}
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
