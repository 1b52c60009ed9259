package mssqlstore

import (
	"context"
	"slices"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// insertText writes the rows of the row source $2 whose id and lock nobody holds
// and answers the ids of these. The probes read what is committed now, also in a
// transaction of the host's that sees an older moment; in loops they seek and wait
// for none but a holder. The keys of a range are not locked: two calls that want
// one key may both find it free, and the unique index then refuses the second
// statement as a whole (see Insert). keepTx stands in the text, for a host's
// session may have it otherwise.
func insertText(d *bunstore.Dialect, plain bool) string {
	var cols, exprs []string
	for _, a := range bunstore.InsertSet(d.Words.Now, plain) {
		cols, exprs = append(cols, a.Col), append(exprs, a.Expr)
	}
	source, table := bunstore.InsertCols, d.Table("jobs")
	if plain {
		source = bunstore.PlainCols
	}
	text := keepTx + "INSERT INTO " + table + " (" + strings.Join(cols, ", ") + ") OUTPUT inserted.id SELECT " + strings.Join(exprs, ", ") +
		" FROM " + rows("$2", source) + " AS o" +
		" WHERE NOT EXISTS (SELECT 1 FROM " + table + " AS h " + hint(seekID, current) + " WHERE h.id = o.id)"
	if !plain {
		text += " AND NOT EXISTS (SELECT 1 FROM " + table + " AS h " + hint(current) + " WHERE h.unique_lock = o.unique_lock AND h.unique_lock IS NOT NULL)"
	}
	return text + " OPTION (LOOP JOIN)"
}

// inserter writes batches, each by one statement of one parameter.
type inserter struct {
	chunk      bunstore.Chunk
	plain, any bunstore.Stmt
}

func newInserter(d *bunstore.Dialect) *inserter {
	return &inserter{chunk: d.Chunk, plain: d.Marks.Compile(insertText(d, true)), any: d.Marks.Compile(insertText(d, false))}
}

// Insert writes rows with unique keys in the order of their keys, so that two
// calls that share some wait for each other and rarely deadlock.
func (in *inserter) Insert(ctx context.Context, c bunstore.Conn, now any, rows []bunstore.NewRow) ([]bool, error) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	if slices.ContainsFunc(rows, func(r bunstore.NewRow) bool { return r.Lock != "" }) {
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(rows[a].Lock, rows[b].Lock) })
		sorted := make([]bunstore.NewRow, len(rows))
		for i, n := range order {
			sorted[i] = rows[n]
		}
		rows = sorted
	}
	fresh, at := make([]bool, len(rows)), 0
	for _, part := range in.chunk.Chunks(rows) {
		ids, err := in.insert(ctx, c, now, part)
		if err != nil {
			return nil, err
		}
		for i := range part {
			fresh[order[at]] = ids[part[i].Job.ID]
			at++
		}
	}
	return fresh, nil
}

// insertTries bounds how often another call may be quicker with a key. A refused
// statement wrote nothing and left its transaction as it was; asked again it
// finds the holder, who has committed by then.
const insertTries = 10

func (in *inserter) insert(ctx context.Context, c bunstore.Conn, now any, rows []bunstore.NewRow) (ids map[domain.JobID]bool, err error) {
	text, plain := bunstore.InsertArray(rows)
	st := in.any
	if plain {
		st = in.plain
	}
	for range insertTries {
		ids, err = bunstore.IDs(ctx, c, st, now, mssql.NVarCharMax(text))
		if err == nil || !unique(err) {
			return ids, err
		}
	}
	return nil, &domain.Fault{Code: domain.Contended, Op: "insert", Hint: "the holder of a unique key keeps changing: try again", Err: err}
}
