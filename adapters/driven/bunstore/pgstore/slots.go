package pgstore

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// waiters finds who may take slots next.
type waiters struct{ first bunstore.Stmt }

func newWaiters(d *bunstore.Dialect) *waiters {
	return &waiters{first: d.Marks.Compile(waitersText(d))}
}

// waitersText reads the first blocked jobs of each of the keys $2, as many of each
// as it says: one seek a key, however many wait behind them. The greatest of these
// numbers, $3, is there for the planner, who takes an unknown one for a tenth of all.
func waitersText(d *bunstore.Dialect) string {
	arm := "SELECT j.id, j.blocked_on, j.queue, j.priority, j.run_at FROM " + d.Table("jobs") +
		" AS j WHERE j.state = 2 AND j.blocked_on = o.bound ORDER BY " + byKey + " LIMIT $3"
	source := d.Words.Rows("$2", []bunstore.Col{{Name: "bound", Type: bunstore.ColText}, {Name: "free", Type: bunstore.ColInt}})
	return "SELECT x.id, x.blocked_on, x.queue FROM " + source + " AS o CROSS JOIN LATERAL (SELECT y.* FROM (" + arm +
		") AS y ORDER BY y.priority, y.run_at, y.id LIMIT o.free) AS x"
}

// Find reads the first blocked jobs of keys.
func (w *waiters) Find(ctx context.Context, c bunstore.Conn, keys []bunstore.Vacancy) (found []bunstore.Waiter, err error) {
	for part := range slices.Chunk(keys, 1000) {
		a, most := bunstore.NewArray(50*len(part)), 0
		for _, v := range part {
			a.Row().Text(v.Key).Int(int64(v.Free))
			most = max(most, v.Free)
		}
		some, err := bunstore.Waiters(ctx, c, w.first, nil, a.String(), most)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}
