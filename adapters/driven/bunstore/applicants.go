package bunstore

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// ask reads what each job asks for and what is taken of that.
func (a *admitting) ask(ctx context.Context) error {
	a.all = make([]domain.Applicant, len(a.wants))
	var turns []domain.JobID
	kinds := map[string]bool{}
	for i, w := range a.wants {
		a.all[i].ID = w.Ticket.ID
		a.at[w.Ticket.ID] = i
		if w.Turn {
			turns = append(turns, w.Ticket.ID)
		}
		if w.Limit || w.Rate {
			kinds[w.Kind] = true
		}
	}
	if err := a.limits(ctx, kinds); err != nil {
		return err
	}
	if err := a.turns(ctx, turns); err != nil {
		return err
	}
	return a.taken(ctx)
}

// limits adds the keys of limits and rates, as they are declared.
func (a *admitting) limits(ctx context.Context, kinds map[string]bool) error {
	declared := map[string][]domain.Declaration{}
	for _, part := range a.s.keyParts(sorted(kinds)) {
		cell := newCells(6)
		err := a.s.each(ctx, a.c, a.s.t.admit.declared, []any{nil, keyRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			d := cell.declaration()
			declared[d.Kind] = append(declared[d.Kind], d)
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, w := range a.wants {
		for _, d := range declared[w.Kind] {
			if d.Sort == domain.BoundLimit && w.Limit || d.Sort == domain.BoundRate && w.Rate {
				key := d.Key(w.Own(d.Sort))
				a.all[i].Keys = append(a.all[i].Keys, key)
				a.bounds[key] = &domain.Bound{N: d.N, Window: d.Window}
			}
		}
	}
	return nil
}

// turns adds the keys at which jobs take turns, and their places.
func (a *admitting) turns(ctx context.Context, ids []domain.JobID) error {
	cell := newCells(3)
	for _, part := range a.s.idParts(ids) {
		err := a.s.each(ctx, a.c, a.s.t.turns.keys, []any{nil, idRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			q := &a.all[a.at[cell.id(0)]]
			q.Keys, q.Due = append(q.Keys, cell.text(1)), cell.int(2)
			a.bounds[cell.text(1)] = &domain.Bound{N: 1}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// taken reads which slots of the keys are taken. Those that a claim took in an
// earlier try of this call, whose answer was lost, are given back first.
func (a *admitting) taken(ctx context.Context) error {
	var again []driven.Holding
	cell := newCells(4)
	for _, part := range a.s.keyParts(sorted(a.bounds)) {
		err := a.s.each(ctx, a.c, a.s.t.slots.taken, []any{a.s.now(), keyRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			slot, holder := cell.slot(0), domain.Ticket{ID: cell.id(2), Token: cell.id(3)}
			if i, known := a.at[holder.ID]; known && a.wants[i].Ticket == holder {
				again = append(again, driven.Holding{Ticket: holder, Slot: slot, End: true})
				return err
			}
			b := a.bounds[slot.Key]
			b.Taken = append(b.Taken, slot.Index)
			return err
		})
		if err != nil {
			return err
		}
	}
	_, err := a.s.giveBack(ctx, a.c, again, a.s.t.slots.hold)
	return err
}
