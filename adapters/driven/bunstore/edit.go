package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// editRow is what an edit judges a job by.
type editRow struct {
	id     domain.JobID
	state  domain.State
	tenant string
	runner string
	key    string
	held   string // the lock that it has
	forget int64
	turn   domain.Turn
	batch  domain.BatchID
	keys   []string // stored keys of its turns
	keep   domain.Retention
	err    error // the verdict
}

// lock is the one that the row has, or else had: one of a window is never lost.
func (r *editRow) lock() string {
	if r.key == "" || r.held != "" {
		return r.held
	}
	return domain.UniqueLock(r.tenant, r.key)
}

func editFindText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.id, j.state, j.tenant, j.runner, j.unique_key, j.forget_args, j.keep_cancelled, j.turn, j.unique_lock, j.batch_id",
		From:    d.Table("jobs"), Join: d.Words.Rows("$2", idCols), Where: "j.id = o.id", Lock: Wait,
	})
}

// errAsIs says that the row is already what was asked for.
var errAsIs = errors.New("as asked")

// change is one kind of edit.
type change struct {
	op      string
	first   func(ctx context.Context, c Conn, ids []domain.JobID) error // before the rows are locked; may be nil
	prepare func(ctx context.Context, c Conn, rows []*editRow) error    // may be nil
	judge   func(*editRow) error                                        // why a row may not be changed
	write   func(ctx context.Context, c Conn, rows []*editRow) error    // changes those that may
	ends    bool                                                        // their life, or removes them
}

// edit reads the rows under their lock, judges each and writes the rest, in one
// transaction. Refusals are answers, so they keep nothing else back.
func (s *Store) edit(ctx context.Context, r driven.EditRequest, ch change) (out []domain.Edited, err error) {
	if len(r.IDs) == 0 {
		return nil, nil
	}
	err = s.write(ctx, ch.op, func(ctx context.Context, c Conn) error {
		if ch.first != nil {
			if err := ch.first(ctx, c, r.IDs); err != nil {
				return err
			}
		}
		found, order, err := s.editRows(ctx, c, r)
		if err != nil {
			return err
		}
		if ch.prepare != nil {
			if err := ch.prepare(ctx, c, order); err != nil {
				return err
			}
		}
		var fit []*editRow
		for _, row := range order {
			if row.err = meant(ch.op, row, r.States); row.err == nil {
				row.err = ch.judge(row)
			}
			if row.err == nil {
				fit = append(fit, row)
			}
		}
		if err := s.editKeys(ctx, c, order); err != nil {
			return err
		}
		out = answers(ch, r.IDs, found)
		return s.change(ctx, c, ch, fit)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// change writes those rows that may be changed, and where their turns are by then.
func (s *Store) change(ctx context.Context, c Conn, ch change, fit []*editRow) error {
	var turns []domain.JobID
	for _, part := range chunks(fit, s.d.Chunk, func(**editRow) int { return 300 }) {
		if err := ch.write(ctx, c, part); err != nil {
			return err
		}
		for _, row := range part {
			if row.turn != domain.NoTurn {
				turns = append(turns, row.id)
			}
		}
	}
	return s.follow(ctx, c, turns)
}

// editKeys reads the keys of those rows that take turns and whose edit is no fault.
func (s *Store) editKeys(ctx context.Context, c Conn, rows []*editRow) error {
	var ids []domain.JobID
	for _, row := range rows {
		if row.turn != domain.NoTurn && (row.err == nil || errors.Is(row.err, errAsIs)) {
			ids = append(ids, row.id)
		}
	}
	keys, err := s.turnKeys(ctx, c, ids)
	for _, row := range rows {
		row.keys = keys[row.id]
	}
	return err
}

// answers gives what became of each id, in their order.
func answers(ch change, ids []domain.JobID, found map[domain.JobID]*editRow) []domain.Edited {
	out := make([]domain.Edited, len(ids))
	for i, id := range ids {
		row := found[id]
		switch out[i].ID = id; {
		case row == nil:
			out[i].Err = notFound(ch.op, id)
		case row.err == nil || errors.Is(row.err, errAsIs):
			if out[i].Keys = row.keys; ch.ends && !row.state.Terminal() {
				out[i].Batch = row.batch
			}
		default:
			out[i].Err = row.err
		}
	}
	return out
}

// editRows reads the rows asked for that are of the tenant, in the order of the request.
func (s *Store) editRows(ctx context.Context, c Conn, r driven.EditRequest) (map[domain.JobID]*editRow, []*editRow, error) {
	found := make(map[domain.JobID]*editRow, len(r.IDs))
	cell := newCells(10)
	inOrder := slices.SortedFunc(slices.Values(r.IDs), domain.JobID.Compare) // as all who lock several rows
	for _, part := range chunks(inOrder, s.d.Chunk, func(*domain.JobID) int { return 40 }) {
		err := s.each(ctx, c, s.t.edit.find, []any{nil, idRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			row := &editRow{
				id: cell.id(0), state: domain.State(cell.int(1)), tenant: cell.text(2), runner: cell.text(3),
				key: cell.text(4), forget: cell.int(5), keep: domain.Retention{Cancelled: keepSpan(cell.int(6))},
				turn: domain.Turn(cell.int(7)), held: cell.text(8), batch: cell.id(9),
			}
			if r.Tenant == "" || r.Tenant == row.tenant {
				found[row.id] = row
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	var order []*editRow
	seen := make(map[domain.JobID]bool, len(found))
	for _, id := range r.IDs {
		if row := found[id]; row != nil && !seen[id] {
			order = append(order, row)
			seen[id] = true
		}
	}
	return found, order, nil
}

func notFound(op string, id domain.JobID) error {
	return &domain.Fault{Code: domain.NotFound, Op: op, Subject: id.String(), Hint: "there is no such job"}
}

func clash(op string, id domain.JobID, hint string) error {
	return &domain.Fault{Code: domain.Conflict, Op: op, Subject: id.String(), Hint: hint}
}

// meant refuses a row that is in none of the states asked for.
func meant(op string, r *editRow, states []domain.State) error {
	if len(states) == 0 || slices.Contains(states, r.state) {
		return nil
	}
	if err := running(op, r); err != nil {
		return err
	}
	return clash(op, r.id, "it is "+r.state.String())
}

// running refuses a row that runs.
func running(op string, r *editRow) error {
	if r.state != domain.Running {
		return nil
	}
	return clash(op, r.id, "it runs on runner "+domain.CleanText(r.runner, domain.MaxRunner))
}
