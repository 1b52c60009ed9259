package mysqlstore

import (
	"context"
	"maps"
	"slices"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// dueText finds at most $2 scheduled rows that time has made due, without a lock:
// most often there is none, and what was running lies behind the index's range.
func dueText(d *bunstore.Dialect) string {
	return d.Forms.Select(bunstore.Select{
		Columns: "j.id", From: d.Table("jobs"), Where: bunstore.DueWhere(d), Order: "j.wake_at", Limit: "$2", Index: "wake",
	})
}

// duePickText locks those of the rows $2 that are still due and free.
func duePickText(d *bunstore.Dialect) string {
	return d.Forms.Select(bunstore.Select{
		Columns: "j.id", From: d.Table("jobs"), Join: d.Words.Rows("$2", idCols),
		Where: "j.id = o.id AND " + bunstore.DueWhere(d), Lock: bunstore.Skip,
	})
}

// promoteText makes the rows $2 ready.
func promoteText(d *bunstore.Dialect) string {
	return d.Forms.Update(bunstore.Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", idCols), Where: "j.id = o.id AND j.state = 1",
		Set: []bunstore.Assign{{Col: "state", Expr: "0"}, {Col: "wake_at", Expr: "0"}},
	})
}

// Promote makes due rows ready.
func (c *claimer) Promote(ctx context.Context, conn bunstore.Conn, now any, limit int) (int, error) {
	ids, err := sortedIDs(ctx, conn, c.due, now, limit)
	if err == nil && len(ids) > 0 {
		ids, err = sortedIDs(ctx, conn, c.duePick, now, idRows(ids))
	}
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	_, err = exec(ctx, conn, c.promote, now, idRows(ids))
	return len(ids), err
}

func sortedIDs(ctx context.Context, conn bunstore.Conn, st bunstore.Stmt, values ...any) ([]domain.JobID, error) {
	set, err := bunstore.IDs(ctx, conn, st, values...)
	return slices.SortedFunc(maps.Keys(set), domain.JobID.Compare), err
}
