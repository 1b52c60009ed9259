package bunstore

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// NewRow is a job to insert with the lock that its unique key takes, "" for none.
type NewRow struct {
	Job  *domain.NewJob
	Lock string
}

func newRows(jobs []domain.NewJob) []NewRow {
	rows := make([]NewRow, len(jobs))
	for i := range jobs {
		rows[i].Job = &jobs[i]
		if u := jobs[i].Unique; u != nil {
			rows[i].Lock = domain.UniqueLock(jobs[i].Tenant, u.Key)
		}
	}
	return rows
}

// insertTries bounds how often a row is written again because the one that
// refused it was gone when it was looked for.
const insertTries = 4

// Insert writes all rows in one transaction.
func (s *Store) Insert(ctx context.Context, jobs []domain.NewJob) (res []driven.Inserted, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	run := s.write
	if len(jobs) == 1 && jobs[0].Turn == domain.NoTurn {
		run = s.one // one statement, and a look where it was refused
	}
	err = run(ctx, "insert", func(ctx context.Context, c Conn) (err error) {
		res, err = s.insert(ctx, c, newRows(jobs))
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// insert writes the rows, and the turns of those that are new.
func (s *Store) insert(ctx context.Context, c Conn, rows []NewRow) ([]driven.Inserted, error) {
	res, err := s.insertRows(ctx, c, rows)
	if err != nil {
		return nil, err
	}
	return res, s.insertTurns(ctx, c, rows, res)
}

func (s *Store) insertRows(ctx context.Context, c Conn, rows []NewRow) ([]driven.Inserted, error) {
	res := make([]driven.Inserted, len(rows))
	todo := make([]int, len(rows))
	for i := range todo {
		todo[i] = i
	}
	for try := 0; len(todo) > 0; try++ {
		if try > insertTries+len(rows) {
			return nil, &domain.Fault{Code: domain.Contended, Op: "insert", Hint: "the holder of a unique key keeps changing: try again"}
		}
		now, later := distinct(rows, todo)
		held, err := s.insertDistinct(ctx, c, rows, now, res)
		if err != nil {
			return nil, err
		}
		if todo = merge(held, later); len(todo) == 0 {
			return res, nil
		}
		// Who shares with an earlier row of the call is held by now, as a rule.
		if todo, err = s.answerHeld(ctx, c, rows, todo, res); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// insertDistinct writes rows that share nothing and answers those that are held.
func (s *Store) insertDistinct(ctx context.Context, c Conn, rows []NewRow, todo []int, res []driven.Inserted) (held []int, err error) {
	part := rows
	if len(todo) < len(rows) {
		part = make([]NewRow, len(todo))
		for i, n := range todo {
			part[i] = rows[n]
		}
	}
	fresh, err := s.d.Hot.Insert(ctx, c, s.now(), part)
	if err != nil {
		return nil, err
	}
	for i, n := range todo {
		if res[n] = (driven.Inserted{ID: rows[n].Job.ID}); !fresh[i] {
			held = append(held, n)
		}
	}
	return held, nil
}

// answerHeld looks up who holds the id or key of the rows that were refused.
func (s *Store) answerHeld(ctx context.Context, c Conn, rows []NewRow, held []int, res []driven.Inserted) (again []int, err error) {
	look := make([]NewRow, len(held))
	for i, n := range held {
		look[i] = rows[n]
	}
	ids, locks, err := s.holders(ctx, c, look)
	if err != nil {
		return nil, err
	}
	for _, n := range held {
		row := rows[n]
		holder, byLock := locks[row.Lock]
		switch {
		case ids[row.Job.ID]:
			res[n] = driven.Inserted{ID: row.Job.ID, Result: domain.Existing}
		case byLock && row.Job.Unique.OnConflict == domain.Error:
			return nil, &domain.Fault{Code: domain.Conflict, Op: "insert", Subject: holder.String(), Hint: "this job holds the unique key until it is done, dead or cancelled"}
		case byLock:
			res[n] = driven.Inserted{ID: holder, Result: domain.Existing}
		default:
			again = append(again, n)
		}
	}
	return again, nil
}

var holderCols = []Col{{"id", ColID}, {"lock", ColText}}

// holdersText answers (id, lock) of the rows that have one of the ids or locks of
// $2: two reads, so that each goes by its index.
func holdersText(d *Dialect) string {
	one := func(index, where string) string {
		return d.Forms.Select(Select{
			Columns: "j.id, j.unique_lock", From: d.Table("jobs"), Join: d.Words.Rows("$2", holderCols), Where: where,
			Lock: Current, Index: index,
		})
	}
	return one("", "j.id = o.id") + " UNION ALL " + one("unique", "j.unique_lock = o.lock")
}

func (s *Store) holders(ctx context.Context, c Conn, look []NewRow) (ids map[domain.JobID]bool, locks map[string]domain.JobID, err error) {
	var a Array
	for _, r := range look {
		a.Row().ID(r.Job.ID).Maybe(r.Lock)
	}
	ids, locks = map[domain.JobID]bool{}, map[string]domain.JobID{}
	cell := newCells(2)
	err = s.each(ctx, c, s.t.holders, []any{nil, a.String()}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		id := domain.JobID(cell.id(0))
		ids[id] = true
		if lock := cell.text(1); lock != "" {
			locks[lock] = id
		}
		return err
	})
	return ids, locks, err
}

// distinct splits off the rows that share an id or a lock with an earlier one:
// they come after it, so that the answers are those of one row at a time.
func distinct(rows []NewRow, todo []int) (now, later []int) {
	if rising(rows, todo) {
		return todo, nil
	}
	ids, locks := make(map[domain.JobID]bool, len(todo)), make(map[string]bool)
	for _, n := range todo {
		id, lock := rows[n].Job.ID, rows[n].Lock
		if ids[id] || (lock != "" && locks[lock]) {
			later = append(later, n)
		} else {
			now = append(now, n)
		}
		ids[id] = true
		locks[lock] = true
	}
	return now, later
}

// rising is the common case: ids in their order, no keys.
func rising(rows []NewRow, todo []int) bool {
	for i, n := range todo {
		if rows[n].Lock != "" || (i > 0 && rows[todo[i-1]].Job.ID.Compare(rows[n].Job.ID) >= 0) {
			return false
		}
	}
	return true
}

// merge puts two rising lists into one.
func merge(a, b []int) []int {
	if len(a) == 0 {
		return b
	}
	out := make([]int, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
