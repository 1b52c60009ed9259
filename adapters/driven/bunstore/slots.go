package bunstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// A row of slots is one permit, which stays in place. Its holder is a claim: the
// job and the token under which that runs. Who writes several takes them in the
// order of their keys and numbers.

// SlotAsk is a claim that asks for a slot.
type SlotAsk struct {
	domain.Slot
	Ticket domain.Ticket
}

type slotTexts struct {
	take, hold, taken, heads Stmt
	end, page, free, forget,
	ended, first, held Stmt
}

// TakenWhere says that a slot, of that alias, is not free.
func TakenWhere(d *Dialect, alias string) string {
	return "(" + alias + ".token IS NOT NULL OR " + alias + ".ends_at > " + d.Words.Now + ")"
}

func newSlotTexts(d *Dialect) slotTexts {
	c := d.Marks.Compile
	return slotTexts{
		take:  c(TakeSlotsText(d)),
		hold:  c(HoldText(d)),
		taken: c(TakenText(d)),
		heads: c(HeadsText(d)),
		ended: c(EndedText(d)),
		end: c(d.Forms.Update(Update{
			Table: d.Table("slots"), From: d.Words.Rows("$2", slotCols),
			Where: slotMatch + " AND j.token IS NULL AND j.ends_at > 0 AND j.ends_at + 0 <= " + d.Words.Now, // not a bound: the key finds it
			Set:   []Assign{{"ends_at", "0"}, {"changed_at", d.Words.Now}},
		})),
		first: c(d.Forms.Select(Select{
			Columns: "j.ends_at, " + d.Words.Now, From: d.Table("slots"), Order: "j.ends_at", Limit: "1", Index: "ends",
			Where: "j.ends_at > 0 AND j.ends_at > " + d.Words.Now + " AND j.token IS NULL",
		})),
		page: c(ReapText(d)),
		free: c(orphanText(d)),
		forget: c(d.Forms.Delete(Delete{
			Table: d.Table("slots"), Cols: []string{"bound", "slot"}, From: d.Words.Rows("$2", slotCols),
			Where: "j.token IS NULL AND j.ends_at = 0 AND j.changed_at < " + d.Words.Now + " - " + idleSlot,
		})),
		held: c(HeldText(d)),
	}
}

var (
	slotCols = []Col{{"bound", ColText}, {"slot", ColInt}}
	// SlotCols are the row source of TakeSlotsText: nth is the place in its order.
	SlotCols = append(slotCols[:2:2], Col{"id", ColID}, Col{"token", ColID}, Col{"nth", ColInt})
	holdCols = append(slotCols[:2:2], Col{"id", ColID}, Col{"token", ColID}, Col{"after", ColInt}, Col{"ended", ColInt})
	keyCols  = slotCols[:1]
)

const slotMatch = "j.bound = o.bound AND j.slot = o.slot"

// TakeSlotsText takes slots for databases that have ON CONFLICT and RETURNING. A
// slot that another claim is about to take or give back is waited for, and judged
// by what it then is.
func TakeSlotsText(d *Dialect) string {
	return "INSERT INTO " + d.Table("slots") + " AS s (bound, slot, job, token, ends_at, changed_at) " + d.Forms.Select(Select{
		Columns: "o.bound, o.slot, o.id, o.token, 0, " + d.Words.Now, From: d.Table("jobs"), Join: d.Words.Rows("$2", SlotCols),
		Where: "j.id = o.id AND j.token = o.token", Order: "o.nth",
	}) + " ON CONFLICT (bound, slot) DO UPDATE SET job = excluded.job, token = excluded.token, ends_at = 0, changed_at = excluded.changed_at" +
		" WHERE s.token IS NULL AND s.ends_at <= " + d.Words.Now + " RETURNING bound, slot, job"
}

// HoldText ends or prolongs the slots of claims, each guarded by its ticket. One that
// a sweep took from its claim and keeps for a while has the job alone: who comes back
// may prolong that.
func HoldText(d *Dialect) string {
	lingers := "o.ended = 0 AND j.token IS NULL AND j.ends_at + 0 > " + d.Words.Now // not a bound: the key finds it
	return holdText(d, "(j.token = o.token OR "+lingers+")", "CASE WHEN o.ended = 1 THEN NULL ELSE j.job END")
}

// orphanText is a sweep's: it takes a slot whose time is over from its claim and
// leaves it the job.
func orphanText(d *Dialect) string {
	return holdText(d, "j.token = o.token AND j.ends_at + 0 <= "+d.Words.Now, "j.job")
}

func holdText(d *Dialect, who, job string) string {
	return d.Forms.Update(Update{
		Table: d.Table("slots"), From: d.Words.Rows("$2", holdCols), Where: slotMatch + " AND j.job = o.id AND " + who,
		Set: []Assign{
			{"job", job},
			{"token", "CASE WHEN o.ended = 1 THEN NULL ELSE j.token END"},
			{"ends_at", "CASE WHEN o.after > 0 THEN " + d.Words.Now + " + o.after ELSE 0 END"},
			{"changed_at", "CASE WHEN o.ended = 1 THEN " + d.Words.Now + " ELSE j.changed_at END"},
		},
	})
}

