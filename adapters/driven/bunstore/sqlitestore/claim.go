package sqlitestore

import (
	"context"
	"strings"
	"sync"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/ports/driven"
)

// claimText takes at most N due rows of a queue and some kinds. One arm a kind,
// none with a LIMIT, and the order on the UNION itself: then SQLite walks the arms
// in the order of the index and merges them lazily, so that it reads N rows and not
// N a kind, and nothing of foreign kinds (us a job: 3.9 with 1 kind, 5.3 with 5, 7.8
// with 50; with a LIMIT in each arm 28.7 with 50; ordered from outside it sorts all).
// One writer has the file to itself, so nothing has to be locked or passed over.
// The limit is no bare parameter, see selectText.
//
// $2 token, $3 runner, $4 lease, $5 queue, $6 limit, $7.. kinds.
func claimText(table string, kinds int) string {
	arms := make([]string, kinds)
	for i := range arms {
		arms[i] = "SELECT id, priority, run_at FROM " + table + " WHERE state = 0 AND queue = $5 AND kind = $" + itoa(7+i)
	}
	return "UPDATE " + table + " SET state = 3, token = $2, runner = $3, stuck = 0, claimed_at = " + now + ", wake_at = " + now + " + $4" +
		" WHERE id IN (SELECT id FROM (" + strings.Join(arms, " UNION ALL ") + " ORDER BY priority, run_at, id LIMIT $6 + 0))" +
		" RETURNING " + bunstore.ClaimColumns("", nil)
}

// promoteText makes due scheduled rows ready.
func promoteText(table string) string {
	return "UPDATE " + table + " SET state = 0, wake_at = 0 WHERE id IN (SELECT id FROM " + table +
		" WHERE state = 1 AND state > 0 AND wake_at > 0 AND wake_at <= " + now + " ORDER BY wake_at LIMIT $2 + 0)"
}

// manyKinds is where arms end: SQLite takes 500 of them at most. A runner with
// more kinds sorts what is ready of them.
const manyKinds = 400

// manyText is claimText for any number of kinds, $7 being their JSON array.
func manyText(table string) string {
	return strings.Replace(claimText(table, 1), "kind = $7", "kind IN (SELECT value FROM json_each($7))", 1)
}

// claimer is the claim of one table.
type claimer struct {
	marks   bunstore.Marks
	table   string
	promote bunstore.Stmt
	many    bunstore.Stmt

	mu    sync.Mutex
	kinds map[int]bunstore.Stmt // by their number
}

// text gives the claim for a number of kinds, put together once.
func (c *claimer) text(kinds int) bunstore.Stmt {
	c.mu.Lock()
	defer c.mu.Unlock()
	st, ok := c.kinds[kinds]
	if !ok {
		st = c.marks.Compile(claimText(c.table, kinds))
		c.kinds[kinds] = st
	}
	return st
}

// Claim takes what is ready.
func (c *claimer) Claim(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest) ([]driven.Claimed, error) {
	values := make([]any, 0, 6+len(r.Kinds))
	values = append(values, now, r.Token[:], r.Runner, bunstore.MS(r.Lease), r.Queue, r.N)
	st := c.many
	if len(r.Kinds) > manyKinds {
		values = append(values, bunstore.Names(r.Kinds))
	} else {
		st = c.text(len(r.Kinds))
		for _, kind := range r.Kinds {
			values = append(values, kind)
		}
	}
	rows, err := conn.QueryContext(ctx, st.Text, st.Args(values...)...) //nolint:rowserrcheck // ScanClaims checks it
	if err != nil {
		return nil, err
	}
	return bunstore.ScanClaims(rows, r)
}

// Promote makes ready what time has made due.
func (c *claimer) Promote(ctx context.Context, conn bunstore.Conn, now any, limit int) (int, error) {
	return exec(ctx, conn, c.promote, now, limit)
}
