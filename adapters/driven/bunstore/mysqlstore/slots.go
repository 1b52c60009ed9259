package mysqlstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// slots takes slots and finds who may take them next.
type slots struct {
	take, ours bunstore.Stmt
	waiters    map[int]bunstore.Stmt // by the number of their arms
}

func newSlots(d *bunstore.Dialect) *slots {
	s := &slots{
		take: d.Marks.Compile(takeSlotsText(d)), ours: d.Marks.Compile(ourSlotsText(d)),
		waiters: make(map[int]bunstore.Stmt, len(waiterArms)),
	}
	for _, n := range waiterArms {
		s.waiters[n] = d.Marks.Compile(waitersText(d, n))
	}
	return s
}

// askCols are the row source of slots that are asked for: it comes in their order,
// and the join keeps to it.
var askCols = bunstore.SlotCols[:4]

// takeSlotsText gives the slots $2 that are free to the claims that ask for them, if
// those still hold their jobs. A slot that another transaction writes is waited for
// and judged by what it then is. Assignments see those before them, so the token,
// by which all others judge, is last.
func takeSlotsText(d *bunstore.Dialect) string {
	table := d.Table("slots")
	set := func(col, value string) string {
		own := table + "." + col
		return own + " = IF(" + table + ".token IS NULL AND " + table + ".ends_at <= " + now + ", " + value + ", " + own + ")"
	}
	return "INSERT INTO " + table + " (bound, slot, job, token, ends_at, changed_at) " + d.Forms.Select(bunstore.Select{
		Columns: "o.bound, o.slot, o.id, o.token, 0, " + now, From: d.Table("jobs"), Join: d.Words.Rows("$2", askCols),
		Where: "j.id = o.id AND j.token = o.token",
	}) + " ON DUPLICATE KEY UPDATE " + strings.Join([]string{set("job", "o.id"), set("changed_at", now), set("ends_at", "0"), set("token", "o.token")}, ", ")
}

// ourSlotsText finds which of the slots $2 their claims have. How many rows the
// statement before changed does not say it: that counts otherwise by a setting of
// the connection.
func ourSlotsText(d *bunstore.Dialect) string {
	return d.Forms.Select(bunstore.Select{
		Columns: "j.bound, j.slot, j.job", From: d.Table("slots"), Join: d.Words.Rows("$2", askCols),
		Where: "j.bound = o.bound AND j.slot = o.slot AND j.job = o.id AND j.token = o.token",
	})
}

// Take takes what is free of the slots.
func (s *slots) Take(ctx context.Context, c bunstore.Conn, now any, asks []bunstore.SlotAsk) (map[domain.Slot]domain.JobID, error) {
	rows := bunstore.SlotRows(asks)
	if _, err := exec(ctx, c, s.take, now, rows); err != nil {
		return nil, err
	}
	found, err := c.QueryContext(ctx, s.ours.Text, s.ours.Args(nil, rows)...)
	if err != nil {
		return nil, err
	}
	return bunstore.ScanSlots(found)
}

// waiterArms are how many keys one statement may ask for; there are few texts, so
// that they stay prepared. What is left over asks for no row.
var waiterArms = [...]int{1, 8, 64}

// waitersText reads the first blocked jobs of each of some keys, one arm a key, with
// its number as a value: no other form on both products has a number for each key.
func waitersText(d *bunstore.Dialect, keys int) string {
	arms := make([]string, keys)
	for i := range arms {
		arms[i] = d.Forms.Select(bunstore.Select{
			Columns: "j.id, j.blocked_on, j.queue", From: d.Table("jobs"),
			Where: "j.state = 2 AND j.blocked_on = $" + strconv.Itoa(2+2*i),
			Order: byKey, Limit: "$" + strconv.Itoa(3+2*i), Index: "blocked",
		})
	}
	return "(" + strings.Join(arms, ") UNION ALL (") + ")"
}

// Waiters finds the first blocked jobs of keys.
func (s *slots) Waiters(ctx context.Context, c bunstore.Conn, keys []bunstore.Vacancy) (found []bunstore.Waiter, err error) {
	for len(keys) > 0 {
		arms := armsFor(len(keys))
		part := keys[:min(arms, len(keys))]
		keys = keys[len(part):]
		values := make([]any, 1, 1+2*arms)
		for _, v := range part {
			values = append(values, v.Key, v.Free)
		}
		for range arms - len(part) {
			values = append(values, "", 0)
		}
		some, err := bunstore.Waiters(ctx, c, s.waiters[arms], values...)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// armsFor is the size of the statement for so many keys.
func armsFor(keys int) int {
	for _, n := range waiterArms {
		if n >= keys {
			return n
		}
	}
	return waiterArms[len(waiterArms)-1]
}
