package mssqlstore

import (
	"context"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// slots takes slots and finds who may take them next.
type slots struct{ take, waiters bunstore.Stmt }

func newSlots(d *bunstore.Dialect) *slots {
	return &slots{take: d.Marks.Compile(takeSlotsText(d)), waiters: d.Marks.Compile(waitersText(d))}
}

// takeSlotsText gives the slots $2 that are free to the claims that ask for them, if
// those still hold their jobs, and answers what these claims now have. First it
// changes the free ones of those that are there, then it adds those that are not;
// each time in their order. A slot that another transaction writes is waited for and
// judged by what it then is.
//
// As with the ids of an insert no range of keys is locked: two that take the first
// slot of two new keys would wait for each other there, and of keys that are seldom
// used every slot is a new one. Two that want one slot may both find that it is not
// there; the second one's statement is then refused as a whole (see Take).
func takeSlotsText(d *bunstore.Dialect) string {
	table := d.Table("slots")
	slot := func(words ...string) string { return table + " AS s " + hint(append([]string{seekID}, words...)...) }
	const match, ours = "s.bound = a.bound AND s.slot = a.slot", " AND s.job = a.id AND s.token = a.token"
	return "DECLARE @now BIGINT = " + now + ";" +
		" DECLARE @a TABLE (nth BIGINT NOT NULL PRIMARY KEY, bound VARBINARY(401) NOT NULL, slot INT NOT NULL, id BINARY(16) NOT NULL, token BINARY(16) NOT NULL);" +
		" INSERT INTO @a (nth, bound, slot, id, token) " + d.Forms.Select(bunstore.Select{
		Columns: "o.nth, o.bound, o.slot, o.id, o.token", From: d.Table("jobs"), Join: d.Words.Rows("$2", bunstore.SlotCols),
		Where: "j.id = o.id AND j.token = o.token",
	}) + "; UPDATE s SET job = a.id, token = a.token, ends_at = 0, changed_at = @now" +
		" FROM @a AS a INNER LOOP JOIN " + slot(wait) + " ON " + match + " WHERE s.token IS NULL AND s.ends_at <= @now" +
		"; INSERT INTO " + table + " (bound, slot, job, token, ends_at, changed_at) SELECT a.bound, a.slot, a.id, a.token, 0, @now" +
		" FROM @a AS a WHERE NOT EXISTS (SELECT 1 FROM " + slot(current) + " WHERE " + match + ") ORDER BY a.nth OPTION (LOOP JOIN)" +
		"; SELECT s.bound, s.slot, s.job FROM @a AS a INNER LOOP JOIN " + slot(current) + " ON " + match + ours
}

// Take takes what is free of the slots. A statement that the key of a slot refused
// has changed those that were there; asked again it finds the slot's holder.
func (s *slots) Take(ctx context.Context, c bunstore.Conn, now any, asks []bunstore.SlotAsk) (won map[domain.Slot]domain.JobID, err error) {
	text := bunstore.SlotRows(asks)
	for range insertTries {
		won, err = s.takeOnce(ctx, c, now, text)
		if err == nil || !unique(err) {
			return won, err
		}
	}
	return nil, &domain.Fault{Code: domain.Contended, Op: "take slots", Hint: "others keep taking the same slots: try again", Err: err}
}

func (s *slots) takeOnce(ctx context.Context, c bunstore.Conn, now any, text string) (map[domain.Slot]domain.JobID, error) {
	rows, err := c.QueryContext(ctx, s.take.Text, s.take.Args(now, text)...)
	if err != nil {
		return nil, err
	}
	return bunstore.ScanSlots(rows)
}

// vacancyCols are the row source of keys with room.
var vacancyCols = []bunstore.Col{{Name: "bound", Type: bunstore.ColText}, {Name: "free", Type: bunstore.ColInt}}

// waitersText finds the first blocked jobs of each of the keys $2, of each at most as
// many as it has room for: APPLY with TOP is a seek a key and cannot be made
// anything else.
func waitersText(d *bunstore.Dialect) string {
	return "SELECT x.id, x.blocked_on, x.queue FROM " + d.Words.Rows("$2", vacancyCols) + " AS k CROSS APPLY (" + d.Forms.Select(bunstore.Select{
		Columns: "j.id, j.blocked_on, j.queue", From: d.Table("jobs"), Where: "j.state = 2 AND j.blocked_on = k.bound",
		Order: byKey, Limit: "k.free", Index: "blocked",
	}) + ") AS x"
}

// Waiters finds the first blocked jobs of keys.
func (s *slots) Waiters(ctx context.Context, c bunstore.Conn, keys []bunstore.Vacancy) ([]bunstore.Waiter, error) {
	a := bunstore.NewArray(60 * len(keys))
	for _, v := range keys {
		a.Row().Text(v.Key).Int(int64(v.Free))
	}
	return bunstore.Waiters(ctx, c, s.waiters, nil, a.String())
}
