package bunstore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// idleSlot is how long a slot was free before its row goes, in milliseconds.
const idleSlot = "60000"

// EndedText finds at most $2 slots that were kept for a while that is over.
func EndedText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.bound, j.slot", From: d.Table("slots"), Order: "j.ends_at", Limit: "$2", Index: "ends",
		Where: "j.ends_at > 0 AND " + d.Words.over("j.ends_at") + " AND j.token IS NULL",
	})
}

// Expire looks, and writes only where it found something.
func (s *Store) Expire(ctx context.Context, limit int) (answer driven.Expired, err error) {
	var over []domain.Slot
	err = s.read(ctx, "expire slots", func(ctx context.Context, c Conn) (err error) {
		over, err = s.ended(ctx, c, limit)
		if err == nil && len(over) < limit {
			answer.Next, err = s.wait(ctx, c, s.t.slots.first, s.now())
		}
		return err
	})
	if err != nil || len(over) == 0 {
		return answer, err
	}
	answer.More = len(over) >= limit
	keys := map[string]bool{}
	for _, slot := range over {
		keys[slot.Key] = true
	}
	answer.Keys = sorted(keys)
	err = s.write(ctx, "expire slots", func(ctx context.Context, c Conn) error { return s.onSlots(ctx, c, over, s.t.slots.end) })
	return answer, err
}

func (s *Store) ended(ctx context.Context, c Conn, limit int) (over []domain.Slot, err error) {
	cell := newCells(2)
	err = s.each(ctx, c, s.t.slots.ended, []any{s.now(), limit}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		over = append(over, cell.slot(0))
		return err
	})
	return over, err
}

// onSlots runs a statement over slots.
func (s *Store) onSlots(ctx context.Context, c Conn, all []domain.Slot, st Stmt) error {
	for _, part := range chunks(slices.SortedFunc(slices.Values(all), domain.Slot.Compare), s.d.Chunk, func(x *domain.Slot) int { return 20 + len(x.Key) }) {
		a := NewArray(60 * len(part))
		for _, x := range part {
			a.Row().Text(x.Key).Int(int64(x.Index))
		}
		if _, err := s.exec(ctx, c, st, s.now(), a.String()); err != nil {
			return err
		}
	}
	return nil
}

// The verdicts of ReapText.
const (
	slotStays  = 0
	slotOrphan = 1 // its job runs no more under the token that took it
	slotIdle   = 2 // free for so long that its row may go
)

// ReapText judges one page of slots, at most $4 behind number $3 of the key $2. The
// job is asked for as a value: for an EXISTS PostgreSQL would hash all jobs first.
func ReapText(d *Dialect) string {
	now := d.Words.Now
	return d.Forms.Select(Select{
		Columns: "j.bound, j.slot, j.job, j.token, CASE" +
			" WHEN j.token IS NULL THEN CASE WHEN j.ends_at = 0 AND j.changed_at < " + now + " - " + idleSlot + " THEN 2 ELSE 0 END" +
			" WHEN j.ends_at > " + now + " THEN 0" +
			" WHEN (SELECT 1 FROM " + d.Table("jobs") + " AS b WHERE b.id = j.job AND b.token = j.token) IS NOT NULL THEN 0" +
			" ELSE 1 END",
		From: d.Table("slots"), Where: pageWhere, Order: "j.bound, j.slot", Limit: "$4",
	})
}

// pageWhere is what lies behind slot $3 of the key $2. In this form every database
// seeks by the first condition; there are not many slots of one key.
const pageWhere = "j.bound >= $2 AND (j.bound > $2 OR j.slot > $3)"

// Reap looks, and writes only where it found something. What it writes is judged
// once more by the statement that does.
func (s *Store) Reap(ctx context.Context, r driven.ReapRequest) (answer driven.Reaped, err error) {
	var orphans []driven.Holding
	var idle []domain.Slot
	err = s.read(ctx, "reap slots", func(ctx context.Context, c Conn) error {
		cell, n := newCells(5), 0
		values := []any{s.now(), r.After.Key, after(r.After), r.Limit + 1}
		return s.each(ctx, c, s.t.slots.page, values, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			if n++; n > r.Limit {
				answer.More = true
				return err
			}
			answer.Last = cell.slot(0)
			switch cell.int(4) {
			case slotOrphan:
				t := domain.Ticket{ID: cell.id(2), Token: cell.id(3)}
				orphans = append(orphans, driven.Holding{Ticket: t, Slot: answer.Last, For: r.Linger, End: true})
			case slotIdle:
				idle = append(idle, answer.Last)
			}
			return err
		})
	})
	if err != nil || len(orphans)+len(idle) == 0 {
		return answer, err
	}
	err = s.write(ctx, "reap slots", func(ctx context.Context, c Conn) (err error) {
		if answer.Orphans, err = s.giveBack(ctx, c, orphans, s.t.slots.free); err != nil {
			return err
		}
		return s.onSlots(ctx, c, idle, s.t.slots.forget)
	})
	return answer, err
}

// after is the number of the slot that a page begins after; no slot has one below 0.
func after(x domain.Slot) int {
	if x == (domain.Slot{}) {
		return -1
	}
	return x.Index
}

// HeldText lists at most $4 taken slots behind number $3 of the key $2, in no order:
// MariaDB would write a page that is sorted twice to a file. The runner is of the
// claim that took it, while no other claim of the job began after that.
func HeldText(d *Dialect) string {
	page := d.Forms.Select(Select{
		Columns: "j.bound, j.slot, j.job, j.token, j.changed_at, j.ends_at - " + d.Words.Now + " AS remains",
		From:    d.Table("slots"), Where: pageWhere + " AND " + TakenWhere(d, "j"), Order: "j.bound, j.slot", Limit: "$4",
	})
	return "SELECT p.bound, p.slot, p.job, p.changed_at, p.remains," +
		" CASE WHEN b.token = p.token OR p.token IS NOT NULL AND b.claimed_at <= p.changed_at THEN b.runner END," +
		" CASE WHEN b.token = p.token THEN 0 ELSE 1 END" +
		" FROM (" + page + ") AS p LEFT JOIN " + d.Table("jobs") + " AS b ON b.id = p.job"
}

// Held lists taken slots.
func (s *Store) Held(ctx context.Context, from domain.Slot, limit int) (all []domain.Holder, err error) {
	err = s.read(ctx, "list held slots", func(ctx context.Context, c Conn) error {
		cell := newCells(7)
		return s.each(ctx, c, s.t.slots.held, []any{s.now(), from.Key, after(from), max(limit, 0)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			all = append(all, domain.Holder{
				Slot: cell.slot(0), Job: cell.id(2), Runner: cell.text(5), Over: cell.int(6) == 1, Since: fromMoment(cell.int(3)),
				Left: max(span(cell.int(4)), time.Duration(0)),
			})
			return err
		})
	})
	slices.SortFunc(all, func(a, b domain.Holder) int { return a.Compare(b.Slot) })
	return all, err
}
