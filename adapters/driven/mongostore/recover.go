package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

var stallFields = bson.D{
	{Key: "token", Value: 1},
	{Key: "kind", Value: 1},
	{Key: "queue", Value: 1},
	{Key: "runner", Value: 1},
	{Key: "stalls", Value: 1},
	{Key: "attempts", Value: 1},
	{Key: "claimed_at", Value: 1},
	{Key: "history", Value: 1},
	{Key: "keep_dead", Value: 1},
	{Key: "turn", Value: 1},
	{Key: "on_dead", Value: 1},
}

// Recover looks, decides each by the domain, and writes each under its token and
// under a lease that is still over: a runner may have renewed one meanwhile. Slots
// are left to Reap, for the handler may still run.
func (s *store) Recover(ctx context.Context, req driven.RecoverRequest) (answer driven.Recovered, err error) {
	err = s.do(ctx, "recover", func(ctx context.Context, now int64) error {
		found, err := s.lapsedClaims(ctx, &req, now)
		if err != nil || len(found) == 0 {
			return err
		}
		mark := newMark()
		writes, verdicts := make([]mongo.WriteModel, len(found)), make(map[key]driven.Recovery, len(found))
		for i := range found {
			r := &found[i]
			filter := append(lapsed(domain.Running, now), bson.E{Key: "_id", Value: r.ID}, bson.E{Key: "token", Value: r.Token})
			verdict, update := putBack(r, &req, now, mark)
			writes[i], verdicts[r.ID] = mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(update), verdict
		}
		t, err := s.bulk(ctx, s.jobs, writes)
		if err != nil {
			return err
		}
		done, err := s.written(ctx, t, idsOf(found), mark)
		if err != nil {
			return err
		}
		for i := range found {
			if done[found[i].ID] {
				answer.Jobs = append(answer.Jobs, verdicts[found[i].ID])
			}
		}
		if len(answer.Jobs) == 0 && t.contended != nil {
			return t.contended
		}
		answer.More = len(found) >= req.Limit && len(answer.Jobs) > 0
		return nil
	})
	return answer, err
}

// lapsedClaims lists claims whose lease ran out, the longest ago first.
func (s *store) lapsedClaims(ctx context.Context, req *driven.RecoverRequest, now int64) ([]row, error) {
	if req.Limit <= 0 {
		return nil, nil
	}
	filter := lapsed(domain.Running, now)
	if req.Except != "" {
		filter = append(filter, bson.E{Key: "runner", Value: bson.D{{Key: "$ne", Value: req.Except}}})
	}
	return readAll(ctx, s.jobs, filter, options.Find().SetSort(bson.D{{Key: "wake_at", Value: 1}}).
		SetLimit(int64(req.Limit)).SetBatchSize(int32(min(req.Limit, writeBound))).SetProjection(stallFields))
}

// putBack decides what becomes of one claim. `settled` stays: the stale runner's
// outcome must not pass for one that was written.
func putBack(r *row, req *driven.RecoverRequest, now int64, mark key) (driven.Recovery, bson.D) {
	to, after := req.Stalls.Next(r.Stalls)
	message := domain.StallMessage(r.Runner)
	history := domain.History(r.History).Add(domain.Note{
		At: at(now), Attempt: r.Attempts + 1, Ran: span(now - r.ClaimedAt), Message: message, Runner: r.Runner,
	})
	var ch change
	ch.put("state", to)
	ch.put("mark", mark)
	ch.put("error", message)
	ch.put("history", string(history))
	ch.add("stalls")
	ch.drop("token", "stuck")
	if to == domain.Dead {
		ch.end(now, expiry(now, r.keep(to, domain.Retention{Dead: req.KeepDead})))
		r.die(&ch)
	} else {
		r.follow(&ch, now+ms(after))
		ch.put("run_at", now+ms(after))
		ch.put("wake_at", now+ms(after))
	}
	return driven.Recovery{ID: domain.JobID(r.ID), Kind: r.Kind, Queue: r.Queue, Runner: r.Runner, To: to, Stalls: r.Stalls + 1, After: after}, ch.update()
}

// written gives the documents that carry the mark: all where all writes matched.
func (s *store) written(ctx context.Context, t tally, ids []key, mark key) (map[key]bool, error) {
	done := make(map[key]bool, len(ids))
	if t.matched == int64(len(ids)) {
		for _, id := range ids {
			done[id] = true
		}
		return done, nil
	}
	for _, part := range chunks(ids, small) {
		filter := bson.D{among(part), {Key: "mark", Value: mark}}
		rows, err := readAll(ctx, s.jobs, filter, onlyIDs())
		if err != nil {
			return nil, err
		}
		for i := range rows {
			done[rows[i].ID] = true
		}
	}
	return done, nil
}
