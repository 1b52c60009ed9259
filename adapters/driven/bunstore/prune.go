package bunstore

import (
	"context"
	"database/sql"
	"strconv"
	"time"

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
	return d.Forms.Select(Select{Columns: "j.id, j.turn, j.batch_id", From: d.Table("jobs"), Where: where, Order: "j.wake_at", Limit: "$2", Lock: Skip, Index: "wake"})
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
func (s *Store) Prune(ctx context.Context, r driven.PruneRequest) (answer driven.Pruned, err error) {
	err = s.write(ctx, "prune", func(ctx context.Context, c Conn) error {
		answer = driven.Pruned{}
		looked := 0
		for i := range terminal {
			gone, err := s.overdue(ctx, c, i, r.Tenant, r.Limit-looked)
			if err != nil {
				return err
			}
			looked += len(gone)
			if gone, err = s.putOff(ctx, c, gone, r.Defer); err != nil {
				return err
			}
			n, err := s.remove(ctx, c, gone)
			if err != nil {
				return err
			}
			answer.Removed += n
		}
		answer.More = looked > 0 && looked == r.Limit
		return nil
	})
	if err != nil {
		return driven.Pruned{}, err
	}
	return answer, nil
}

// overdue locks rows of the i-th terminal state whose time is over.
func (s *Store) overdue(ctx context.Context, c Conn, i int, tenant string, limit int) (gone []removal, err error) {
	if limit <= 0 {
		return nil, nil
	}
	find, values := s.t.prune[0][i], []any{s.now(), limit}
	if tenant != "" {
		find, values = s.t.prune[1][i], append(values, tenant)
	}
	cell := newCells(3)
	err = s.each(ctx, c, find, values, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		gone = append(gone, removal{id: cell.id(0), turn: domain.Turn(cell.int(1)), batch: cell.id(2)})
		return err
	})
	return gone, err
}

// putOff keeps members of batches that are not finished: their batch has yet to count
// them, so they come again later and lie in nobody's way meanwhile. It gives those
// that may go.
func (s *Store) putOff(ctx context.Context, c Conn, gone []removal, later time.Duration) ([]removal, error) {
	var named []domain.BatchID
	for _, r := range gone {
		if !r.batch.IsZero() {
			named = append(named, r.batch)
		}
	}
	open, err := s.unfinished(ctx, c, named)
	if err != nil || len(open) == 0 {
		return gone, err
	}
	free, kept := make([]removal, 0, len(gone)), make([]domain.JobID, 0, len(gone))
	for _, r := range gone {
		if open[r.batch] {
			kept = append(kept, r.id)
		} else {
			free = append(free, r)
		}
	}
	for _, part := range s.idParts(kept) {
		if _, err := s.exec(ctx, c, s.t.putOff, s.now(), idRows(part), MS(later)); err != nil {
			return nil, err
		}
	}
	return free, nil
}

// putOffText has the terminal rows of $2 expire in $3.
func putOffText(d *Dialect) string {
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", idCols), Where: "j.id = o.id AND j.state > 3",
		Set: []Assign{{"wake_at", d.Words.Now + " + CAST($3 AS " + d.Words.BigInt + ")"}},
	})
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
	id    domain.JobID
	turn  domain.Turn
	batch domain.BatchID
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
