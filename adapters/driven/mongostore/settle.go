package mongostore

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Settle writes each outcome by one guarded update, which is the decision: the
// document leaves its token and, when it ends, its unique key and its place in
// the turns in that very write. Slots are given back after it: while one is taken
// nobody else's turn comes, so the next in turn finds the place left. A crash
// before that leaves slots of a claim that is over, which Reap finds. Failure jobs
// are added last: what a death has left to do is part of its write.
func (s *store) Settle(ctx context.Context, outcomes []driven.Outcome) (answer driven.Settled, err error) {
	err = s.do(ctx, "settle", func(ctx context.Context, now int64) error {
		left, err := s.settle(ctx, outcomes, now)
		if err != nil {
			return err
		}
		if err := s.endSlots(ctx, outcomes, now); err != nil {
			return err
		}
		answer.Dropped = left.dropped
		answer.Refused, err = s.addFailures(ctx, outcomes, left, now)
		return err
	})
	return answer, err
}

// results are what became of outcomes.
type results struct {
	dropped []domain.JobID
	read    map[key]row // of all of them, where not each was found as it was claimed
}

// owes says whether a death has its failure job yet to be added. One that was
// settled by an earlier try of the call may have it, and that may be gone again.
func (v *results) owes(o *driven.Outcome) bool {
	r, read := v.read[key(o.Ticket.ID)]
	return !read && !slices.Contains(v.dropped, o.Ticket.ID) || r.Todo != nil && r.Todo.ID == key(o.Failure.ID)
}

func (s *store) settle(ctx context.Context, outcomes []driven.Outcome, now int64) (v results, err error) {
	var writes []mongo.WriteModel
	var sent []*driven.Outcome
	for i := range outcomes {
		o := &outcomes[i]
		if o.Ticket.Token.IsZero() || !domain.CanMove(domain.ActSettle, domain.Running, o.To) {
			v.dropped = append(v.dropped, o.Ticket.ID)
			continue
		}
		sent = append(sent, o)
		writes = append(writes, outcome(o, now)...)
	}
	t, err := s.bulk(ctx, s.jobs, writes)
	if err != nil || t.matched == int64(len(sent)) {
		return v, err
	}
	var unsettled []domain.JobID
	unsettled, v.read, err = s.unsettled(ctx, sent)
	if err == nil && len(unsettled) > 0 && t.contended != nil {
		return v, t.contended // the call is made again; what took is known by its token
	}
	v.dropped = append(v.dropped, unsettled...)
	return v, err
}

// held chooses the document that the ticket holds.
func held(t domain.Ticket) bson.D {
	return bson.D{{Key: "_id", Value: key(t.ID)}, {Key: "token", Value: key(t.Token)}, {Key: "state", Value: domain.Running}}
}

// outcome is what an outcome writes: one update or, where it hangs on the turns
// that the job takes, one for each answer, of which one at most finds its document.
func outcome(o *driven.Outcome, now int64) []mongo.WriteModel {
	filter, ch := held(o.Ticket), settling(o, now)
	write := func(where bson.E, alter func(*change)) mongo.WriteModel {
		own := change{slices.Clone(ch.set), slices.Clone(ch.unset), ch.inc}
		alter(&own)
		return mongo.NewUpdateOneModel().SetFilter(append(slices.Clone(filter), where)).SetUpdate(own.update())
	}
	if o.Turn {
		switch runAt := now + ms(o.After); o.To {
		case domain.Dead:
			return []mongo.WriteModel{write(keepsPlace, (*change).block), write(leavesPlace, (*change).leave)}
		case domain.Done, domain.Cancelled:
			ch.leave()
		case domain.Scheduled:
			return []mongo.WriteModel{
				write(inChain, func(*change) {}),
				write(inNoChain, func(c *change) { c.put("place", runAt) }),
			}
		default: // due as it was
		}
	}
	return []mongo.WriteModel{mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(ch.update())}
}

// settling is the change of all that hangs on no turn.
func settling(o *driven.Outcome, now int64) (ch change) {
	ch.put("state", o.To)
	ch.put("settled", key(o.Ticket.Token))
	ch.put("ran", o.Ran.Microseconds())
	ch.text("history", string(o.History))
	ch.drop("token", "stuck")
	if o.Counts {
		ch.add("attempts")
		ch.drop("stalls")
	}
	if o.Snoozed {
		ch.add("snoozes")
	}
	if o.To == domain.Done {
		ch.drop("error")
		ch.text("result", string(o.Result))
	} else {
		ch.text("error", o.Error)
	}
	if o.To == domain.Done && o.ForgetArgs {
		ch.put("args", "")
		ch.put("forget_args", forgotten)
	}
	if o.To == domain.Dead && o.Failure != nil {
		ch.leaveTodo(o.Failure)
	}
	switch {
	case o.To.Terminal():
		ch.end(now, expiry(now, o.Keep))
	case o.To == domain.Scheduled:
		ch.put("run_at", now+ms(o.After))
		ch.put("wake_at", now+ms(o.After))
	default:
		ch.put("wake_at", int64(0))
	}
	return ch
}

// end makes a document terminal: its unique key frees here, unless it is a window's.
func (c *change) end(now, until int64) {
	c.put("finished_at", now)
	c.put("wake_at", until)
	c.drop("unique_lock")
}

// unsettled gives those whose outcome is not in their document, and what it read:
// one that says it was settled by our token was, by an earlier try of this call.
func (s *store) unsettled(ctx context.Context, sent []*driven.Outcome) (dropped []domain.JobID, settled map[key]row, err error) {
	settled = make(map[key]row, len(sent))
	fields := bson.D{{Key: "settled", Value: 1}, {Key: "todo", Value: 1}}
	for _, part := range chunks(sent, small) {
		ids := make([]key, len(part))
		for i, o := range part {
			ids[i] = key(o.Ticket.ID)
		}
		rows, err := readAll(ctx, s.jobs, bson.D{among(ids)}, options.Find().SetBatchSize(writeBound).SetProjection(fields))
		if err != nil {
			return nil, nil, err
		}
		for i := range rows {
			settled[rows[i].ID] = rows[i]
		}
	}
	for _, o := range sent {
		if settled[key(o.Ticket.ID)].Settled != key(o.Ticket.Token) {
			dropped = append(dropped, o.Ticket.ID)
		}
	}
	return dropped, settled, nil
}
