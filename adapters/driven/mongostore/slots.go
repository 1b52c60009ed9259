package mongostore

import (
	"context"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// slot is the document of one permit, which stays in place. It is taken while it
// has a token, or until ends_at.
type slot struct {
	ID        string `bson:"_id"` // of bound and slot: whoever puts it in anew, it is one document
	Bound     string `bson:"bound"`
	Slot      int    `bson:"slot"`
	Job       key    `bson:"job,omitempty"`
	Token     key    `bson:"token,omitempty"` // of the claim that holds it
	Mark      key    `bson:"mark,omitempty"`  // of the Admit that took it
	EndsAt    int64  `bson:"ends_at"`         // kept at least until then; 0 not kept
	ChangedAt int64  `bson:"changed_at"`
}

func slotID(at domain.Slot) string { return at.Key + "#" + strconv.Itoa(at.Index) }

func (x *slot) at() domain.Slot { return domain.Slot{Key: x.Bound, Index: x.Slot} }

// holds says whether the claim of a ticket has the slot.
func (x *slot) holds(t domain.Ticket) bool { return x.Job == key(t.ID) && x.Token == key(t.Token) }

var (
	noToken  = bson.E{Key: "token", Value: bson.D{{Key: "$exists", Value: false}}}
	anyToken = bson.E{Key: "token", Value: bson.D{{Key: "$exists", Value: true}}}
)

// until chooses slots that are not kept longer than a moment.
func until(moment int64) bson.E {
	return bson.E{Key: "ends_at", Value: bson.D{{Key: "$lte", Value: moment}}}
}

// isTaken chooses taken slots.
func isTaken(now int64) bson.E {
	kept := bson.D{{Key: "ends_at", Value: bson.D{{Key: "$gt", Value: now}}}}
	return bson.E{Key: "$or", Value: bson.A{bson.D{anyToken}, kept}}
}

// heldSlot chooses the slot while the claim has it. No claim's token comes again,
// so a write behind this guard may be repeated, and may come late.
func heldSlot(id string, t domain.Ticket) bson.D {
	return bson.D{{Key: "_id", Value: id}, {Key: "job", Value: key(t.ID)}, {Key: "token", Value: key(t.Token)}}
}

// prolonged chooses the slot also where a sweep took it from the claim and keeps it
// for a while: it has the job alone, and who comes back may prolong that.
func prolonged(id string, t domain.Ticket, now int64) bson.D {
	lingers := bson.D{noToken, {Key: "ends_at", Value: bson.D{{Key: "$gt", Value: now}}}}
	return bson.D{
		{Key: "_id", Value: id}, {Key: "job", Value: key(t.ID)},
		{Key: "$or", Value: bson.A{bson.D{{Key: "token", Value: key(t.Token)}}, lingers}},
	}
}

// release ends the hold of a slot, which is kept for a while.
func (c *change) release(keep time.Duration, now int64) {
	c.drop("job", "token", "mark")
	c.put("changed_at", now)
	c.keep(keep, now)
}

func (c *change) keep(span time.Duration, now int64) {
	ends := int64(0)
	if span > 0 {
		ends = now + ms(span)
	}
	c.put("ends_at", ends)
}

// bounded is do for what needs the collections of bounds and slots.
func (s *store) bounded(ctx context.Context, op string, work func(ctx context.Context, now int64) error) error {
	return s.after(ctx, op, boundsStep, work)
}

// endSlots gives back the slots of outcomes, also of those that were dropped. The
// call is made again when it fails: by then the outcomes are known as written and
// the guard finds those that are left.
func (s *store) endSlots(ctx context.Context, outcomes []driven.Outcome, now int64) error {
	var all []driven.Holding
	for i := range outcomes {
		for _, end := range outcomes[i].Slots {
			all = append(all, driven.Holding{Ticket: outcomes[i].Ticket, Slot: end.Slot, For: end.After, End: true})
		}
	}
	return s.hold(ctx, all, now)
}

// Hold writes each slot under the guard of its ticket.
func (s *store) Hold(ctx context.Context, all []driven.Holding) error {
	return s.bounded(ctx, "hold slots", func(ctx context.Context, now int64) error { return s.hold(ctx, all, now) })
}

func (s *store) hold(ctx context.Context, all []driven.Holding, now int64) error {
	var writes []mongo.WriteModel
	for i := range all {
		h := &all[i]
		if h.Ticket.Token.IsZero() {
			continue
		}
		var ch change
		filter := heldSlot(slotID(h.Slot), h.Ticket)
		if h.End {
			ch.release(h.For, now)
		} else {
			ch.keep(h.For, now)
			filter = prolonged(slotID(h.Slot), h.Ticket, now)
		}
		writes = append(writes, mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(ch.update()))
	}
	t, err := s.bulk(ctx, s.slots, writes)
	if err == nil {
		err = t.fault()
	}
	return err
}

// readSlots reads slots by bound and number.
func (s *store) readSlots(ctx context.Context, filter bson.D, opts *options.FindOptionsBuilder) (all []slot, err error) {
	cursor, err := s.slots.Find(ctx, filter, opts)
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &all)
	return all, err
}

// takenSlots reads the taken slots of some keys.
func (s *store) takenSlots(ctx context.Context, keys []string, now int64) (all []slot, err error) {
	for _, part := range chunks(keys, small) {
		filter := bson.D{{Key: "bound", Value: bson.D{{Key: "$in", Value: part}}}, isTaken(now)}
		some, err := s.readSlots(ctx, filter, options.Find().SetBatchSize(writeBound))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// holding reads under which token the jobs run that run at all.
func (s *store) holding(ctx context.Context, ids []key, fields ...string) (map[key]*row, error) {
	return s.claims(ctx, ids, bson.D{{Key: "state", Value: domain.Running}}, fields...)
}

// claims reads the tokens of those of the jobs that are such.
func (s *store) claims(ctx context.Context, ids []key, such bson.D, fields ...string) (map[key]*row, error) {
	read := bson.D{{Key: "token", Value: 1}}
	for _, name := range fields {
		read = append(read, bson.E{Key: name, Value: 1})
	}
	found := make(map[key]*row, len(ids))
	for _, part := range chunks(ids, small) {
		filter := append(bson.D{among(part)}, such...)
		rows, err := readAll(ctx, s.jobs, filter, options.Find().SetBatchSize(writeBound).SetProjection(read))
		if err != nil {
			return nil, err
		}
		for i := range rows {
			found[rows[i].ID] = &rows[i]
		}
	}
	return found, nil
}
