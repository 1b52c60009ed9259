package bunstore

import (
	"context"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/domain"
)

// pendingMost is how many members are counted of a batch that is looked up.
const pendingMost = 10_000

// distinctBatches are the ids in their order, each once: the order in which batches
// are locked.
func distinctBatches(ids []domain.BatchID) []domain.BatchID {
	return slices.Compact(slices.SortedFunc(slices.Values(ids), domain.BatchID.Compare))
}

// OpenBatches goes by the index of where batches stand.
func (s *Store) OpenBatches(ctx context.Context, after domain.BatchID, limit int) (ids []domain.BatchID, err error) {
	err = s.read(ctx, "list open batches", func(ctx context.Context, c Conn) error {
		some, err := s.ids(ctx, c, s.t.batches.open, []any{nil, s.id(after), max(limit, 0)})
		ids = make([]domain.BatchID, len(some))
		for i, id := range some {
			ids[i] = domain.BatchID(id)
		}
		return err
	})
	return ids, err
}

// ForgetBatch waits for those who add to it; their jobs stay, as all others.
func (s *Store) ForgetBatch(ctx context.Context, id domain.BatchID, tenant string) error {
	const op = "forget batch"
	return s.write(ctx, op, func(ctx context.Context, c Conn) error {
		b, _, err := s.owned(ctx, c, id)
		if err != nil {
			return err
		}
		if b.ID.IsZero() || tenant != "" && b.Tenant != tenant {
			return noBatch(op, id)
		}
		_, err = s.exec(ctx, c, s.t.batches.remove, nil, batchRows([]domain.BatchID{id}))
		return err
	})
}

// Batch reads one and counts who it waits for.
func (s *Store) Batch(ctx context.Context, id domain.BatchID, tenant string) (found domain.Batch, err error) {
	const op = "get batch"
	err = s.read(ctx, op, func(ctx context.Context, c Conn) error {
		var p params
		p.add(nil)
		one := s.d.Forms.Select(Select{Columns: batchColumns, From: s.d.Table("batches"), Where: "j.id = " + p.add(s.id(id))})
		all, err := s.batches(ctx, c, s.d.Marks.Compile(one), p.values...)
		if err != nil {
			return err
		}
		if len(all) == 0 || tenant != "" && all[0].Tenant != tenant {
			return noBatch(op, id)
		}
		if found = all[0]; found.State() == domain.BatchFinished {
			return nil
		}
		return One(ctx, c, s.t.batches.pending, []any{nil, s.id(id), pendingMost}, &found.Pending)
	})
	if err != nil {
		return domain.Batch{}, err
	}
	return found, nil
}

// ListBatches reads one page.
func (s *Store) ListBatches(ctx context.Context, f domain.BatchFilter, p domain.BatchPage) (all []domain.Batch, err error) {
	var bound params
	bound.add(nil)
	where := []string{"1 = 1"}
	if !p.Before.IsZero() {
		where = append(where, "j.id < "+bound.add(s.id(p.Before)))
	}
	if f.Tenant != "" {
		where = append(where, "j.tenant = "+bound.add(f.Tenant), "j.tenant <> "+s.d.Words.empty())
	}
	stands := map[domain.BatchState]string{domain.BatchOpen: "0", domain.BatchSealed: standSealed, domain.BatchFinished: standFinished}
	if stand, ok := stands[f.State]; ok {
		where = append(where, "j.stand = "+stand)
	}
	size := p.Size
	if size <= 0 {
		size = domain.DefaultPage
	}
	page := s.d.Marks.Compile(s.d.Forms.Select(Select{
		Columns: batchColumns, From: s.d.Table("batches"), Where: strings.Join(where, " AND "),
		Order: "j.id DESC", Limit: bound.add(size), Lock: Past,
	}))
	err = s.read(ctx, "list batches", func(ctx context.Context, c Conn) (err error) {
		all, err = s.batches(ctx, c, page, bound.values...)
		return err
	})
	return all, err
}
