package mongostore

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// idle is how long a slot must have been free before its document goes.
const idle = time.Minute

var slotOrder = bson.D{{Key: "bound", Value: 1}, {Key: "slot", Value: 1}}

// behind chooses slots after one, in their order.
func behind(after domain.Slot) bson.E {
	return bson.E{Key: "$or", Value: bson.A{
		bson.D{{Key: "bound", Value: bson.D{{Key: "$gt", Value: after.Key}}}},
		bson.D{{Key: "bound", Value: after.Key}, {Key: "slot", Value: bson.D{{Key: "$gt", Value: after.Index}}}},
	}}
}

// Expire frees slots by a write that says again why, and names the keys of all
// that it read: one that was taken meanwhile is no harm to a Wake.
func (s *store) Expire(ctx context.Context, limit int) (answer driven.Expired, err error) {
	err = s.bounded(ctx, "expire slots", func(ctx context.Context, now int64) error {
		kept := func(moments bson.D, n int) ([]slot, error) {
			return s.readSlots(ctx, bson.D{noToken, {Key: "ends_at", Value: moments}},
				options.Find().SetSort(bson.D{{Key: "ends_at", Value: 1}}).SetLimit(int64(n)).SetBatchSize(int32(min(n, writeBound))))
		}
		over := bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: now}}
		found, err := kept(over, max(limit, 0)+1)
		if err != nil {
			return err
		}
		later, err := kept(bson.D{{Key: "$gt", Value: now}}, 1)
		if err != nil {
			return err
		}
		answer.Next, answer.More = driven.NoNext, len(found) > limit
		if len(later) > 0 {
			answer.Next = min(answer.Next, span(later[0].EndsAt-now))
		}
		found = found[:min(len(found), max(limit, 0))]
		if err := s.expire(ctx, found, over, now); err != nil {
			return err
		}
		answer.Keys = keysOf(found)
		return nil
	})
	return answer, err
}

func (s *store) expire(ctx context.Context, found []slot, over bson.D, now int64) error {
	var ch change
	ch.put("ends_at", int64(0))
	ch.put("changed_at", now)
	for _, part := range chunks(found, small) {
		filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: slotIDs(part)}}}, noToken, {Key: "ends_at", Value: over}}
		if _, err := s.slots.UpdateMany(ctx, filter, ch.update()); err != nil {
			return err
		}
	}
	return nil
}

// Reap reads slots first and then the jobs: a slot's claim began before it took
// the slot, and one that is over does not begin again. So what is found without
// its claim stays so, whatever happens before the write.
func (s *store) Reap(ctx context.Context, req driven.ReapRequest) (answer driven.Reaped, err error) {
	err = s.bounded(ctx, "reap slots", func(ctx context.Context, now int64) error {
		if req.Limit <= 0 {
			return nil
		}
		page, err := s.readSlots(ctx, bson.D{behind(req.After)}, options.Find().SetSort(slotOrder).
			SetLimit(int64(req.Limit)+1).SetBatchSize(int32(min(req.Limit+1, writeBound))))
		if err != nil || len(page) == 0 {
			return err
		}
		answer.More = len(page) > req.Limit
		page = page[:min(len(page), req.Limit)]
		answer.Last = page[len(page)-1].at()
		var held, unused []slot
		for _, x := range page {
			switch {
			case !x.Token.IsZero() && x.EndsAt <= now:
				held = append(held, x)
			case x.Token.IsZero() && x.EndsAt == 0 && x.ChangedAt < now-ms(idle):
				unused = append(unused, x)
			}
		}
		if answer.Orphans, err = s.reap(ctx, held, req.Linger, now); err != nil {
			return err
		}
		return s.forget(ctx, unused, now)
	})
	return answer, err
}

// reap frees the slots whose claim is over.
func (s *store) reap(ctx context.Context, held []slot, linger time.Duration, now int64) (orphans int, err error) {
	running, err := s.holding(ctx, jobsOf(held))
	if err != nil {
		return 0, err
	}
	var writes []mongo.WriteModel
	for i := range held {
		x := &held[i]
		if r := running[x.Job]; r != nil && r.Token == x.Token {
			continue
		}
		filter := append(heldSlot(x.ID, domain.Ticket{ID: domain.JobID(x.Job), Token: domain.Token(x.Token)}), until(now))
		var ch change
		ch.drop("token", "mark") // the job stays: its runner may come back
		ch.put("changed_at", now)
		ch.keep(linger, now)
		writes = append(writes, mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(ch.update()))
	}
	t, err := s.bulk(ctx, s.slots, writes)
	if err == nil {
		err = t.fault()
	}
	return int(t.matched), err
}

// forget removes documents of slots that nobody wanted for a while. Who takes one
// puts it in again.
func (s *store) forget(ctx context.Context, unused []slot, now int64) error {
	for _, part := range chunks(unused, small) {
		_, err := s.slots.DeleteMany(ctx, bson.D{
			{Key: "_id", Value: bson.D{{Key: "$in", Value: slotIDs(part)}}}, noToken, {Key: "ends_at", Value: int64(0)},
			{Key: "changed_at", Value: bson.D{{Key: "$lt", Value: now - ms(idle)}}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Held lists taken slots, with the runners of those whose claim goes on.
func (s *store) Held(ctx context.Context, after domain.Slot, limit int) (all []domain.Holder, err error) {
	err = s.bounded(ctx, "list held slots", func(ctx context.Context, now int64) error {
		if limit <= 0 {
			return nil
		}
		filter := bson.D{{Key: "$and", Value: bson.A{bson.D{behind(after)}, bson.D{isTaken(now)}}}}
		page, err := s.readSlots(ctx, filter, options.Find().SetSort(slotOrder).SetLimit(int64(limit)).SetBatchSize(int32(min(limit, writeBound))))
		if err != nil {
			return err
		}
		rows, err := s.claims(ctx, jobsOf(page), nil, "claimed_at", "runner")
		if err != nil {
			return err
		}
		for i := range page {
			x := &page[i]
			h := domain.Holder{Slot: x.at(), Job: domain.JobID(x.Job), Over: true, Since: at(x.ChangedAt), Left: max(span(x.EndsAt-now), 0)}
			switch r := rows[x.Job]; {
			case r == nil || x.Token.IsZero():
			case r.Token == x.Token:
				h.Runner, h.Over = r.Runner, false
			case r.ClaimedAt <= x.ChangedAt: // no other claim began since
				h.Runner = r.Runner
			}
			all = append(all, h)
		}
		return nil
	})
	return all, err
}

func slotIDs(all []slot) []string {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids
}

// jobsOf are the holders.
func jobsOf(all []slot) (ids []key) {
	for i := range all {
		if !all[i].Job.IsZero() {
			ids = append(ids, all[i].Job)
		}
	}
	return ids
}

// keysOf are the keys of slots, each once.
func keysOf(all []slot) []string {
	keys := make([]string, len(all))
	for i := range all {
		keys[i] = all[i].Bound
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
