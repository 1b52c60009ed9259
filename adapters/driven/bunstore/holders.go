package bunstore

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// A row of an insert whose unique key is held either meets its holder or changes it.

type holderTexts struct {
	find, look          Stmt    // who has one of the ids or locks of $2; without a lock
	lock                [2]Stmt // the same, and has the holders of the locks to itself; in a host's transaction
	replace, reschedule Stmt    // give holders what $2 has
}

var (
	holderCols     = []Col{{"id", ColID}, {"lock", ColText}}
	rescheduleCols = []Col{{"id", ColID}, {"unique_lock", ColText}, {"after", ColInt}, {"at", ColInt}}
)

func newHolderTexts(d *Dialect) holderTexts {
	c := d.Marks.Compile
	return holderTexts{
		find: c(HoldersText(d, Current)), look: c(HoldersText(d, NoLock)),
		lock:    [2]Stmt{c(LockHoldersText(d, false)), c(LockHoldersText(d, true))},
		replace: c(ReplaceText(d)), reschedule: c(RescheduleText(d)),
	}
}

// HoldersText answers (id, lock, state, turn) of the rows that have one of the ids or
// locks of $2: two reads, so that each goes by its index.
func HoldersText(d *Dialect, lock Lock) string {
	return meetText(d, "", "j.id = o.id", lock) + " UNION ALL " + meetText(d, "unique", "j.unique_lock = o.lock", lock)
}

func meetText(d *Dialect, index, where string, lock Lock) string {
	state := "j.state"
	if index == "" {
		state = "-1" // it does not hold what the row wants
	}
	return d.Forms.Select(Select{
		Columns: "j.id, j.unique_lock, " + state + ", j.turn", From: d.Table("jobs"), Join: d.Words.Rows("$2", holderCols), Where: where,
		Lock: lock, Index: index,
	})
}

// LockHoldersText is HoldersText that has those holders to itself that wait. They are
// found by their locks first and then locked by their ids, in the order of these: so
// do all who lock several rows, and a settle that has the row wants its lock next. The
// limit keeps the two apart.
func LockHoldersText(d *Dialect, host bool) string {
	now := NoLock
	if host {
		now = Current // its own looks may see an older moment
	}
	table := d.Table("jobs")
	look := d.Forms.Select(Select{
		Columns: "j.id, j.unique_lock AS held", From: table, Join: d.Words.Rows("$2", holderCols), Where: "j.unique_lock = o.lock AND j.state + 0 < 3",
		Order: "j.id", Limit: "100000", Lock: now, Index: "unique",
	})
	locked := d.Forms.Select(Select{
		Columns: "j.id, j.unique_lock, j.state, j.turn", From: table, Join: "(" + look + ")", Where: "j.id = o.id AND j.unique_lock = o.held", Lock: Wait,
	})
	others := meetText(d, "unique", "j.unique_lock = o.lock AND j.state + 0 > 2", now)
	return d.Words.member(locked) + " UNION ALL " + d.Words.member(others) + " UNION ALL " + d.Words.member(meetText(d, "", "j.id = o.id", now))
}

// kept are the columns of a new row that a holder keeps as they are.
var kept = []string{"id", "created_at", "tenant", "unique_key", "unique_lock", "turn", "on_dead", "batch_id"}

// stillWaits guards the change of a holder, which was seen to wait.
const stillWaits = "j.id = o.id AND j.unique_lock = o.unique_lock AND j.state + 0 < 3"

// ReplaceText makes each waiting holder the new job of $2, a row source of InsertCols
// that has the holder's id.
func ReplaceText(d *Dialect) string {
	set := slices.DeleteFunc(InsertSet(d.Words.Now, false), func(a Assign) bool { return slices.Contains(kept, a.Col) })
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", InsertCols), Where: stillWaits,
		Set: append(set, Assign{"attempts", "0"}, Assign{"stalls", "0"}, Assign{"blocked_on", "NULL"}),
	})
}

// RescheduleText makes each waiting holder due as $2 says.
func RescheduleText(d *Dialect) string {
	due := []string{"state", "run_at", "due_at", "wake_at"}
	set := slices.DeleteFunc(InsertSet(d.Words.Now, true), func(a Assign) bool { return !slices.Contains(due, a.Col) })
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", rescheduleCols), Where: stillWaits, Set: append(set, Assign{"blocked_on", "NULL"}),
	})
}

// holder is the row that holds a lock.
type holder struct {
	id    domain.JobID
	state domain.State
	turn  domain.Turn
}

// holders are the rows that new ones meet.
type holders struct {
	ids   map[domain.JobID]bool // of new rows that are there, and of those of locks
	locks map[string]holder
}

