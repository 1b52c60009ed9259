package bunstore

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func noBatch(op string, id domain.BatchID) error {
	return &domain.Fault{Code: domain.NotFound, Op: op, Subject: id.String(), Hint: "there is no such batch"}
}

// id is an id as a bound value.
func (s *Store) id(id [16]byte) any {
	if s.d.ID != nil {
		return s.d.ID(id)
	}
	return id[:]
}

func (s *Store) batchParts(ids []domain.BatchID) [][]domain.BatchID {
	return chunks(distinctBatches(ids), s.d.Chunk, func(*domain.BatchID) int { return 40 })
}

func batchRows(ids []domain.BatchID) string {
	var a Array
	for _, id := range ids {
		a.Row().ID(id)
	}
	return a.String()
}

// batch reads a row of batchColumns. The callback's template is the text beside it.
func (c *cells) batch() (b domain.Batch, callback string) {
	return domain.Batch{
		ID: c.id(0), Tenant: c.text(1), Name: c.text(2), CreatedAt: fromMoment(c.int(4)), SealedAt: fromMoment(c.int(5)),
		FinishedAt: fromMoment(c.int(6)), Total: c.int(7), Done: c.int(8), CallbackJob: c.id(9), Keep: keepSpan(c.int(10)),
	}, c.text(3)
}

// parse gives a batch its callback. A text that somebody broke leaves it without one.
func parse(b *domain.Batch, callback string) error {
	if callback == "" {
		return nil
	}
	t, err := domain.ParseTemplate(callback)
	if err == nil {
		b.Callback = &t
	}
	return err
}

// batches runs a query of batchColumns.
func (s *Store) batches(ctx context.Context, c Conn, st Stmt, values ...any) (all []domain.Batch, err error) {
	cell := newCells(11)
	err = s.each(ctx, c, st, values, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		b, callback := cell.batch()
		_ = parse(&b, callback) // the list shows it without
		all = append(all, b)
		return err
	})
	return all, err
}

// CreateBatch is one statement.
func (s *Store) CreateBatch(ctx context.Context, n domain.NewBatch) error {
	const op = "create batch"
	callback, keep := "", n.Keep
	if n.Callback != nil {
		var err error
		if callback, err = n.Callback.Text(); err != nil {
			return &domain.Fault{Code: domain.Invalid, Op: op, Subject: n.ID.String(), Hint: "its callback cannot be written as JSON", Err: err}
		}
	}
	if keep == 0 {
		keep = domain.DefaultBatchKeep
	}
	var a Array
	a.Row().ID(n.ID).Text(n.Tenant).Text(n.Name).Text(callback).Int(KeepMS(keep))
	return s.one(ctx, op, func(ctx context.Context, c Conn) error {
		_, err := s.exec(ctx, c, s.t.batches.add, s.now(), a.String())
		if err != nil && s.d.Codes.Unique(err) {
			return &domain.Fault{Code: domain.Conflict, Op: op, Subject: n.ID.String(), Hint: "there is a batch of this id", Err: err}
		}
		return err
	})
}

// owned locks a batch against all who add to it or retry its members.
func (s *Store) owned(ctx context.Context, c Conn, id domain.BatchID) (b domain.Batch, callback string, err error) {
	cell := newCells(11)
	err = s.each(ctx, c, s.t.batches.own, []any{nil, batchRows([]domain.BatchID{id})}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		b, callback = cell.batch()
		return err
	})
	return b, callback, err
}

// SealBatch waits for those who add; those who come later find it sealed.
func (s *Store) SealBatch(ctx context.Context, id domain.BatchID, tenant string) (answer domain.Sealed, err error) {
	const op = "seal batch"
	err = s.write(ctx, op, func(ctx context.Context, c Conn) error {
		answer = domain.Sealed{}
		b, _, err := s.owned(ctx, c, id)
		switch {
		case err != nil:
			return err
		case b.ID.IsZero() || tenant != "" && b.Tenant != tenant:
			return noBatch(op, id)
		case !b.SealedAt.IsZero():
			answer = domain.Sealed{Total: b.Total, Again: true}
			return nil
		}
		if err := One(ctx, c, s.t.batches.members, []any{nil, s.id(id)}, &answer.Total); err != nil {
			return err
		}
		var a Array
		a.Row().ID(id).Int(answer.Total)
		_, err = s.exec(ctx, c, s.t.batches.seal, s.now(), a.String())
		return err
	})
	return answer, err
}

// FinishBatches looks without a lock, since most members are not the last ones, and
// finishes what is ready one by one. Of several that fail the first error is answered,
// beside those that were finished.
func (s *Store) FinishBatches(ctx context.Context, ids []domain.BatchID) (all []driven.Finished, err error) {
	var ready []domain.BatchID
	err = s.read(ctx, "finish batches", func(ctx context.Context, c Conn) error {
		ready = nil
		for _, part := range s.batchParts(ids) {
			some, err := s.ids(ctx, c, s.t.batches.ready, []any{s.now(), batchRows(part)})
			if err != nil {
				return err
			}
			for _, id := range some {
				ready = append(ready, domain.BatchID(id))
			}
		}
		return nil
	})
	var failed []error
	for _, id := range ready {
		done, err := s.finishBatch(ctx, id, true)
		if err != nil && s.refused(err) {
			done, err = s.finishBatch(ctx, id, false)
		}
		switch {
		case err != nil:
			failed = append(failed, err)
		case !done.Batch.ID.IsZero():
			all = append(all, done)
		}
	}
	if len(failed) > 0 {
		return all, failed[0]
	}
	return all, err
}

// finishBatch is one transaction: the batch is locked, its members are looked at once
// more, counted, and its callback is added, or left out. The answer has no batch where
// there was nothing to finish.
func (s *Store) finishBatch(ctx context.Context, id domain.BatchID, callback bool) (answer driven.Finished, err error) {
	err = s.write(ctx, "finish batch", func(ctx context.Context, c Conn) error {
		answer = driven.Finished{}
		b, text, err := s.owned(ctx, c, id)
		if err != nil || b.State() != domain.BatchSealed {
			return err
		}
		waiting := 0
		if err := One(ctx, c, s.t.batches.waits, []any{nil, s.id(id)}, &waiting); err != nil || waiting > 0 {
			return err
		}
		at := int64(0)
		if err := One(ctx, c, s.t.batches.done, []any{s.now(), s.id(id)}, &b.Done, &at); err != nil {
			return err
		}
		b.FinishedAt = fromMoment(at)
		if err := s.callBack(ctx, c, &b, text, callback, &answer); err != nil {
			return err
		}
		var a Array
		a.Row().ID(id).Int(at).Int(b.Done).ID(b.CallbackJob)
		if _, err := s.exec(ctx, c, s.t.batches.finish, s.now(), a.String()); err != nil {
			return err
		}
		answer.Batch = b
		return nil
	})
	if err != nil {
		return driven.Finished{}, err
	}
	return answer, nil
}

// callBack inserts the callback, where it can be made and is not to be left out.
func (s *Store) callBack(ctx context.Context, c Conn, b *domain.Batch, text string, insert bool, answer *driven.Finished) error {
	err := parse(b, text)
	var job *domain.NewJob
	if err == nil {
		job, err = b.Finish()
	}
	switch {
	case err != nil || job != nil && !insert:
		answer.Refused = true
		return nil
	case job == nil:
		return nil
	}
	if _, err := s.insert(ctx, c, newRows([]domain.NewJob{*job}), false); err != nil {
		return err
	}
	b.CallbackJob, answer.Queue = job.ID, job.Queue
	return nil
}
