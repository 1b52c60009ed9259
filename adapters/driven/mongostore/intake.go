package mongostore

import (
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// intake is the rows of one Insert and what became of them so far.
type intake struct {
	jobs  []domain.NewJob
	rows  []row
	mine  map[key]bool // written by this call
	moved map[key]bool // holders that this call has changed
	res   []driven.Inserted
	over  map[int]*row // what rows became by later ones, before they were written
	moves []*move      // holders to change
}

// holders is who has what the rows of an intake want.
type holders struct {
	ids   map[key]bool
	locks map[string]*row
}

func newIntake(jobs []domain.NewJob, now int64) *intake {
	in := &intake{jobs: jobs, rows: make([]row, len(jobs)), res: make([]driven.Inserted, len(jobs))}
	for i := range jobs {
		in.rows[i] = newRow(&jobs[i], now)
	}
	in.forget()
	return in
}

// forget begins anew: nothing of the call is there.
func (in *intake) forget() { in.mine, in.moved = map[key]bool{}, map[key]bool{} }

// policy is what the i-th row does where its key is held.
func (in *intake) policy(i int) domain.OnConflict {
	if u := in.jobs[i].Unique; u != nil {
		return u.OnConflict
	}
	return domain.Skip
}

// looksFirst says that what some row does hangs on who holds its key.
func (in *intake) looksFirst() bool {
	for i := range in.jobs {
		if in.policy(i) != domain.Skip {
			return true
		}
	}
	return false
}

// doc is the row as it is to be written.
func (in *intake) doc(i int) *row {
	if r := in.over[i]; r != nil {
		return r
	}
	return &in.rows[i]
}

// judge answers the rows as if they came one at a time upon what the holders
// have, gives the numbers of those that are to be written, and lists the holders
// that are to be changed.
func (in *intake) judge(h holders) (fresh []int, err error) {
	ids, locks := make(map[key]bool, len(in.rows)), make(map[string]int)
	in.over, in.moves = map[int]*row{}, nil
	for i := range in.rows {
		r := &in.rows[i]
		lock, first := r.lock(), !ids[r.ID]
		earlier, held := locks[lock]
		switch {
		case first && in.mine[r.ID]:
			in.res[i] = driven.Inserted{ID: domain.JobID(r.ID)}
		case !first || h.ids[r.ID]:
			in.res[i] = driven.Inserted{ID: domain.JobID(r.ID), Result: domain.Existing}
			continue
		case lock != "" && held:
			err = in.meetOwn(i, earlier)
		case lock != "" && h.locks[lock] != nil:
			err = in.meet(i, h.locks[lock])
			held = true
		default:
			in.res[i] = driven.Inserted{ID: domain.JobID(r.ID)}
			fresh = append(fresh, i)
		}
		if err != nil {
			return nil, err
		}
		if held {
			continue
		}
		ids[r.ID] = true
		if lock != "" {
			locks[lock] = i
		}
	}
	return fresh, nil
}

// meetOwn is a row whose key an earlier one of the call has. That one is changed
// before it is written, unless it was already: then it was written so.
func (in *intake) meetOwn(i, earlier int) error {
	how, holder := in.policy(i), in.doc(earlier)
	if how == domain.Error {
		return heldBy(holder.ID)
	}
	in.answer(i, holder)
	if how >= domain.Replace && !in.mine[holder.ID] {
		changed := *holder
		changed.take(&in.rows[i], how)
		in.over[earlier] = &changed
	}
	return nil
}

// meet is a row whose key a document has. One that waits is changed once for all
// rows that meet it.
func (in *intake) meet(i int, holder *row) error {
	how := in.policy(i)
	switch {
	case how == domain.Error:
		return heldBy(holder.ID)
	case how == domain.Skip || !holder.State.Pending() && !in.moved[holder.ID]:
		in.res[i] = driven.Inserted{ID: domain.JobID(holder.ID), Result: domain.Existing}
		return nil
	}
	in.answer(i, holder)
	if in.moved[holder.ID] {
		return nil
	}
	for _, m := range in.moves {
		if m.holder.ID == holder.ID {
			m.rows = append(m.rows, i)
			return nil
		}
	}
	in.moves = append(in.moves, &move{holder: holder, rows: []int{i}})
	return nil
}

// answer says what the i-th row does to a holder that waits.
func (in *intake) answer(i int, holder *row) {
	in.res[i] = driven.Inserted{ID: domain.JobID(holder.ID), Result: domain.Existing}
	switch in.policy(i) {
	case domain.Replace:
		in.res[i].Result, in.res[i].Keys = domain.Replaced, holder.Keys
	case domain.Reschedule:
		in.res[i].Result, in.res[i].Keys = domain.Rescheduled, holder.Keys
	default:
	}
}

func heldBy(holder key) error {
	return &domain.Fault{Code: domain.Conflict, Op: "insert", Subject: domain.JobID(holder).String(), Hint: "this job holds the unique key"}
}
