package mysqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const byKey = "j.priority, j.run_at, j.id"

// armsText reads, without a lock, the first keys of each of some kinds: one arm a
// kind, since MariaDB has no LATERAL. $2 is the queue, then a kind and its quota
// for each arm. Before what is ready lie the entries of what was taken and is not
// purged yet, often thousands; a read passes them four times faster than a read
// that locks (MariaDB, 100 of one kind: 0.3 against 1.3 ms).
func armsText(d *bunstore.Dialect, kinds int) string {
	arms := make([]string, kinds)
	for i := range arms {
		arms[i] = d.Forms.Select(bunstore.Select{
			Columns: strconv.Itoa(i) + " AS arm, j.id, j.priority, j.run_at", From: d.Table("jobs"),
			Where: "j.state = 0 AND j.queue = $2 AND j.kind = $" + strconv.Itoa(3+2*i),
			Order: byKey, Limit: "$" + strconv.Itoa(4+2*i), Index: "ready",
		})
	}
	return "(" + strings.Join(arms, ") UNION ALL (") + ")"
}

// key is where a row stands in the order of claims.
type key struct {
	arm           int
	priority, run int64
	id            domain.JobID
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.priority, o.priority), cmp.Compare(k.run, o.run), k.id.Compare(o.id))
}

// maxArms is how many kinds one statement asks for.
const maxArms = 64

// candidates are the first rows of all kinds, in order. An arm that gave its whole
// quota may have more behind its last row, so nothing after the least such row is
// one; more says that there was such an arm.
func (c *claimer) candidates(ctx context.Context, conn bunstore.Conn, r driven.ClaimRequest, quotas []int) (keys []key, more bool, err error) {
	var cut key
	for from := 0; from < len(r.Kinds); from += maxArms {
		to := min(from+maxArms, len(r.Kinds))
		part, err := c.look(ctx, conn, r.Queue, r.Kinds[from:to], quotas[from:to])
		if err != nil {
			return nil, false, err
		}
		counts := make([]int, to-from)
		for _, k := range part { // each arm's rows come in order
			counts[k.arm]++
			if counts[k.arm] == quotas[from+k.arm] && (!more || k.compare(cut) < 0) {
				cut, more = k, true
			}
		}
		keys = append(keys, part...)
	}
	slices.SortFunc(keys, key.compare)
	if more {
		at, _ := slices.BinarySearchFunc(keys, cut, key.compare)
		keys = keys[:at+1]
	}
	return keys, more, nil
}

// look runs the arms of some kinds.
func (c *claimer) look(ctx context.Context, conn bunstore.Conn, queue string, kinds []string, quotas []int) (keys []key, err error) {
	st := c.armsOf(len(kinds))
	values := make([]any, 2, 2+2*len(kinds))
	values[1] = queue
	for i, kind := range kinds {
		values = append(values, kind, quotas[i])
	}
	rows, err := conn.QueryContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return nil, err
	}
	var id sql.RawBytes
	err = bunstore.Drain(rows, func(rows *sql.Rows) error {
		var k key
		err := rows.Scan(&k.arm, &id, &k.priority, &k.run)
		copy(k.id[:], id)
		keys = append(keys, k)
		return err
	})
	return keys, err
}

func (c *claimer) armsOf(kinds int) bunstore.Stmt {
	c.mu.Lock()
	defer c.mu.Unlock()
	st, ok := c.arms[kinds]
	if !ok {
		st = c.d.Marks.Compile(armsText(c.d, kinds))
		c.arms[kinds] = st
	}
	return st
}
