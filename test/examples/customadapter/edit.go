package customadapter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// edit asks one function about each job and writes what it changed unless it refused.
func (s *store) edit(ctx context.Context, op string, req driven.EditRequest, change func(*tx, *record) error) (answers []domain.Edited, err error) {
	err = s.do(ctx, op, func(t *tx) error {
		given := map[domain.JobID]domain.Edited{} // an id that is named twice has one answer
		for _, id := range req.IDs {
			if _, twice := given[id]; !twice {
				given[id] = t.edit(op, id, req, change)
			}
			answers = append(answers, given[id])
		}
		return nil
	})
	return answers, err
}

// edit names the keys at which the job takes turns, for another's turn may have come,
// and the batch that may be over.
func (t *tx) edit(op string, id domain.JobID, req driven.EditRequest, change func(*tx, *record) error) domain.Edited {
	r, err := t.get(op, id, req.Tenant)
	was := r.State
	switch {
	case err != nil:
	case len(req.States) > 0 && !slices.Contains(req.States, was):
		err = refused(op, &r)
	default:
		err = change(t, &r)
	}
	if err != nil {
		return domain.Edited{ID: id, Err: err}
	}
	t.put(r)
	answer := domain.Edited{ID: id, Keys: slices.Clone(r.Turns)}
	if !was.Terminal() && (r.Gone || r.State.Terminal()) {
		answer.Batch = r.Batch
	}
	return answer
}

func (s *store) Retry(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	const op = "retry"
	return s.edit(ctx, op, req, func(t *tx, r *record) error {
		if !domain.CanMove(domain.ActRetry, r.State, domain.Ready) {
			return refused(op, r)
		}
		if r.Forgotten {
			return conflict(op, r, "its args were forgotten when it was done")
		}
		if r.UniqueKey != "" {
			r.Lock = cmp.Or(r.Lock, domain.UniqueLock(r.Tenant, r.UniqueKey))
			if holder, ok := t.locks[r.Lock]; ok && holder != r.ID {
				return conflict(op, r, "its unique key is held by job "+holder.String())
			}
		}
		r.Attempts, r.Stalls, r.Result, r.FinishedAt, r.Expires, r.Loose = 0, 0, nil, time.Time{}, time.Time{}, false
		t.dueAt(r, req.Due)
		return nil
	})
}

func (s *store) Cancel(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	const op = "cancel"
	return s.edit(ctx, op, req, func(t *tx, r *record) error {
		if r.State == domain.Cancelled {
			return nil
		}
		if !domain.CanMove(domain.ActCancel, r.State, domain.Cancelled) {
			return refused(op, r)
		}
		t.end(r, domain.Cancelled, r.Keep.For(domain.Cancelled, domain.Retention{Cancelled: req.Keep}))
		return nil
	})
}

func (s *store) Delete(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	const op = "delete"
	return s.edit(ctx, op, req, func(_ *tx, r *record) error {
		if r.State == domain.Running {
			return refused(op, r)
		}
		r.Gone = true
		return nil
	})
}

func (s *store) Reschedule(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	const op = "reschedule"
	return s.edit(ctx, op, req, func(t *tx, r *record) error {
		if !domain.CanMove(domain.ActReschedule, r.State, domain.Scheduled) {
			return refused(op, r)
		}
		t.dueAt(r, req.Due)
		r.Due = r.RunAt
		return nil
	})
}

// get finds a job; another tenant's is as good as none.
func (t *tx) get(op string, id domain.JobID, tenant string) (record, error) {
	r, ok := t.jobs[id]
	if !ok || (tenant != "" && r.Tenant != tenant) {
		return record{}, &domain.Fault{Code: domain.NotFound, Op: op, Subject: id.String(), Hint: "there is no such job"}
	}
	return r, nil
}

// refused is the answer where the job's state forbids it.
func refused(op string, r *record) error {
	hint := fmt.Sprintf("it is %v", r.State)
	if r.State == domain.Running {
		hint = fmt.Sprintf("runner %q works on it", r.Runner)
	}
	return conflict(op, r, hint)
}

func conflict(op string, r *record, hint string) error {
	return &domain.Fault{Code: domain.Conflict, Op: op, Subject: r.ID.String(), Hint: hint}
}
