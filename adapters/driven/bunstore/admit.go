package bunstore

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

type admitTexts struct{ declared, park, parked Stmt }

var (
	kindCols = []Col{{"kind", ColText}}
	parkCols = []Col{{"id", ColID}, {"token", ColID}, {"bound", ColText}}
)

func newAdmitTexts(d *Dialect) admitTexts {
	c := d.Marks.Compile
	return admitTexts{
		declared: c(d.Forms.Select(Select{
			Columns: declaredColumns, From: d.Table("bounds"), Join: d.Words.Rows("$2", kindCols), Where: "j.kind = o.kind AND j.n > 0",
		})),
		park: c(ParkText(d)),
		parked: c(d.Forms.Select(Select{
			Columns: "j.id", From: d.Table("jobs"), Join: d.Words.Rows("$2", parkCols), Where: "j.id = o.id AND " + waitsWhere,
		})),
	}
}

// waitsWhere says that job j is blocked on o.bound. The state is no condition that
// an index has: the id is what finds the row.
const waitsWhere = "j.state + 0 = 2 AND j.blocked_on = o.bound"

// ParkText blocks claimed jobs on the keys that they lack.
func ParkText(d *Dialect) string {
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", parkCols), Where: "j.id = o.id AND j.token = o.token",
		Set: []Assign{{"state", "2"}, {"blocked_on", "o.bound"}, {"token", "NULL"}, {"stuck", "0"}, {"wake_at", "0"}},
	})
}

// admitting is one Admit on its way.
type admitting struct {
	s      *Store
	c      Conn
	wants  []driven.Want
	all    []domain.Applicant // beside wants
	at     map[domain.JobID]int
	bounds domain.Bounds
}

// Admit is one transaction. What is read before slots are taken is read without a
// lock: who is misled by it is parked, and woken by whoever freed what it lacked.
// Whose turn it is, is asked while the key's slot is held: the one before gave it
// back in the write that ended its own turn.
func (s *Store) Admit(ctx context.Context, r driven.AdmitRequest) (answer driven.Admission, err error) {
	if len(r.Wants) == 0 {
		return answer, nil
	}
	err = s.write(ctx, "admit", func(ctx context.Context, c Conn) (err error) {
		a := &admitting{s: s, c: c, wants: r.Wants, bounds: domain.Bounds{}, at: make(map[domain.JobID]int, len(r.Wants))}
		answer, err = a.run(ctx)
		return err
	})
	if err != nil {
		return driven.Admission{}, err
	}
	return answer, nil
}

func (a *admitting) run(ctx context.Context) (answer driven.Admission, err error) {
	if err := a.ask(ctx); err != nil {
		return answer, err
	}
	a.bounds.Plan(a.all, rand.IntN(domain.MaxSlots)) //nolint:gosec // no secret
	won, err := a.take(ctx)
	if err != nil {
		return answer, err
	}
	heads, err := a.heads(ctx, won)
	if err != nil {
		return answer, err
	}
	domain.JudgeApplicants(a.all, won, heads)
	lost, err := a.gone(ctx)
	if err != nil {
		return answer, err
	}
	var holds []driven.Holding
	for i := range a.all {
		if q := &a.all[i]; q.Lacks == "" && !lost[q.ID] {
			answer.Admitted = append(answer.Admitted, a.admitted(q))
			holds = append(holds, a.windows(i)...)
		}
	}
	return answer, a.park(ctx, won, holds, &answer)
}

// windows keeps the slots of rates for their window from now on: a claim that
// crashes cannot say any more when its handler started.
func (a *admitting) windows(i int) (holds []driven.Holding) {
	for _, slot := range a.all[i].Slots {
		if window := a.bounds[slot.Key].Window; window > 0 {
			holds = append(holds, driven.Holding{Ticket: a.wants[i].Ticket, Slot: slot, For: window})
		}
	}
	return holds
}

