package bunstore

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// terminal are the states that a prune visits, each by its own read: `state IN
// (..) ORDER BY wake_at` would sort everything that is over.
var terminal = []domain.State{domain.Done, domain.Dead, domain.Cancelled}

// PruneText finds at most $2 rows of a state whose retention ended; with tenant, only those of $3.
func PruneText(d *Dialect, state domain.State, tenant bool) string {
	where := "j.state = " + strconv.Itoa(int(state)) + " AND j.state > 0 AND j.wake_at > 0 AND j.wake_at <= " + d.Words.Now
	if tenant {
		where += " AND j.tenant = $3"
	}
	return d.Forms.Select(Select{Columns: "j.id, j.turn", From: d.Table("jobs"), Where: where, Order: "j.wake_at", Limit: "$2", Lock: Skip, Index: "wake"})
}

func pruneTexts(d *Dialect) (out [2][]Stmt) {
	for _, state := range terminal {
		out[0] = append(out[0], d.Marks.Compile(PruneText(d, state, false)))
		out[1] = append(out[1], d.Marks.Compile(PruneText(d, state, true)))
	}
	return out
}

func deleteText(d *Dialect) string {
	return d.Forms.Delete(Delete{Table: d.Table("jobs"), Cols: []string{"id"}, From: d.Words.Rows("$2", idCols), Where: "j.state <> 3"})
}

// Prune is one transaction over all terminal states.
func (s *Store) Prune(ctx context.Context, r driven.PruneRequest) (removed int, err error) {
	err = s.write(ctx, "prune", func(ctx context.Context, c Conn) error {
		removed = 0
		for i := range terminal {
			n, err := s.pruneState(ctx, c, i, driven.PruneRequest{Limit: r.Limit - removed, Tenant: r.Tenant})
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

func (s *Store) pruneState(ctx context.Context, c Conn, i int, r driven.PruneRequest) (int, error) {
	if r.Limit <= 0 {
		return 0, nil
	}
	find, values := s.t.prune[0][i], []any{s.now(), r.Limit}
	if r.Tenant != "" {
		find, values = s.t.prune[1][i], append(values, r.Tenant)
	}
	var gone []removal
	cell := newCells(2)
	err := s.each(ctx, c, find, values, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		gone = append(gone, removal{cell.id(0), domain.Turn(cell.int(1))})
		return err
	})
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	return s.remove(ctx, c, gone)
}

// ids runs a query whose first column is an id.
func (s *Store) ids(ctx context.Context, c Conn, st Stmt, values []any) (ids []domain.JobID, err error) {
	cell := newCells(1)
	err = s.each(ctx, c, st, values, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		ids = append(ids, cell.id(0))
		return err
	})
	return ids, err
}

// removal is a row that goes.
type removal struct {
	id   domain.JobID
	turn domain.Turn
}

// remove deletes rows and, of those that have some, their turns. A schema that
// knows of none has no table of them.
func (s *Store) remove(ctx context.Context, c Conn, gone []removal) (removed int, err error) {
	for _, part := range chunks(gone, s.d.Chunk, func(*removal) int { return 40 }) {
		ids := make([]domain.JobID, len(part))
		var turns []domain.JobID
		for i, r := range part {
			if ids[i] = r.id; r.turn != domain.NoTurn {
				turns = append(turns, r.id)
			}
		}
		n, err := s.exec(ctx, c, s.t.delete, nil, idRows(ids))
		if err != nil {
			return 0, err
		}
		if err := s.removeTurns(ctx, c, turns); err != nil {
			return 0, err
		}
		removed += n
	}
	return removed, nil
}

var idCols = []Col{{"id", ColID}}

func idRows(ids []domain.JobID) string {
	var a Array
	for _, id := range ids {
		a.Row().ID(id)
	}
	return a.String()
}
