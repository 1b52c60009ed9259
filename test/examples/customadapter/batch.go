package customadapter

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// joinable says whether the job may become a member of the batch that it names.
func (t *tx) joinable(n *domain.NewJob) error {
	if n.Batch.IsZero() {
		return nil
	}
	b, ok := t.batches[n.Batch]
	switch {
	case !ok || b.Tenant != "" && b.Tenant != n.Tenant:
		return noBatch(opInsert, n.Batch)
	case !b.SealedAt.IsZero():
		return &domain.Fault{Code: domain.Conflict, Op: opInsert, Subject: n.Batch.String(), Hint: "this batch is sealed"}
	}
	return nil
}

func noBatch(op string, id domain.BatchID) error {
	return &domain.Fault{Code: domain.NotFound, Op: op, Subject: id.String(), Hint: "there is no such batch"}
}

// batch finds one; another tenant's is as good as none.
func (t *tx) batch(op string, id domain.BatchID, tenant string) (domain.Batch, error) {
	b, ok := t.batches[id]
	if !ok || tenant != "" && b.Tenant != tenant {
		return b, noBatch(op, id)
	}
	return b, nil
}

// members counts the jobs of a batch, those that are done and those that wait or run.
func (t *tx) members(id domain.BatchID) (all, done, pending int64) {
	for _, r := range t.jobs {
		if r.Batch != id {
			continue
		}
		all++
		if r.State == domain.Done {
			done++
		}
		if !r.State.Terminal() {
			pending++
		}
	}
	return all, done, pending
}

func copyBatch(b domain.Batch) domain.Batch {
	if b.Callback != nil {
		own := copyTemplate(*b.Callback)
		b.Callback = &own
	}
	return b
}

func (s *store) CreateBatch(ctx context.Context, n domain.NewBatch) error {
	const op = "create batch"
	return s.do(ctx, op, func(t *tx) error {
		if _, taken := t.batches[n.ID]; taken {
			return &domain.Fault{Code: domain.Conflict, Op: op, Subject: n.ID.String(), Hint: "there is a batch of this id"}
		}
		t.putBatch(copyBatch(domain.Batch{
			ID: n.ID, Name: n.Name, Tenant: n.Tenant, Callback: n.Callback, CreatedAt: t.now, Keep: cmp.Or(n.Keep, domain.DefaultBatchKeep),
		}), false)
		return nil
	})
}

func (s *store) SealBatch(ctx context.Context, id domain.BatchID, tenant string) (answer domain.Sealed, err error) {
	const op = "seal batch"
	err = s.do(ctx, op, func(t *tx) error {
		b, err := t.batch(op, id, tenant)
		if err != nil {
			return err
		}
		if answer.Again = !b.SealedAt.IsZero(); !answer.Again {
			b.SealedAt = t.now
			b.Total, _, _ = t.members(id)
			t.putBatch(b, false)
		}
		answer.Total = b.Total
		return nil
	})
	return answer, err
}

// FinishBatches looks at the members: nobody has counted them on the way.
func (s *store) FinishBatches(ctx context.Context, ids []domain.BatchID) (all []driven.Finished, err error) {
	err = s.do(ctx, "finish batches", func(t *tx) error {
		for _, id := range ids {
			b, ok := t.batches[id]
			_, done, pending := t.members(id)
			if !ok || b.State() != domain.BatchSealed || pending > 0 {
				continue
			}
			b.Done, b.FinishedAt = done, t.now
			answer := driven.Finished{}
			job, err := b.Finish()
			if answer.Refused = err != nil || job != nil && !t.addOwn(job); job != nil && !answer.Refused {
				b.CallbackJob, answer.Queue = job.ID, job.Queue
			}
			t.putBatch(b, false)
			answer.Batch = copyBatch(b)
			all = append(all, answer)
		}
		return nil
	})
	return all, err
}

func (s *store) OpenBatches(ctx context.Context, after domain.BatchID, limit int) (ids []domain.BatchID, err error) {
	err = s.do(ctx, "list open batches", func(t *tx) error {
		for _, id := range slices.SortedFunc(maps.Keys(t.batches), domain.BatchID.Compare) {
			if b := t.batches[id]; len(ids) < limit && id.Compare(after) > 0 && b.State() == domain.BatchSealed {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, err
}

func (s *store) ForgetBatch(ctx context.Context, id domain.BatchID, tenant string) error {
	const op = "forget batch"
	return s.do(ctx, op, func(t *tx) error {
		b, err := t.batch(op, id, tenant)
		if err == nil {
			t.putBatch(b, true)
		}
		return err
	})
}

func (s *store) Batch(ctx context.Context, id domain.BatchID, tenant string) (found domain.Batch, err error) {
	const op = "get batch"
	err = s.do(ctx, op, func(t *tx) error {
		b, err := t.batch(op, id, tenant)
		if found = copyBatch(b); b.FinishedAt.IsZero() {
			_, _, found.Pending = t.members(id)
		}
		return err
	})
	return found, err
}

func (s *store) ListBatches(ctx context.Context, f domain.BatchFilter, p domain.BatchPage) (all []domain.Batch, err error) {
	err = s.do(ctx, "list batches", func(t *tx) error {
		size := cmp.Or(p.Size, domain.DefaultPage)
		for _, id := range slices.SortedFunc(maps.Keys(t.batches), func(a, b domain.BatchID) int { return b.Compare(a) }) {
			b := t.batches[id]
			if len(all) < size && (p.Before.IsZero() || id.Compare(p.Before) < 0) && (f.Tenant == "" || b.Tenant == f.Tenant) &&
				(f.State == domain.AnyBatch || b.State() == f.State) {
				all = append(all, copyBatch(b))
			}
		}
		return nil
	})
	return all, err
}

// PruneBatches passes those over that are kept: they need not be put off.
func (s *store) PruneBatches(ctx context.Context, r driven.PruneRequest) (answer driven.Pruned, err error) {
	err = s.do(ctx, "prune batches", func(t *tx) error {
		for _, b := range t.batches {
			over := !b.FinishedAt.IsZero() && b.Keep >= 0 && !cut(b.FinishedAt.Add(b.Keep)).After(t.now)
			switch callback, there := t.jobs[b.CallbackJob]; {
			case !over || r.Tenant != "" && b.Tenant != r.Tenant:
			case there && !callback.State.Terminal():
			case answer.Removed == r.Limit:
				answer.More = true
			default:
				t.putBatch(b, true)
				answer.Removed++
			}
		}
		return nil
	})
	return answer, err
}
