package bunstore

import (
	"context"
	"errors"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// NewRow is a job to insert with the lock that its unique key takes, "" for none.
type NewRow struct {
	Job  *domain.NewJob
	Lock string
	// Looked says that the lock was free a moment ago, so that a dialect need not look
	// before it writes.
	Looked bool
}

func newRows(jobs []domain.NewJob) []NewRow {
	rows := make([]NewRow, len(jobs))
	for i := range jobs {
		rows[i].Job = &jobs[i]
		if u := jobs[i].Unique; u != nil {
			rows[i].Lock = u.Lock(jobs[i].Tenant)
		}
	}
	return rows
}

// overwrites says whether the row changes a waiting holder of its key.
func (r *NewRow) overwrites() bool { return r.Lock != "" && r.Job.Unique.OnConflict >= domain.Replace }

// alone says whether the row is one statement, and a look where it was refused.
func (r *NewRow) alone() bool {
	return r.Job.Turn == domain.NoTurn && r.Job.Batch.IsZero() && !r.overwrites()
}

// insertTries bounds how often a row is written again because the one that
// refused it was gone when it was looked for, and how often a call begins anew for that.
const insertTries = 3

// errVanished is such a row. Of several rows it is not the one alone that is written
// again, while the keys of the others are locked: keys are locked in their order.
var errVanished = &domain.Fault{Code: domain.Contended, Op: "insert", Hint: "the holder of a unique key keeps changing: try again"}

// Insert writes all rows in one transaction.
func (s *Store) Insert(ctx context.Context, jobs []domain.NewJob) (res []driven.Inserted, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	rows, run := newRows(jobs), s.write
	if len(rows) == 1 && rows[0].alone() {
		run = s.one
	}
	for range insertTries {
		err = run(ctx, "insert", func(ctx context.Context, c Conn) (err error) {
			res, err = s.place(ctx, &insertion{c: c, rows: newRows(jobs), anew: len(jobs) > 1})
			return err
		})
		if err == nil {
			return res, nil
		}
		if len(jobs) == 1 || !errors.Is(err, errVanished) {
			break
		}
	}
	return nil, err
}

// insertion is one call's rows on their way into a transaction.
type insertion struct {
	s    *Store
	c    Conn
	host bool // the transaction is the host's: a look may see an older moment
	anew bool // the call may begin anew
	over bool // some row changes who holds its key
	// strict says that holders are locked by the look for them, for some that were seen
	// to wait did so no more when they were to be changed.
	strict bool
	rows   []NewRow
	res    []driven.Inserted
	// refused are the rows that were written and found somebody in their place.
	refused map[int]bool
}

// insert writes new jobs in a transaction.
func (s *Store) insert(ctx context.Context, c Conn, rows []NewRow, host bool) ([]driven.Inserted, error) {
	return s.place(ctx, &insertion{c: c, rows: rows, host: host})
}

func (s *Store) place(ctx context.Context, in *insertion) ([]driven.Inserted, error) {
	if err := s.joinBatches(ctx, in.c, in.rows); err != nil {
		return nil, err
	}
	in.s, in.strict, in.res, in.refused = s, in.host, make([]driven.Inserted, len(in.rows)), map[int]bool{}
	for i := range in.rows {
		in.over = in.over || in.rows[i].overwrites()
	}
	if err := in.run(ctx); err != nil {
		return nil, err
	}
	return in.res, nil
}

// run writes the rows, looks who holds the ids and keys of those that were refused, and
// changes the holders that are to be changed: three statements. New keys first, then
// rows that are there, is the order of all who lock both, so that they seldom deadlock.
func (in *insertion) run(ctx context.Context) (err error) {
	todo := make([]int, len(in.rows))
	for i := range todo {
		todo[i] = i
	}
	for try := 0; len(todo) > 0; try++ {
		if try > insertTries+len(in.rows) {
			return errVanished
		}
		all := moves{}
		if try > 0 || in.over && in.s.d.LooksFirst && !in.host {
			if todo, err = in.meet(ctx, todo, try > 0, all); err != nil {
				return err
			}
			if in.anew && slices.ContainsFunc(todo, func(n int) bool { return in.refused[n] }) {
				return errVanished
			}
		}
		now, later := distinct(in.rows, todo)
		held, err := in.write(ctx, now)
		if err != nil {
			return err
		}
		again, err := in.move(ctx, all)
		if err != nil {
			return err
		}
		todo = merge(merge(held, later), again) // who shares with an earlier row of the call is held by now, as a rule
	}
	return nil
}

// write writes rows that share nothing, with their turns, and gives those that are held.
func (in *insertion) write(ctx context.Context, todo []int) (held []int, err error) {
	if len(todo) == 0 {
		return nil, nil
	}
	part := in.rows
	if len(todo) < len(in.rows) {
		part = make([]NewRow, len(todo))
		for i, n := range todo {
			part[i] = in.rows[n]
		}
	}
	fresh, err := in.s.d.Hot.Insert(ctx, in.c, in.s.now(), part)
	if err != nil {
		return nil, err
	}
	for i, n := range todo {
		if in.res[n] = (driven.Inserted{ID: in.rows[n].Job.ID}); !fresh[i] {
			held = append(held, n)
			in.refused[n] = true
		}
	}
	return held, in.s.insertTurns(ctx, in.c, part, fresh)
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
