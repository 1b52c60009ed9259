package bunstore

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

type editTexts struct{ find, retry, cancel, reschedule Stmt }

var (
	retryCols  = []Col{{"id", ColID}, {"lock", ColText}}
	cancelCols = []Col{{"id", ColID}, {"keep", ColInt}}
)

func newEditTexts(d *Dialect) editTexts {
	due, c := dueSet(d.Words.Now, d.Words.BigInt), d.Marks.Compile
	// The rows are locked since they were judged; where they may not be is said once more.
	update := func(cols []Col, where string, set ...Assign) Stmt {
		return c(d.Forms.Update(Update{
			Table: d.Table("jobs"), From: d.Words.Rows("$2", cols),
			Where: "j.id = o.id AND " + where, Set: append(set, Assign{"blocked_on", "NULL"}),
		}))
	}
	const notRunning, live = "j.state <> 3", "j.state + 0 < 4"
	return editTexts{
		find: c(editFindText(d)),
		retry: update(retryCols, notRunning, append(slices.Clone(due),
			Assign{"attempts", "0"}, Assign{"stalls", "0"}, Assign{"finished_at", "0"},
			Assign{"result", "''"}, Assign{"unique_lock", "o.lock"})...),
		reschedule: update(idCols, notRunning, append(due, Assign{"due_at", dueExpr(d.Words.Now, d.Words.BigInt)})...),
		cancel: update(cancelCols, live,
			Assign{"state", "6"},
			Assign{"token", "NULL"}, // of one that runs; settled stays: nobody recorded an outcome
			Assign{"stuck", "0"},
			Assign{"wake_at", "CASE WHEN o.keep < 0 THEN 0 ELSE " + d.Words.Now + " + o.keep END"},
			Assign{"finished_at", d.Words.Now},
			Assign{"unique_lock", d.Words.Ended()}),
	}
}

// dueSet makes a row due after $3 or at the moment $4, -1 for none.
func dueSet(now, big string) []Assign {
	after, at := "CAST($3 AS "+big+")", "CAST($4 AS "+big+")"
	return []Assign{
		{"state", "CASE WHEN " + after + " > 0 OR " + at + " > " + now + " THEN 1 ELSE 0 END"},
		{"run_at", dueExpr(now, big)},
		{"wake_at", "CASE WHEN " + after + " > 0 THEN " + now + " + " + after + " WHEN " + at + " > " + now + " THEN " + at + " ELSE 0 END"},
	}
}

func dueExpr(now, big string) string {
	after, at := "CAST($3 AS "+big+")", "CAST($4 AS "+big+")"
	return "CASE WHEN " + at + " >= 0 THEN " + at + " ELSE " + now + " + " + after + " END"
}

// Retry takes the unique key again where the row had one. Of two rows of one
// call with one key the first gets it.
func (s *Store) Retry(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	var taken map[string]holder
	ch := change{op: "retry", first: s.rejoin}
	ch.prepare = func(ctx context.Context, c Conn, rows []*editRow) (err error) {
		taken, err = s.locksOf(ctx, c, rows)
		return err
	}
	ch.judge = func(row *editRow) error {
		if err := running(ch.op, row); err != nil {
			return err
		}
		if row.forget == forgotten {
			return clash(ch.op, row.id, "its args were forgotten: enqueue it again")
		}
		lock := row.lock()
		if by, held := taken[lock]; lock != "" && held && by.id != row.id {
			return clash(ch.op, row.id, "its unique key is held by job "+by.id.String())
		}
		taken[lock] = holder{id: row.id}
		return nil
	}
	ch.write = func(ctx context.Context, c Conn, rows []*editRow) error { return s.writeRetry(ctx, c, r.Due, rows) }
	return s.edit(ctx, r, ch)
}

func (s *Store) writeRetry(ctx context.Context, c Conn, due domain.Due, rows []*editRow) error {
	var a Array
	for _, row := range rows {
		a.Row().ID(row.id).Maybe(row.lock())
	}
	_, err := s.exec(ctx, c, s.t.edit.retry, s.now(), a.String(), MS(due.After), dueAt(due))
	if err != nil && s.d.Codes.Unique(err) { // taken since we looked
		return &domain.Fault{Code: domain.Contended, Op: "retry", Hint: "a unique key was taken meanwhile: try again", Err: err}
	}
	return err
}

// locksOf finds who holds the keys of the rows.
func (s *Store) locksOf(ctx context.Context, c Conn, rows []*editRow) (map[string]holder, error) {
	var keyed []NewRow
	for _, row := range rows {
		if lock := row.lock(); lock != "" {
			keyed = append(keyed, NewRow{Job: &domain.NewJob{}, Lock: lock})
		}
	}
	if len(keyed) == 0 {
		return map[string]holder{}, nil
	}
	found, err := s.holders(ctx, c, keyed, s.t.holders.find)
	return found.locks, err
}

// Cancel keeps each row as long as it asks for itself, else as the request says.
func (s *Store) Cancel(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	ch := change{op: "cancel", ends: true}
	ch.judge = func(row *editRow) error {
		switch {
		case row.state == domain.Cancelled:
			return errAsIs
		case domain.CanMove(domain.ActCancel, row.state, domain.Cancelled):
			return nil
		}
		return clash(ch.op, row.id, "it is "+row.state.String())
	}
	ch.write = func(ctx context.Context, c Conn, rows []*editRow) error {
		var a Array
		for _, row := range rows {
			keep := row.keep.For(domain.Cancelled, domain.Retention{Cancelled: r.Keep})
			a.Row().ID(row.id).Int(KeepMS(keep))
		}
		_, err := s.exec(ctx, c, s.t.edit.cancel, s.now(), a.String())
		return err
	}
	return s.edit(ctx, r, ch)
}

// Delete removes the rows.
func (s *Store) Delete(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	ch := change{op: "delete", ends: true, judge: func(row *editRow) error { return running("delete", row) }}
	ch.write = func(ctx context.Context, c Conn, rows []*editRow) error {
		gone := make([]removal, len(rows))
		for i, row := range rows {
			gone[i] = removal{id: row.id, turn: row.turn}
		}
		_, err := s.remove(ctx, c, gone)
		return err
	}
	return s.edit(ctx, r, ch)
}

// Reschedule moves waiting rows.
func (s *Store) Reschedule(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	ch := change{op: "reschedule"}
	ch.judge = func(row *editRow) error {
		if domain.CanMove(domain.ActReschedule, row.state, domain.Scheduled) {
			return nil
		}
		if err := running(ch.op, row); err != nil {
			return err
		}
		return clash(ch.op, row.id, "it is "+row.state.String()+": retry it instead")
	}
	ch.write = func(ctx context.Context, c Conn, rows []*editRow) error {
		var a Array
		for _, row := range rows {
			a.Row().ID(row.id)
		}
		_, err := s.exec(ctx, c, s.t.edit.reschedule, s.now(), a.String(), MS(r.Due.After), dueAt(r.Due))
		return err
	}
	return s.edit(ctx, r, ch)
}
