package mongostore

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// admit is one Admit at work. It is exact, without a transaction, because
//
//   - a slot is one document, and taking it is one write of that document which
//     finds it only while nobody has it; where there is none the write puts it in,
//     and its _id lets one of any number do so. So a slot has one holder, and a
//     bound as many as it has slots, whatever was read before;
//   - who has the turn at a key is looked up while its slot is held, and only the
//     holder starts. A job leaves its place in the write that settles it, and its
//     slot is given back after that write: whoever finds the slot free finds the
//     place left, too. So nobody starts beside, or before, the one ahead of him;
//   - what is given back is guarded by the claim and by the mark of this very
//     call. A give-back that comes late, after the caller had no answer and asked
//     again, cannot take away what the second call won;
//   - slots are given back before their job is parked, and it is parked before its
//     keys are woken. Between the first two the job still runs, without having
//     started: its lease ends, as after any crash. After the second it waits on a
//     key that a sweep wakes. Slots that a crash leaves taken belong to a claim
//     that is over, or will be when its lease is: Reap frees them.
//
// The take waits for a majority: a server that is no longer the primary gives none.
type admit struct {
	*store
	now    int64
	mark   key
	wants  []driven.Want      // of claims that are still held
	all    []domain.Applicant // of the same
	bounds domain.Bounds
	won    map[domain.Slot]domain.JobID
}

// Admit reads what the jobs ask for and what is taken, takes, looks whose turn it
// is, and parks those that lack something.
func (s *store) Admit(ctx context.Context, req driven.AdmitRequest) (answer driven.Admission, err error) {
	err = s.bounded(ctx, "admit", func(ctx context.Context, now int64) error {
		a := &admit{store: s, now: now, mark: newMark(), bounds: domain.Bounds{}, won: map[domain.Slot]domain.JobID{}}
		if err := a.apply(ctx, req.Wants); err != nil || len(a.all) == 0 {
			return err
		}
		if err := a.read(ctx); err != nil {
			return err
		}
		a.bounds.Plan(a.all, rand.IntN(domain.MaxSlots))
		if err := a.take(ctx); err != nil {
			return err
		}
		heads, err := a.heads(ctx)
		if err != nil {
			return err
		}
		domain.JudgeApplicants(a.all, a.won, heads)
		answer, err = a.close(ctx)
		return err
	})
	return answer, err
}

// apply lists the claims that are still held, with the keys of their bounds.
func (a *admit) apply(ctx context.Context, wants []driven.Want) error {
	ids := make([]key, len(wants))
	for i := range wants {
		ids[i] = key(wants[i].Ticket.ID)
	}
	running, err := a.holding(ctx, ids, "keys", "place")
	if err != nil {
		return err
	}
	declared, err := a.declaredFor(ctx, wants)
	if err != nil {
		return err
	}
	for _, w := range wants {
		r := running[key(w.Ticket.ID)]
		if r == nil || r.Token != key(w.Ticket.Token) {
			continue
		}
		p := domain.Applicant{ID: w.Ticket.ID}
		if w.Turn && r.Place != nil {
			p.Keys, p.Due = slices.Clone(r.Keys), *r.Place
		}
		for _, of := range p.Keys {
			a.bounds[of] = &domain.Bound{N: 1}
		}
		for _, sort := range []domain.BoundSort{domain.BoundLimit, domain.BoundRate} {
			if d := declared[declaredID(w.Kind, sort)]; d.N > 0 && (sort == domain.BoundLimit && w.Limit || sort == domain.BoundRate && w.Rate) {
				of := d.Key(w.Own(sort))
				p.Keys = append(p.Keys, of)
				a.bounds[of] = &domain.Bound{N: d.N, Window: d.Window}
			}
		}
		a.wants, a.all = append(a.wants, w), append(a.all, p)
	}
	return nil
}

// read learns which slots are taken. What an earlier try of this call took is
// given back: it may want others now.
func (a *admit) read(ctx context.Context) error {
	taken, err := a.takenSlots(ctx, slices.Sorted(maps.Keys(a.bounds)), a.now)
	if err != nil {
		return err
	}
	tickets := make(map[key]domain.Ticket, len(a.wants))
	for i := range a.wants {
		tickets[key(a.wants[i].Ticket.ID)] = a.wants[i].Ticket
	}
	var left []slot
	for i := range taken {
		x := &taken[i]
		if t, asks := tickets[x.Job]; asks && x.holds(t) {
			left = append(left, *x)
			continue
		}
		b := a.bounds[x.Bound]
		b.Taken = append(b.Taken, x.Slot)
	}
	return a.giveBack(ctx, left)
}

