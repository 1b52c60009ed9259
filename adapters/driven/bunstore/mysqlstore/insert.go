package mysqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// insertText writes rows from the row source $2. A row whose id or lock is held
// changes nothing, and its statement then says so by its last insert id: the count
// of rows would depend on clientFoundRows, and IGNORE would hide other faults. $3
// is the mark of this call (see markedText), empty where none is needed.
func insertText(d *bunstore.Dialect, plain bool) string {
	text := bunstore.InsertFrom(d, plain)
	text = strings.Replace(text, ") SELECT ", ", settled) SELECT ", 1)
	text = strings.Replace(text, " FROM (SELECT ", ", CAST($3 AS BINARY(16)) FROM (SELECT ", 1)
	return text + " ON DUPLICATE KEY UPDATE attempts = IF(LAST_INSERT_ID(1), attempts, attempts)"
}

// markedText finds which of the rows $2 bear the mark $3, hence came by this call.
func markedText(d *bunstore.Dialect) string {
	return d.Forms.Select(bunstore.Select{
		Columns: "j.id", From: d.Table("jobs"), Join: d.Words.Rows("$2", bunstore.PlainCols[:1]),
		Where: "j.id = o.id AND j.settled = $3",
	})
}

// heldText finds which of the locks $2 are held.
func heldText(d *bunstore.Dialect) string {
	return d.Forms.Select(bunstore.Select{
		Columns: "j.unique_lock", From: d.Table("jobs"), Join: d.Words.Rows("$2", []bunstore.Col{{Name: "lock", Type: bunstore.ColText}}),
		Where: "j.unique_lock = o.lock", Index: "unique",
	})
}

// inserter is the insert of one table.
type inserter struct {
	chunk                    bunstore.Chunk
	plain, full, marks, held bunstore.Stmt
}

func newInserter(d *bunstore.Dialect) *inserter {
	c := d.Marks.Compile
	return &inserter{
		chunk: d.Chunk, plain: c(insertText(d, true)), full: c(insertText(d, false)),
		marks: c(markedText(d)), held: c(heldText(d)),
	}
}

// Insert writes rows with unique keys in the order of their keys, so that two
// calls that share some wait for each other and do not deadlock. A key that is
// seen to be held is not tried: a refused row locks its holder by the key and then
// by the id, while the holder's settle has the id and wants the key.
func (in *inserter) Insert(ctx context.Context, c bunstore.Conn, now any, rows []bunstore.NewRow) ([]bool, error) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	if slices.ContainsFunc(rows, notLooked) {
		held, err := in.locks(ctx, c, rows)
		if err != nil {
			return nil, err
		}
		order = slices.DeleteFunc(order, func(n int) bool { return held[rows[n].Lock] })
	}
	if slices.ContainsFunc(rows, func(r bunstore.NewRow) bool { return r.Lock != "" }) {
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(rows[a].Lock, rows[b].Lock) })
	}
	todo := make([]bunstore.NewRow, len(order))
	for i, n := range order {
		todo[i] = rows[n]
	}
	fresh, at := make([]bool, len(rows)), 0
	for _, part := range in.chunk.Chunks(todo) {
		written, err := in.insert(ctx, c, now, part)
		if err != nil {
			return nil, err
		}
		for _, is := range written {
			fresh[order[at]] = is
			at++
		}
	}
	return fresh, nil
}

// notLooked says whether a row has a lock that nobody looked for.
func notLooked(r bunstore.NewRow) bool { return r.Lock != "" && !r.Looked }

// locks looks, without a lock, which locks of the rows are held. A transaction of
// the host's may see an older moment, so there nothing is told from a look.
func (in *inserter) locks(ctx context.Context, c bunstore.Conn, rows []bunstore.NewRow) (map[string]bool, error) {
	if _, host := c.(*sql.Tx); host {
		return nil, nil
	}
	a := bunstore.NewArray(100 * len(rows))
	for i := range rows {
		if notLooked(rows[i]) {
			a.Row().Text(rows[i].Lock)
		}
	}
	found, err := c.QueryContext(ctx, in.held.Text, in.held.Args(nil, a.String())...)
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	err = bunstore.Drain(found, func(rows *sql.Rows) error {
		var lock string
		err := rows.Scan(&lock)
		held[lock] = true
		return err
	})
	return held, err
}

// insert is one statement, and where a row was held and others may not be a look
// at which are ours.
func (in *inserter) insert(ctx context.Context, c bunstore.Conn, now any, rows []bunstore.NewRow) ([]bool, error) {
	text, plain := bunstore.InsertArray(rows)
	st := in.full
	if plain {
		st = in.plain
	}
	mark := []byte{}
	if len(rows) > 1 {
		mark = make([]byte, 16)
		_, _ = rand.Read(mark) // never fails
	}
	res, err := c.ExecContext(ctx, st.Text, st.Args(now, text, mark)...)
	if err != nil {
		return nil, err
	}
	held, err := res.LastInsertId()
	if err != nil {
		return nil, err
	}
	fresh := make([]bool, len(rows))
	if held == 0 || len(rows) == 1 {
		for i := range fresh {
			fresh[i] = held == 0
		}
		return fresh, nil
	}
	ours, err := bunstore.IDs(ctx, c, in.marks, now, text, mark)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		fresh[i] = ours[rows[i].Job.ID]
	}
	return fresh, nil
}
