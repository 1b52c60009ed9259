package pgstore

import (
	"context"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// inserter writes batches, each by one statement of one parameter (a VALUES list
// costs the server 20 us a row, this 10).
type inserter struct {
	chunk      bunstore.Chunk
	plain, any bunstore.Stmt
}

func newInserter(d *bunstore.Dialect) *inserter {
	text := func(plain bool) bunstore.Stmt {
		return d.Marks.Compile(bunstore.InsertFrom(d, plain) + " ON CONFLICT DO NOTHING RETURNING id")
	}
	return &inserter{chunk: d.Chunk, plain: text(true), any: text(false)}
}

// Insert writes rows with unique keys in the order of their keys, so that two
// calls that share some wait for each other and do not deadlock.
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
		text, plain := bunstore.InsertArray(part)
		st := in.any
		if plain {
			st = in.plain
		}
		ids, err := bunstore.IDs(ctx, c, st, now, text)
		if err != nil {
			return nil, err
		}
		for _, r := range part {
			fresh[order[at]] = ids[r.Job.ID]
			at++
		}
	}
	return fresh, nil
}