// giveBack frees slots that are as they were read.
func (a *admit) giveBack(ctx context.Context, all []slot) error {
	var writes []mongo.WriteModel
	for i := range all {
		x := &all[i]
		filter := append(heldSlot(x.ID, domain.Ticket{ID: domain.JobID(x.Job), Token: domain.Token(x.Token)}), bson.E{Key: "mark", Value: x.Mark})
		var ch change
		ch.release(0, a.now)
		writes = append(writes, mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(ch.update()))
	}
	t, err := a.bulk(ctx, a.slots, writes)
	if err == nil {
		err = t.fault()
	}
	return err
}

// take asks for the slots, in their order: whoever takes several at once on a
// server that locks them meets others in the same order. One that is refused was
// taken by somebody who was faster, or is while nobody gets it: its job is parked
// either way, and woken.
func (a *admit) take(ctx context.Context) error {
	asked := a.asked()
	slices.SortFunc(asked, func(x, y slot) int { return cmp.Or(cmp.Compare(x.Bound, y.Bound), cmp.Compare(x.Slot, y.Slot)) })
	writes := make([]mongo.WriteModel, len(asked))
	for i := range asked {
		x := &asked[i]
		writes[i] = mongo.NewUpdateOneModel().SetUpsert(true).SetFilter(bson.D{{Key: "_id", Value: x.ID}, noToken, until(a.now)}).
			SetUpdate(bson.D{
				{Key: "$set", Value: bson.D{
					{Key: "job", Value: x.Job}, {Key: "token", Value: x.Token}, {Key: "mark", Value: a.mark},
					{Key: "ends_at", Value: x.EndsAt}, {Key: "changed_at", Value: a.now},
				}},
				{Key: "$setOnInsert", Value: bson.D{{Key: "bound", Value: x.Bound}, {Key: "slot", Value: x.Slot}}},
			})
	}
	t, err := a.bulk(ctx, a.slots, writes)
	if err != nil {
		return err
	}
	for _, refusal := range t.refused {
		if code, _ := codeOf(refusal); code != domain.Contended {
			return refusal
		}
	}
	if t.matched < int64(len(asked)) {
		if asked, err = a.mine(ctx, asked); err != nil {
			return err
		}
	}
	for i := range asked {
		a.won[asked[i].at()] = domain.JobID(asked[i].Job)
	}
	return nil
}

// asked are the slots that the plan has, as they are once they are taken. That of a
// rate is kept for its window: a claim that crashes cannot say any more when its
// handler started.
func (a *admit) asked() (all []slot) {
	for i := range a.all {
		for _, at := range a.all[i].Slots {
			x := slot{
				ID: slotID(at), Bound: at.Key, Slot: at.Index, Mark: a.mark,
				Job: key(a.wants[i].Ticket.ID), Token: key(a.wants[i].Ticket.Token),
			}
			if b := a.bounds[at.Key]; b != nil && b.Window > 0 {
				x.EndsAt = a.now + ms(b.Window)
			}
			all = append(all, x)
		}
	}
	return all
}

// mine reads which slots this call took.
func (a *admit) mine(ctx context.Context, asked []slot) (all []slot, err error) {
	for _, part := range chunks(asked, small) {
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = part[i].ID
		}
		filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}, {Key: "mark", Value: a.mark}}
		some, err := a.readSlots(ctx, filter, options.Find().SetBatchSize(writeBound))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// heads looks up whose turn it is at each key whose slot was won.
func (a *admit) heads(ctx context.Context) (map[string]domain.JobID, error) {
	heads := map[string]domain.JobID{}
	for at := range a.won {
		if k, ok := domain.ParseBoundKey(at.Key); !ok || !k.Sort.Turns() {
			continue
		}
		first, err := a.head(ctx, at.Key)
		if err != nil {
			return nil, err
		}
		if first != nil {
			heads[at.Key] = domain.JobID(first.ID)
		}
	}
	return heads, nil
}
