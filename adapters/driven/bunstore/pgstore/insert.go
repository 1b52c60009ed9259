package pgstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// inserter writes batches, each by one statement of one parameter (a VALUES list
// costs the server 20 us a row, this 10), and a plain row alone by its values. No
// table is read, so that each has one plan and may be kept.
type inserter struct {
	chunk      bunstore.Chunk
	one        bunstore.Stmt
	plain, any bunstore.Stmt
}

func newInserter(d *bunstore.Dialect) *inserter {
	source := *d // any plan will do
	source.Words.Rows = func(param string, cols []bunstore.Col) string { return "(" + elements(param, cols) + ")" }
	text := func(plain bool) bunstore.Stmt {
		return d.Marks.Compile(bunstore.InsertFrom(&source, plain) + " ON CONFLICT DO NOTHING RETURNING id")
	}
	return &inserter{chunk: d.Chunk, one: d.Marks.Compile(oneText(d)), plain: text(true), any: text(false)}
}

// oneText inserts one plain row, $2, .. being its PlainCols. To take a row source
// of one row apart and to plan it is 1 ms, this 0.25; kept it is 0.1.
func oneText(d *bunstore.Dialect) string {
	types := map[bunstore.ColType]string{bunstore.ColID: "uuid", bunstore.ColInt: "bigint", bunstore.ColText: "text"}
	var cols, exprs []string
	for _, a := range bunstore.InsertSet("o.now", true) {
		cols, exprs = append(cols, a.Col), append(exprs, a.Expr)
	}
	source := make([]string, len(bunstore.PlainCols))
	for i, c := range bunstore.PlainCols {
		source[i] = "$" + strconv.Itoa(i+2) + "::" + types[c.Type] + " AS " + c.Name
	}
	return "INSERT INTO " + d.Table("jobs") + " (" + strings.Join(cols, ", ") + ") SELECT " + strings.Join(exprs, ", ") +
		" FROM (SELECT " + instant + " AS now, " + strings.Join(source, ", ") + ") AS o ON CONFLICT DO NOTHING"
}

// fits says whether a row goes by oneText. What is no text reads as the source of a
// batch makes it.
func fits(rows []bunstore.NewRow) bool {
	if len(rows) != 1 || !rows[0].Plain() {
		return false
	}
	j := rows[0].Job
	return utf8.ValidString(j.Queue) && utf8.ValidString(j.Kind) && utf8.Valid(j.Args)
}

func (in *inserter) insertOne(ctx context.Context, c bunstore.Conn, now any, j *domain.NewJob) ([]bool, error) {
	at := int64(-1)
	if !j.Due.At.IsZero() {
		at = j.Due.At.UnixMilli()
	}
	n, err := exec(ctx, keep(c), in.one, now, uuid(j.ID), j.Queue, j.Kind, int64(j.Priority), bunstore.MS(j.Due.After), at, string(j.Args))
	return []bool{n > 0}, err
}

// Insert writes rows with unique keys in the order of their keys, so that two
// calls that share some wait for each other and do not deadlock.
func (in *inserter) Insert(ctx context.Context, c bunstore.Conn, now any, rows []bunstore.NewRow) ([]bool, error) {
	if fits(rows) {
		return in.insertOne(ctx, c, now, rows[0].Job)
	}
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
		ids, err := bunstore.IDs(ctx, keep(c), st, now, text)
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
