package mongostore

import (
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// batch is the rows of one Insert and what became of them so far.
type batch struct {
	rows   []row
	strict []bool       // a held key is a Conflict
	mine   map[key]bool // written by this call
	res    []driven.Inserted
}

// holders is who has what the rows of a batch want.
type holders struct {
	ids   map[key]bool
	locks map[string]key
}

func newBatch(jobs []domain.NewJob, now int64) *batch {
	b := &batch{rows: make([]row, len(jobs)), strict: make([]bool, len(jobs)), mine: map[key]bool{}, res: make([]driven.Inserted, len(jobs))}
	for i := range jobs {
		b.rows[i] = newRow(&jobs[i], now)
		b.strict[i] = jobs[i].Unique != nil && jobs[i].Unique.OnConflict == domain.Error
	}
	return b
}

// looksFirst says that some row may refuse the whole call.
func (b *batch) looksFirst() bool {
	for _, strict := range b.strict {
		if strict {
			return true
		}
	}
	return false
}

// judge answers the rows as if they came one at a time upon what the holders
// have, and gives the numbers of those that are to be written.
func (b *batch) judge(h holders) (fresh []int, err error) {
	ids, locks := make(map[key]bool, len(b.rows)), make(map[string]key)
	for i := range b.rows {
		r := &b.rows[i]
		holder, held := locks[r.UniqueLock]
		if !held {
			holder, held = h.locks[r.UniqueLock]
		}
		first := !ids[r.ID]
		switch {
		case first && b.mine[r.ID]:
			b.res[i] = driven.Inserted{ID: domain.JobID(r.ID)}
		case !first || h.ids[r.ID]:
			b.res[i] = driven.Inserted{ID: domain.JobID(r.ID), Result: domain.Existing}
			continue
		case r.UniqueLock != "" && held && b.strict[i]:
			return nil, &domain.Fault{Code: domain.Conflict, Op: "insert", Subject: domain.JobID(holder).String(), Hint: "this job holds the unique key until it is done, dead or cancelled"}
		case r.UniqueLock != "" && held:
			b.res[i] = driven.Inserted{ID: domain.JobID(holder), Result: domain.Existing}
			continue
		default:
			b.res[i] = driven.Inserted{ID: domain.JobID(r.ID)}
			fresh = append(fresh, i)
		}
		ids[r.ID] = true
		if r.UniqueLock != "" {
			locks[r.UniqueLock] = r.ID
		}
	}
	return fresh, nil
}