// TakenText finds the taken slots of the keys $2, and whose they are.
func TakenText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.bound, j.slot, j.job, j.token", From: d.Table("slots"), Join: d.Words.Rows("$2", keyCols),
		Where: "j.bound = o.bound AND " + TakenWhere(d, "j"),
	})
}

// headText is the job whose turn it is at the key that an expression names: one
// seek, whatever is behind it and however many are over.
func headText(d *Dialect, key string) string {
	return "(" + d.Forms.Select(Select{
		Columns: "j.job", From: d.Table("job_keys"), Where: "j.bound = " + key + " AND j.place IS NOT NULL",
		Order: "j.place, j.job", Limit: "1", Index: "turn",
	}) + ")"
}

// HeadsText answers whose turn it is at each of the keys $2.
func HeadsText(d *Dialect) string {
	return "SELECT o.bound, " + headText(d, "o.bound") + " FROM " + d.Words.Rows("$2", keyCols) + " AS o"
}

// takeSlots takes what is free of the slots.
func (s *Store) takeSlots(ctx context.Context, c Conn, asks []SlotAsk) (map[domain.Slot]domain.JobID, error) {
	slices.SortFunc(asks, func(a, b SlotAsk) int { return a.Compare(b.Slot) })
	won := make(map[domain.Slot]domain.JobID, len(asks))
	for _, part := range chunks(asks, s.d.Chunk, func(a *SlotAsk) int { return 110 + len(a.Key) }) {
		take := s.takeSome
		if s.d.Hot.TakeSlots != nil {
			take = func(ctx context.Context, c Conn, asks []SlotAsk) (map[domain.Slot]domain.JobID, error) {
				return s.d.Hot.TakeSlots(ctx, c, s.now(), asks)
			}
		}
		some, err := take(ctx, c, part)
		if err != nil {
			return nil, err
		}
		for slot, id := range some {
			won[slot] = id
		}
	}
	return won, nil
}

// SlotRows is the JSON text of slots that are asked for, for SlotCols.
func SlotRows(asks []SlotAsk) string {
	a := NewArray(110 * len(asks))
	for i := range asks {
		q := &asks[i]
		a.Row().Text(q.Key).Int(int64(q.Index)).ID(q.Ticket.ID).ID(q.Ticket.Token).Int(int64(i))
	}
	return a.String()
}

func (s *Store) takeSome(ctx context.Context, c Conn, asks []SlotAsk) (map[domain.Slot]domain.JobID, error) {
	rows, err := c.QueryContext(ctx, s.t.slots.take.Text, s.t.slots.take.Args(s.now(), SlotRows(asks))...)
	if err != nil {
		return nil, err
	}
	return ScanSlots(rows)
}

// ScanSlots reads rows of key, number and job, and closes them.
func ScanSlots(rows *sql.Rows) (map[domain.Slot]domain.JobID, error) {
	won, cell := map[domain.Slot]domain.JobID{}, newCells(3)
	err := Drain(rows, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		won[cell.slot(0)] = cell.id(2)
		return err
	})
	return won, err
}

// slot reads a key and a number.
func (c *cells) slot(i int) domain.Slot { return domain.Slot{Key: c.text(i), Index: int(c.int(i + 1))} }

// Hold is one statement, as a rule.
func (s *Store) Hold(ctx context.Context, all []driven.Holding) error {
	if len(all) == 0 {
		return nil
	}
	parts := chunks(bySlot(all), s.d.Chunk, func(h *driven.Holding) int { return 110 + len(h.Slot.Key) })
	run := s.write
	if len(parts) == 1 {
		run = s.one
	}
	return run(ctx, "hold slots", func(ctx context.Context, c Conn) error {
		for _, part := range parts {
			if _, err := s.exec(ctx, c, s.t.slots.hold, s.now(), holdRows(part)); err != nil {
				return err
			}
		}
		return nil
	})
}

// giveBack frees slots in a transaction.
func (s *Store) giveBack(ctx context.Context, c Conn, free []driven.Holding, how Stmt) (n int, err error) {
	for _, part := range chunks(bySlot(free), s.d.Chunk, func(h *driven.Holding) int { return 110 + len(h.Slot.Key) }) {
		some, err := s.exec(ctx, c, how, s.now(), holdRows(part))
		if err != nil {
			return n, err
		}
		n += some
	}
	return n, nil
}

func bySlot(all []driven.Holding) []driven.Holding {
	return slices.SortedFunc(slices.Values(all), func(a, b driven.Holding) int { return a.Slot.Compare(b.Slot) })
}

func holdRows(all []driven.Holding) string {
	a := NewArray(110 * len(all))
	for i := range all {
		h := &all[i]
		a.Row().Text(h.Slot.Key).Int(int64(h.Slot.Index)).ID(h.Ticket.ID).ID(h.Ticket.Token).Int(MS(h.For)).Int(bit(h.End))
	}
	return a.String()
}
