package mongostore

import (
	"context"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// close gives back what losers hold, parks them, and answers.
func (a *admit) close(ctx context.Context) (answer driven.Admission, err error) {
	losers := map[key]int{}
	for i := range a.all {
		p := &a.all[i]
		if p.Lacks != "" {
			losers[key(p.ID)] = i
			answer.Wake = append(answer.Wake, p.Keys...) // also of one that is lost by now: it may have held a slot
			continue
		}
		got := driven.Admitted{ID: p.ID}
		for _, at := range p.Slots {
			got.Slots = append(got.Slots, domain.HeldSlot{Slot: at, Window: a.bounds[at.Key].Window})
		}
		answer.Admitted = append(answer.Admitted, got)
	}
	if len(losers) == 0 {
		return answer, nil
	}
	var back []slot
	for _, x := range a.asked() {
		if _, lost := losers[x.Job]; lost && a.won[x.at()] == domain.JobID(x.Job) {
			back = append(back, x)
		}
	}
	if err := a.giveBack(ctx, back); err != nil {
		return driven.Admission{}, err
	}
	slices.Sort(answer.Wake)
	answer.Wake = slices.Compact(answer.Wake)
	answer.Parked, err = a.park(ctx, losers)
	return answer, err
}

// park ends the claims of the losers. No attempt was used.
func (a *admit) park(ctx context.Context, losers map[key]int) (parked []driven.Parking, err error) {
	ids := slices.SortedFunc(maps.Keys(losers), func(x, y key) int { return slices.Compare(x[:], y[:]) })
	writes := make([]mongo.WriteModel, len(ids))
	for n, id := range ids {
		i := losers[id]
		var ch change
		ch.put("state", domain.Blocked)
		ch.put("blocked_on", a.all[i].Lacks)
		ch.put("wake_at", int64(0))
		ch.put("mark", a.mark)
		ch.drop("token", "stuck")
		writes[n] = mongo.NewUpdateOneModel().SetFilter(held(a.wants[i].Ticket)).SetUpdate(ch.update())
	}
	t, err := a.bulk(ctx, a.jobs, writes)
	if err != nil {
		return nil, err
	}
	if t.contended != nil {
		return nil, t.contended // the call is made again: those that are parked hold no claim any more
	}
	done, err := a.written(ctx, t, ids, a.mark)
	for i := range a.all {
		if p := &a.all[i]; p.Lacks != "" && done[key(p.ID)] {
			parked = append(parked, driven.Parking{ID: p.ID, Key: p.Lacks})
		}
	}
	return parked, err
}
