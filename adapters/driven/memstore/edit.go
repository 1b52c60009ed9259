package memstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// edit answers for each id on its own.
func (s *store) edit(ctx context.Context, op string, req driven.EditRequest, one func(r *row, now time.Time) error) (answers []domain.Edited, err error) {
	err = s.do(ctx, op, func(now time.Time) error {
		given := make(map[domain.JobID]domain.Edited, len(req.IDs))
		for _, id := range req.IDs {
			if _, twice := given[id]; !twice {
				given[id] = s.editOne(op, id, req, now, one)
			}
			answers = append(answers, given[id])
		}
		return nil
	})
	return answers, err
}

func (s *store) editOne(op string, id domain.JobID, req driven.EditRequest, now time.Time, one func(r *row, now time.Time) error) domain.Edited {
	answer := domain.Edited{ID: id}
	r := s.find(id, req.Tenant)
	switch {
	case r == nil:
		answer.Err = notFound(op, id)
	case len(req.States) > 0 && !slices.Contains(req.States, r.State):
		answer.Err = refused(op, r)
	default:
		was := r.State
		if answer.Err = one(r, now); answer.Err == nil {
			answer.Keys = clone(r.keys)
			if gone := s.rows[id] == nil; (gone || r.State.Terminal()) && !was.Terminal() {
				answer.Batch = r.Batch
			}
		}
	}
	return answer
}

func (s *store) Retry(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	const op = "retry"
	return s.edit(ctx, op, req, func(r *row, now time.Time) error {
		if !domain.CanMove(domain.ActRetry, r.State, domain.Ready) {
			return refused(op, r)
		}
		if r.Forgotten {
			return conflict(op, r, "its args were forgotten when it was done")
		}
		if err := s.relock(op, r); err != nil {
			return err
		}
		s.change(r, func() {
			r.Attempts, r.Stalls, r.Result, r.FinishedAt, r.expires = 0, 0, nil, time.Time{}, time.Time{}
			r.loose = false
			r.wait(req.Due, now)
		})
		return nil
	})
}

// relock takes the row's unique key again, or says who has it.
func (s *store) relock(op string, r *row) error {
	if r.lock == "" {
		return nil
	}
	switch holder := s.locks[r.lock]; {
	case holder == nil:
		s.locks[r.lock] = r
	case holder.tx != nil:
		return undecided(op, r.ID)
	case holder != r:
		return conflict(op, r, "its unique key is held by job "+holder.ID.String())
	}
	return nil
}

func (s *store) Cancel(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	const op = "cancel"
	return s.edit(ctx, op, req, func(r *row, now time.Time) error {
		if r.State == domain.Cancelled {
			return nil
		}
		if !domain.CanMove(domain.ActCancel, r.State, domain.Cancelled) {
			return refused(op, r)
		}
		keep := r.Keep.For(domain.Cancelled, domain.Retention{Cancelled: req.Keep})
		s.change(r, func() { s.finish(r, domain.Cancelled, now, keep) })
		return nil
	})
}

func (s *store) Delete(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	const op = "delete"
	return s.edit(ctx, op, req, func(r *row, _ time.Time) error {
		if r.State == domain.Running {
			return refused(op, r)
		}
		s.remove(r)
		return nil
	})
}

func (s *store) Reschedule(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	const op = "reschedule"
	return s.edit(ctx, op, req, func(r *row, now time.Time) error {
		if !domain.CanMove(domain.ActReschedule, r.State, domain.Scheduled) {
			return refused(op, r)
		}
		s.change(r, func() {
			r.wait(req.Due, now)
			r.due = r.RunAt
		})
		return nil
	})
}

func notFound(op string, id domain.JobID) error {
	return &domain.Fault{Code: domain.NotFound, Op: op, Subject: id.String(), Hint: "there is no such job"}
}

// refused says that the job's state forbids it.
func refused(op string, r *row) error {
	hint := fmt.Sprintf("the job is %v", r.State)
	if r.State == domain.Running {
		hint = fmt.Sprintf("runner %q is working on it", r.Runner)
	}
	return conflict(op, r, hint)
}

func conflict(op string, r *row, hint string) error {
	return &domain.Fault{Code: domain.Conflict, Op: op, Subject: r.ID.String(), Hint: hint}
}
