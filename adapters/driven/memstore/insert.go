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
	before := tx.mark()
	answers := make([]driven.Inserted, len(jobs))
	for i := range jobs {
		answer, err := tx.insertOne(&jobs[i], now)
		if err != nil {
			tx.undo(before)
			return nil, err
		}
		answers[i] = answer
	}
	return answers, nil
}

// insertOne writes the row, or meets the row that holds its id or key.
func (tx *Tx) insertOne(n *domain.NewJob, now time.Time) (driven.Inserted, error) {
	s := tx.store
	if err := s.joinable(n); err != nil {
		return driven.Inserted{}, err
	}
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
		return driven.Inserted{ID: r.ID}, nil
	case holder.tx != nil && holder.tx != tx:
		return driven.Inserted{}, undecided(opInsert, n.ID)
	case keyed && n.Unique.OnConflict == domain.Error:
		return driven.Inserted{}, &domain.Fault{
			Code: domain.Conflict, Op: opInsert, Subject: holder.ID.String(),
			Hint: "this job holds the unique key until it is terminal",
		}
	case keyed && holder.State.Pending() && n.Unique.OnConflict >= domain.Replace:
		return tx.overwrite(holder, r, n.Unique.OnConflict), nil
	}
	return driven.Inserted{ID: holder.ID, Result: domain.Existing}, nil
}

// overwrite gives a waiting holder the due time of the new row, or all of it.
func (tx *Tx) overwrite(holder, r *row, how domain.OnConflict) driven.Inserted {
	answer := driven.Inserted{ID: holder.ID, Result: domain.Rescheduled, Keys: clone(holder.keys)}
	tx.take(holder)
	holder.State, holder.RunAt, holder.due, holder.BlockedOn = r.State, r.RunAt, r.RunAt, ""
	if how == domain.Replace {
		answer.Result = domain.Replaced
		holder.takeAll(r)
	}
	return answer
}

// takeAll takes what a replaced job has of the new one.
func (r *row) takeAll(n *row) {
	r.Kind, r.Queue, r.Priority, r.MaxAttempts, r.Timeout = n.Kind, n.Queue, n.Priority, n.MaxAttempts, n.Timeout
	r.Args, r.Tags, r.Meta, r.Keep, r.ForgetArgs = n.Args, n.Tags, n.Meta, n.Keep, n.ForgetArgs
	r.LimitKey, r.FailureKind, r.Attempts, r.Stalls = n.LimitKey, n.FailureKind, 0, 0
}

// undecided says that an open host transaction holds the id or key: whether it
// is taken is known when that ends, so the caller tries again.
func undecided(op string, id domain.JobID) error {
	return &domain.Fault{
		Code: domain.Contended, Op: op, Subject: id.String(),
		Hint: "an open transaction holds the id or unique key; try again when it has ended",
	}
}