// take takes the slots that were planned.
func (a *admitting) take(ctx context.Context) (map[domain.Slot]domain.JobID, error) {
	var asks []SlotAsk
	for i := range a.all {
		for _, slot := range a.all[i].Slots {
			asks = append(asks, SlotAsk{slot, a.wants[i].Ticket})
		}
	}
	return a.s.takeSlots(ctx, a.c, asks)
}

// heads reads whose turn it is at the keys that were won.
func (a *admitting) heads(ctx context.Context, won map[domain.Slot]domain.JobID) (map[string]domain.JobID, error) {
	keys := make([]string, 0, len(won))
	for slot := range won {
		keys = append(keys, slot.Key)
	}
	return a.s.heads(ctx, a.c, keys)
}

// gone finds those claims that asked for nothing and do not hold their job any
// more. A claim that asked for a slot holds its job if it has one.
func (a *admitting) gone(ctx context.Context) (map[domain.JobID]bool, error) {
	var bare []domain.Ticket
	for i := range a.all {
		if len(a.all[i].Keys) == 0 {
			bare = append(bare, a.wants[i].Ticket)
		}
	}
	lost := map[domain.JobID]bool{}
	for _, part := range chunks(bare, a.s.d.Chunk, func(*domain.Ticket) int { return 80 }) {
		missing, err := a.s.unmatched(ctx, a.c, a.s.t.held, part)
		if err != nil {
			return nil, err
		}
		for _, id := range missing {
			lost[id] = true
		}
	}
	return lost, nil
}

func (a *admitting) admitted(q *domain.Applicant) driven.Admitted {
	got := driven.Admitted{ID: q.ID}
	for _, slot := range q.Slots {
		got.Slots = append(got.Slots, domain.HeldSlot{Slot: slot, Window: a.bounds[slot.Key].Window})
	}
	return got
}

// park gives back what the others won and blocks them on what they lack; holds are
// written along.
func (a *admitting) park(ctx context.Context, won map[domain.Slot]domain.JobID, holds []driven.Holding, answer *driven.Admission) error {
	var losers []int
	wake := map[string]bool{}
	for i := range a.all {
		q := &a.all[i]
		if q.Lacks == "" {
			continue
		}
		losers = append(losers, i)
		for _, slot := range q.Slots {
			if won[slot] == q.ID {
				holds = append(holds, driven.Holding{Ticket: a.wants[i].Ticket, Slot: slot, End: true})
			}
		}
		for _, key := range q.Keys {
			wake[key] = true
		}
	}
	if _, err := a.s.giveBack(ctx, a.c, holds, a.s.t.slots.hold); err != nil {
		return err
	}
	parked := make(map[domain.JobID]bool, len(losers))
	inOrder := slices.SortedFunc(slices.Values(losers), func(x, y int) int { return a.all[x].ID.Compare(a.all[y].ID) })
	for _, part := range chunks(inOrder, a.s.d.Chunk, func(*int) int { return 500 }) {
		if err := a.parkSome(ctx, part, parked); err != nil {
			return err
		}
	}
	for _, i := range losers {
		if q := &a.all[i]; parked[q.ID] {
			answer.Parked = append(answer.Parked, driven.Parking{ID: q.ID, Key: q.Lacks})
		}
	}
	answer.Wake = sorted(wake)
	return nil
}

// parkSome is one statement. Which jobs it found is looked up where it did not find
// all: the others are no longer ours.
func (a *admitting) parkSome(ctx context.Context, part []int, parked map[domain.JobID]bool) error {
	var rows Array
	for _, i := range part {
		t := a.wants[i].Ticket
		rows.Row().ID(t.ID).ID(t.Token).Text(a.all[i].Lacks)
	}
	n, err := a.s.exec(ctx, a.c, a.s.t.admit.park, a.s.now(), rows.String())
	if err != nil {
		return err
	}
	if n == len(part) {
		for _, i := range part {
			parked[a.all[i].ID] = true
		}
		return nil
	}
	found, err := IDs(ctx, a.c, a.s.t.admit.parked, nil, rows.String())
	maps.Copy(parked, found)
	return err
}
