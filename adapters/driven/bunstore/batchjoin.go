package bunstore

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/domain"
)

var batchIDCols = []Col{{"id", ColID}}

// JoinText locks the batches $2 against their seal until the end of the transaction.
func JoinText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.id, j.tenant, j.sealed_at", From: d.Table("batches"), Join: d.Words.Rows("$2", batchIDCols),
		Where: "j.id = o.id", Lock: Share,
	})
}

// unfinishedText says which of the batches $2 are there and not finished.
func unfinishedText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.id", From: d.Table("batches"), Join: d.Words.Rows("$2", batchIDCols), Where: "j.id = o.id AND j.finished_at = 0",
	})
}

// joined is a batch that is locked against its seal.
type joined struct {
	tenant string
	sealed bool
}

// joinBatches locks the batches that new jobs name until they are committed, so that
// a seal counts them, and refuses jobs that may not be members. It comes before the
// rows are written: batches first is the order of all who lock both.
func (s *Store) joinBatches(ctx context.Context, c Conn, rows []NewRow) error {
	var named []domain.BatchID
	for i := range rows {
		if id := rows[i].Job.Batch; !id.IsZero() {
			named = append(named, id)
		}
	}
	if len(named) == 0 {
		return nil
	}
	found, err := s.shareBatches(ctx, c, named)
	if err != nil {
		return err
	}
	for i := range rows {
		n := rows[i].Job
		b, there := found[n.Batch]
		switch {
		case n.Batch.IsZero():
		case !there || b.tenant != "" && b.tenant != n.Tenant:
			return noBatch("insert", n.Batch)
		case b.sealed:
			return &domain.Fault{
				Code: domain.Conflict, Op: "insert", Subject: n.Batch.String(),
				Hint: "this batch is sealed: make another for more jobs",
			}
		}
	}
	return nil
}

func (s *Store) shareBatches(ctx context.Context, c Conn, ids []domain.BatchID) (map[domain.BatchID]joined, error) {
	found, cell := make(map[domain.BatchID]joined), newCells(3)
	for _, part := range s.batchParts(ids) {
		err := s.each(ctx, c, s.t.batches.join, []any{nil, batchRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			found[cell.id(0)] = joined{cell.text(1), cell.int(2) != 0}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// unfinished says which of the batches are there and not finished. A schema that has
// no batches has none.
func (s *Store) unfinished(ctx context.Context, c Conn, ids []domain.BatchID) (map[domain.BatchID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if there, err := s.hasTable(ctx, c, s.d.Prefix+"batches"); err != nil || !there {
		return nil, err
	}
	open, cell := make(map[domain.BatchID]bool), newCells(1)
	for _, part := range s.batchParts(ids) {
		err := s.each(ctx, c, s.t.batches.unfinished, []any{nil, batchRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			open[cell.id(0)] = true
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return open, nil
}

// rejoin locks the batches of jobs that are about to wait again: one that is not
// finished then waits for them, one that is takes no notice. It comes before the rows
// of the jobs are locked, as in an insert; a job is in one batch for all its life.
func (s *Store) rejoin(ctx context.Context, c Conn, ids []domain.JobID) error {
	var named []domain.BatchID
	cell := newCells(1)
	for _, part := range s.idParts(ids) {
		err := s.each(ctx, c, s.t.batches.of, []any{nil, idRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			if id := domain.BatchID(cell.id(0)); !id.IsZero() {
				named = append(named, id)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(named) == 0 {
		return nil
	}
	if there, err := s.hasTable(ctx, c, s.d.Prefix+"batches"); err != nil || !there {
		return err
	}
	_, err := s.shareBatches(ctx, c, named)
	return err
}