// holders finds who has the ids or locks of the rows.
func (s *Store) holders(ctx context.Context, c Conn, look []NewRow, st Stmt) (holders, error) {
	found, cell := holders{map[domain.JobID]bool{}, map[string]holder{}}, newCells(4)
	for _, part := range chunks(look, s.d.Chunk, func(r *NewRow) int { return 50 + len(r.Lock) }) {
		var a Array
		for _, r := range part {
			a.Row().ID(r.Job.ID).Maybe(r.Lock)
		}
		err := s.each(ctx, c, st, []any{nil, a.String()}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			h := holder{id: cell.id(0), turn: domain.Turn(cell.int(3))}
			found.ids[h.id] = true
			if state := cell.int(2); state >= 0 {
				h.state = domain.State(state)
				found.locks[cell.text(1)] = h
			}
			return err
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// meet answers the rows whose id or key is held, notes the holders that are to be
// changed, and gives the other rows. Before the first write it looks for keys alone.
func (in *insertion) meet(ctx context.Context, todo []int, ids bool, to moves) (again []int, err error) {
	st := in.s.t.holders.find
	switch {
	case in.over && in.strict:
		st = in.s.t.holders.lock[bit(in.host)]
	case in.over:
		st = in.s.t.holders.look // who runs is not waited for
	}
	var look []NewRow
	for _, n := range todo {
		if ids || in.rows[n].Lock != "" {
			look = append(look, in.rows[n])
		}
	}
	found, err := in.s.holders(ctx, in.c, look, st)
	if err != nil {
		return nil, err
	}
	first := map[domain.JobID]bool{}
	for _, n := range todo {
		row := &in.rows[n]
		if first[row.Job.ID] || !found.has(row) {
			// An earlier row of its id decides before it.
			again, first[row.Job.ID], row.Looked = append(again, n), true, !in.host
			continue
		}
		if in.res[n], err = found.answer(row, n, to); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// has says whether the row's id or lock is held.
func (h *holders) has(row *NewRow) bool {
	_, held := h.locks[row.Lock]
	return held || h.ids[row.Job.ID]
}

// answer says what becomes of a row that is held, and notes what becomes of its holder.
func (h *holders) answer(row *NewRow, n int, to moves) (driven.Inserted, error) {
	if h.ids[row.Job.ID] {
		return driven.Inserted{ID: row.Job.ID, Result: domain.Existing}, nil
	}
	switch by := h.locks[row.Lock]; {
	case row.Job.Unique.OnConflict == domain.Error:
		return driven.Inserted{}, &domain.Fault{Code: domain.Conflict, Op: "insert", Subject: by.id.String(), Hint: "this job holds the unique key until it is done, dead or cancelled"}
	case row.overwrites() && by.state.Pending():
		return driven.Inserted{ID: by.id, Result: to.add(by, n, row)}, nil
	default:
		return driven.Inserted{ID: by.id, Result: domain.Existing}, nil
	}
}

// move is what becomes of a holder.
type move struct {
	NewRow      // under the holder's id, with its lock
	whole  bool // all of it, and not the due time alone
	turn   domain.Turn
	rows   []int // that are answered with it
}

type moves map[domain.JobID]*move

// add has a holder follow one more row: the last word counts.
func (m moves) add(h holder, n int, row *NewRow) domain.Inserted {
	to := m[h.id]
	if to == nil {
		to = &move{turn: h.turn}
		to.Lock = row.Lock
		m[h.id] = to
	}
	to.rows = append(to.rows, n)
	job, answer := *row.Job, domain.Rescheduled
	if job.Unique.OnConflict == domain.Replace {
		to.whole, answer = true, domain.Replaced
	} else if to.Job != nil {
		job = *to.Job
		job.Due = row.Job.Due
	}
	job.ID = h.id
	to.Job = &job
	return answer
}

// rowsOf gives the rows that are answered with the holders.
func (m moves) rowsOf() (rows []int) {
	for _, to := range m {
		rows = append(rows, to.rows...)
	}
	slices.Sort(rows)
	return rows
}

// move changes the holders, and their turns with them. Where one waits no more it
// gives all their rows back, to be judged by holders that stay as they are.
func (in *insertion) move(ctx context.Context, all moves) (again []int, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	var whole, due []NewRow
	var turns []domain.JobID
	for _, id := range slices.SortedFunc(maps.Keys(all), domain.JobID.Compare) {
		m := all[id]
		if m.whole {
			whole = append(whole, m.NewRow)
		} else {
			due = append(due, m.NewRow)
		}
		if m.turn != domain.NoTurn {
			turns = append(turns, id)
		}
	}
	n, err := in.overwrite(ctx, whole, due)
	if err != nil {
		return nil, err
	}
	if n < len(all) && !in.strict {
		in.strict = true
		return all.rowsOf(), nil
	}
	keys, err := in.s.turnKeys(ctx, in.c, turns)
	if err != nil {
		return nil, err
	}
	for _, id := range turns {
		for _, n := range all[id].rows {
			in.res[n].Keys = slices.Clone(keys[id])
		}
	}
	return nil, in.s.follow(ctx, in.c, turns)
}

// overwrite says how many of the holders it changed.
func (in *insertion) overwrite(ctx context.Context, whole, due []NewRow) (total int, err error) {
	write := func(st Stmt, parts [][]NewRow, row func(*Array, *NewRow)) error {
		for _, part := range parts {
			var a Array
			for i := range part {
				row(&a, &part[i])
			}
			n, err := in.s.exec(ctx, in.c, st, in.s.now(), a.String())
			if total += n; err != nil {
				return err
			}
		}
		return nil
	}
	t := &in.s.t.holders
	if err := write(t.replace, in.s.d.Chunk.Chunks(whole), func(a *Array, r *NewRow) { r.Append(a, false) }); err != nil {
		return 0, err
	}
	small := func(r *NewRow) int { return 80 + len(r.Lock) }
	err = write(t.reschedule, chunks(due, in.s.d.Chunk, small), func(a *Array, r *NewRow) {
		a.Row().ID(r.Job.ID).Text(r.Lock).Int(MS(r.Job.Due.After)).Int(dueAt(r.Job.Due))
	})
	return total, err
}
