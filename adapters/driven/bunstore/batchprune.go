package bunstore

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// OverText finds at most $2 finished batches whose time is over; with tenant, only
// those of $3.
func OverText(d *Dialect, tenant bool) string {
	where := "j.ends_at > 0 AND " + d.Words.over("j.ends_at")
	if tenant {
		where += " AND j.tenant = $3"
	}
	return d.Forms.Select(Select{Columns: "j.id, j.callback_job", From: d.Table("batches"), Where: where, Order: "j.ends_at", Limit: "$2", Lock: Skip, Index: "ends"})
}

// LiveText says which of the jobs $2 are there and not terminal. Their ids find them:
// the sum keeps a planner from going by the states, of which many jobs have one.
func LiveText(d *Dialect) string {
	return d.Forms.Select(Select{Columns: "j.id", From: d.Table("jobs"), Join: d.Words.Rows("$2", idCols), Where: "j.id = o.id AND j.state + 0 < 4"})
}

// LaterText has the batches $2 be over in $3.
func LaterText(d *Dialect) string {
	return d.Forms.Update(Update{
		Table: d.Table("batches"), From: d.Words.Rows("$2", batchIDCols), Where: "j.id = o.id",
		Set: []Assign{{"ends_at", d.Words.Now + " + CAST($3 AS " + d.Words.BigInt + ")"}},
	})
}

// PruneBatches is one transaction: those that it found are locked, so that what it
// puts off or removes is what it looked at.
func (s *Store) PruneBatches(ctx context.Context, r driven.PruneRequest) (answer driven.Pruned, err error) {
	err = s.write(ctx, "prune batches", func(ctx context.Context, c Conn) error {
		answer = driven.Pruned{}
		over, callbacks, err := s.overBatches(ctx, c, r)
		if err != nil {
			return err
		}
		live, err := s.live(ctx, c, callbacks)
		if err != nil {
			return err
		}
		var kept, gone []domain.JobID
		for i, id := range over {
			if live[callbacks[i]] {
				kept = append(kept, id)
			} else {
				gone = append(gone, id)
			}
		}
		for _, part := range s.idParts(kept) {
			if _, err := s.exec(ctx, c, s.t.batches.later, s.now(), idRows(part), MS(r.Defer)); err != nil {
				return err
			}
		}
		for _, part := range s.idParts(gone) {
			n, err := s.exec(ctx, c, s.t.batches.remove, nil, idRows(part))
			if err != nil {
				return err
			}
			answer.Removed += n
		}
		answer.More = len(over) > 0 && len(over) == r.Limit
		return nil
	})
	if err != nil {
		return driven.Pruned{}, err
	}
	return answer, nil
}

// overBatches locks batches whose time is over and gives the callback beside each.
func (s *Store) overBatches(ctx context.Context, c Conn, r driven.PruneRequest) (over, callbacks []domain.JobID, err error) {
	find, values := s.t.batches.over, []any{s.now(), max(r.Limit, 0)}
	if r.Tenant != "" {
		find, values = s.t.batches.overOf, append(values, r.Tenant)
	}
	cell := newCells(2)
	err = s.each(ctx, c, find, values, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		over, callbacks = append(over, cell.id(0)), append(callbacks, cell.id(1))
		return err
	})
	return over, callbacks, err
}

// live says which of the jobs are there and not terminal; no id is of none.
func (s *Store) live(ctx context.Context, c Conn, ids []domain.JobID) (map[domain.JobID]bool, error) {
	there := make([]domain.JobID, 0, len(ids))
	for _, id := range ids {
		if !id.IsZero() {
			there = append(there, id)
		}
	}
	live := make(map[domain.JobID]bool)
	for _, part := range s.idParts(there) {
		some, err := s.ids(ctx, c, s.t.batches.live, []any{nil, idRows(part)})
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			live[id] = true
		}
	}
	return live, nil
}
