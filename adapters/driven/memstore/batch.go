package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// pendingMost is how many members are counted of a batch that is looked up.
const pendingMost = 10_000

// joinable says whether the job may become a member of the batch that it names.
func (s *store) joinable(n *domain.NewJob) error {
	if n.Batch.IsZero() {
		return nil
	}
	b := s.batches[n.Batch]
	switch {
	case b == nil || b.Tenant != "" && b.Tenant != n.Tenant:
		return noBatch(opInsert, n.Batch)
	case !b.SealedAt.IsZero():
		return &domain.Fault{
			Code: domain.Conflict, Op: opInsert, Subject: n.Batch.String(),
			Hint: "this batch is sealed: make another for more jobs",
		}
	}
	return nil
}

func noBatch(op string, id domain.BatchID) error {
	return &domain.Fault{Code: domain.NotFound, Op: op, Subject: id.String(), Hint: "there is no such batch"}
}

func (s *store) batch(op string, id domain.BatchID, tenant string) (*domain.Batch, error) {
	b := s.batches[id]
	if b == nil || tenant != "" && b.Tenant != tenant {
		return nil, noBatch(op, id)
	}
	return b, nil
}

// unfinished says whether a batch is there that still waits for its members.
func (s *store) unfinished(id domain.BatchID) bool {
	b := s.batches[id]
	return b != nil && b.FinishedAt.IsZero()
}

func (s *store) CreateBatch(ctx context.Context, n domain.NewBatch) error {
	const op = "create batch"
	return s.do(ctx, op, func(now time.Time) error {
		if s.batches[n.ID] != nil {
			return &domain.Fault{Code: domain.Conflict, Op: op, Subject: n.ID.String(), Hint: "there is a batch of this id"}
		}
		keep := n.Keep
		if keep == 0 {
			keep = domain.DefaultBatchKeep
		}
		s.batches[n.ID] = &domain.Batch{ID: n.ID, Name: n.Name, Tenant: n.Tenant, Callback: copyCallback(n.Callback), CreatedAt: now, Keep: keep}
		return nil
	})
}

// copyBatch gives a batch out, so that no caller shares memory with the store.
func copyBatch(b *domain.Batch) domain.Batch {
	given := *b
	given.Callback = copyCallback(b.Callback)
	return given
}

func copyCallback(t *domain.Template) *domain.Template {
	if t == nil {
		return nil
	}
	own := copyTemplate(*t)
	return &own
}

func copyTemplate(t domain.Template) domain.Template {
	t.Args, t.Tags, t.Meta = clone(t.Args), clone(t.Tags), clone(t.Meta)
	return t
}

// SealBatch meets an open host transaction that adds to the batch as contention: how
// many members there are is known when that ends.
func (s *store) SealBatch(ctx context.Context, id domain.BatchID, tenant string) (answer domain.Sealed, err error) {
	const op = "seal batch"
	err = s.do(ctx, op, func(now time.Time) error {
		b, err := s.batch(op, id, tenant)
		if err != nil {
			return err
		}
		if !b.SealedAt.IsZero() {
			answer = domain.Sealed{Total: b.Total, Again: true}
			return nil
		}
		for _, r := range s.rows {
			switch {
			case r.Batch != id:
			case r.tx != nil:
				return &domain.Fault{Code: domain.Contended, Op: op, Subject: id.String(), Hint: "an open transaction adds to the batch; try again when it has ended"}
			default:
				answer.Total++
			}
		}
		b.SealedAt, b.Total = now, answer.Total
		return nil
	})
	return answer, err
}

func (s *store) FinishBatches(ctx context.Context, ids []domain.BatchID) (all []driven.Finished, err error) {
	err = s.do(ctx, "finish batches", func(now time.Time) error {
		for _, id := range ids {
			if done, ok := s.finishBatch(s.batches[id], now); ok {
				all = append(all, done)
			}
		}
		return nil
	})
	return all, err
}

func (s *store) finishBatch(b *domain.Batch, now time.Time) (driven.Finished, bool) {
	if b == nil || b.State() != domain.BatchSealed {
		return driven.Finished{}, false
	}
	done := int64(0)
	for _, r := range s.rows {
		switch {
		case r.Batch != b.ID:
		case !r.State.Terminal():
			return driven.Finished{}, false
		case r.State == domain.Done:
			done++
		}
	}
	b.Done, b.FinishedAt = done, now
	answer := driven.Finished{}
	if job, err := b.Finish(); err != nil {
		answer.Refused = true
	} else if job != nil {
		if answer.Refused = !s.addOwn(job, now); !answer.Refused {
			b.CallbackJob, answer.Queue = job.ID, job.Queue
		}
	}
	answer.Batch = copyBatch(b)
	return answer, true
}

func (s *store) OpenBatches(ctx context.Context, after domain.BatchID, limit int) (ids []domain.BatchID, err error) {
	err = s.do(ctx, "list open batches", func(time.Time) error {
		for id, b := range s.batches {
			if b.State() == domain.BatchSealed && id.Compare(after) > 0 {
				ids = append(ids, id)
			}
		}
		slices.SortFunc(ids, domain.BatchID.Compare)
		ids = ids[:min(max(limit, 0), len(ids))]
		return nil
	})
	return ids, err
}

func (s *store) ForgetBatch(ctx context.Context, id domain.BatchID, tenant string) error {
	const op = "forget batch"
	return s.do(ctx, op, func(time.Time) error {
		if _, err := s.batch(op, id, tenant); err != nil {
			return err
		}
		delete(s.batches, id)
		return nil
	})
}

func (s *store) Batch(ctx context.Context, id domain.BatchID, tenant string) (found domain.Batch, err error) {
	const op = "get batch"
	err = s.do(ctx, op, func(time.Time) error {
		b, err := s.batch(op, id, tenant)
		if err != nil {
			return err
		}
		found = copyBatch(b)
		for _, r := range s.rows {
			if r.Batch == id && r.tx == nil && !r.State.Terminal() && found.FinishedAt.IsZero() && found.Pending < pendingMost {
				found.Pending++
			}
		}
		return nil
	})
	return found, err
}

func (s *store) ListBatches(ctx context.Context, f domain.BatchFilter, p domain.BatchPage) (all []domain.Batch, err error) {
	err = s.do(ctx, "list batches", func(time.Time) error {
		for id, b := range s.batches {
			if (p.Before.IsZero() || id.Compare(p.Before) < 0) && (f.Tenant == "" || b.Tenant == f.Tenant) &&
				(f.State == domain.AnyBatch || b.State() == f.State) {
				all = append(all, copyBatch(b))
			}
		}
		slices.SortFunc(all, func(a, b domain.Batch) int { return b.ID.Compare(a.ID) })
		size := p.Size
		if size <= 0 {
			size = domain.DefaultPage
		}
		all = all[:min(size, len(all))]
		return nil
	})
	return all, err
}
