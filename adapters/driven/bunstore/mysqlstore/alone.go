package mysqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// Alone holds a named lock of the server's while the work runs. The session's end
// frees it. DDL commits by itself here, so each statement stands alone and a step
// can be run again from its start.
func (e *engine) Alone(ctx context.Context, w bunstore.Work) error {
	return e.hold(ctx, func(c *sql.Conn, sent *bool) error {
		n := &noting{c, sent}
		if err := e.lock(ctx, n); err != nil {
			return err
		}
		err := w(ctx, n)
		if _, failed := c.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(?)", e.lockName); failed != nil {
			discard(c)
		}
		return err
	})
}

// lockSlice is for how many seconds one statement waits for the lock: a wait is
// seen as Contended by no one, and a long one could not be told from a dead server.
const lockSlice = 2

func (e *engine) lock(ctx context.Context, c bunstore.Conn) error {
	for {
		var got sql.NullInt64
		err := bunstore.One(ctx, c, marks.Compile("SELECT GET_LOCK($1, $2)"), []any{e.lockName, lockSlice}, &got)
		if err != nil || got.Int64 == 1 {
			return err
		}
	}
}

// lockName is what migrations of these tables are kept apart by. The server has
// one space of such names, of at most 64 characters, for all its databases.
func lockName(database, prefix string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(database), strings.ToLower(database), strings.ToLower(prefix)))
	return "rowlock_migrate_" + hex.EncodeToString(sum[:16])
}
