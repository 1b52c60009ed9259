package memstore

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const opInsert = "insert"

// Insert is a host transaction of one call.
func (s *store) Insert(ctx context.Context, jobs []domain.NewJob) (answers []driven.Inserted, err error) {
	err = s.do(ctx, opInsert, func(now time.Time) error {
		tx := &Tx{store: s}
		if answers, err = tx.insert(jobs, now); err == nil {
			tx.publish()
		}
		return err
	})
	return answers, err
}

// insert writes all rows into the transaction or none.
func (tx *Tx) insert(jobs []domain.NewJob, now time.Time) ([]driven.Inserted, error) {
	before := len(tx.rows)
	answers := make([]driven.Inserted, len(jobs))
	for i := range jobs {
		holder, err := tx.insertOne(&jobs[i], now)
		if err != nil {
			tx.undo(before)
			return nil, err
		}
		answers[i] = driven.Inserted{ID: jobs[i].ID}
		if holder != nil {
			answers[i] = driven.Inserted{ID: holder.ID, Result: domain.Existing}
		}
	}
	return answers, nil
}

// insertOne writes the row, or answers with the row that holds its id or key.
func (tx *Tx) insertOne(n *domain.NewJob, now time.Time) (holder *row, err error) {
	s := tx.store
	r := newRow(n, now, tx)
	holder, keyed := s.rows[r.ID], false
	if holder == nil && r.lock != "" {
		holder = s.locks[r.lock]
		keyed = holder != nil
	}
	switch {
	case holder == nil:
		s.rows[r.ID] = r
		if r.lock != "" {
			s.locks[r.lock] = r
		}
		tx.rows = append(tx.rows, r)
		return nil, nil
	case holder.tx != nil && holder.tx != tx:
		return nil, undecided(opInsert, n.ID)
	case keyed && n.Unique.OnConflict == domain.Error:
		return nil, &domain.Fault{
			Code: domain.Conflict, Op: opInsert, Subject: holder.ID.String(),
			Hint: "this job holds the unique key until it is terminal",
		}
	}
	return holder, nil
}

// undecided says that an open host transaction holds the id or key: whether it
// is taken is known when that ends, so the caller tries again.
func undecided(op string, id domain.JobID) error {
	return &domain.Fault{
		Code: domain.Contended, Op: op, Subject: id.String(),
		Hint: "an open transaction holds the id or unique key; try again when it has ended",
	}
}
