package sqlitestore

import (
	"context"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// insertText writes rows from the row source $2. For plain rows it is the fastest
// way in: 5.9 us a job, where a prepared statement run for each row takes 8.2 (a
// row source of all columns 13.4). WHERE true keeps ON from being read as a join's.
func insertText(d *bunstore.Dialect, plain bool) string {
	return bunstore.InsertFrom(d, plain) + " WHERE true ON CONFLICT DO NOTHING"
}

// freshText finds which of the rows $2 came after rowid $3. The writer is alone,
// so a row that a statement adds has a higher rowid than all before it.
func freshText(d *bunstore.Dialect) string {
	return "SELECT o.id FROM " + d.Words.Rows("$2", bunstore.PlainCols[:1]) + " AS o, " + d.Table("jobs") + " AS j WHERE j.id = o.id AND j.rowid > $3"
}

// inserter is the insert of one table.
type inserter struct {
	chunk                    bunstore.Chunk
	plain, full, last, fresh bunstore.Stmt
}

func newInserter(d *bunstore.Dialect) *inserter {
	return &inserter{
		chunk: d.Chunk,
		plain: d.Marks.Compile(insertText(d, true)),
		full:  d.Marks.Compile(insertText(d, false)),
		last:  d.Marks.Compile("SELECT coalesce(max(rowid), 0) FROM " + d.Table("jobs")),
		fresh: d.Marks.Compile(freshText(d)),
	}
}

// Insert says for each row whether it was written.
func (in *inserter) Insert(ctx context.Context, c bunstore.Conn, now any, rows []bunstore.NewRow) ([]bool, error) {
	fresh := make([]bool, 0, len(rows))
	for _, part := range in.chunk.Chunks(rows) {
		some, err := in.insert(ctx, c, now, part)
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, some...)
	}
	return fresh, nil
}

func (in *inserter) insert(ctx context.Context, c bunstore.Conn, now any, rows []bunstore.NewRow) ([]bool, error) {
	last := int64(0)
	if len(rows) > 1 {
		if err := bunstore.One(ctx, c, in.last, nil, &last); err != nil {
			return nil, err
		}
	}
	text, plain := bunstore.InsertArray(rows)
	st := in.full
	if plain {
		st = in.plain
	}
	n, err := exec(ctx, c, st, now, text)
	if err != nil {
		return nil, err
	}
	fresh := make([]bool, len(rows))
	if n == 0 || n == len(rows) {
		for i := range fresh {
			fresh[i] = n > 0
		}
		return fresh, nil
	}
	written, err := bunstore.IDs(ctx, c, in.fresh, now, text, last)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		fresh[i] = written[rows[i].Job.ID]
	}
	return fresh, nil
}
