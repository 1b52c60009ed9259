package mongostore

import (
	"cmp"
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
	{Key: "tenant", Value: 1},
	{Key: "batch_id", Value: 1},
	{Key: "max_attempts", Value: 1},
	{Key: "failure_kind", Value: 1},
}

// stall is one lapsed claim and what becomes of it.
type stall struct {
	*row
	driven.Recovery
	failure *domain.NewJob // that it is to have
}

// Recover looks, decides each by the domain, and writes each under its token and
// under a lease that is still over: a runner may have renewed one meanwhile. Slots
// are left to Reap, for the handler may still run. It begins with what the deaths
// of those who died themselves left to do.
func (s *store) Recover(ctx context.Context, req driven.RecoverRequest) (answer driven.Recovered, err error) {
	err = s.do(ctx, "recover", func(ctx context.Context, now int64) error {
		if err := s.redo(ctx, now); err != nil {
			return err
		}
		found, err := s.lapsedClaims(ctx, &req, now)
		if err != nil || len(found) == 0 {
			return err
		}
		stalls := make([]stall, len(found))
		for i := range found {
			r := &found[i]
			to, after := req.Stalls.Next(r.Stalls)
			stalls[i] = stall{row: r, Recovery: driven.Recovery{
				ID: domain.JobID(r.ID), Kind: r.Kind, Queue: r.Queue, Runner: r.Runner, To: to, Stalls: r.Stalls + 1, After: after, Batch: domain.BatchID(r.Batch),
			}}
		}
		if err := s.bequeath(ctx, &req, stalls); err != nil {
			return err
		}
		if answer.Jobs, err = s.putBack(ctx, stalls, &req, now); err != nil {
			return err
		}
		answer.More = len(found) >= req.Limit && len(answer.Jobs) > 0
		return nil
	})
	return answer, err
}

// failsInto is the kind of its failure job; "": it has none.
func (x *stall) failsInto(req *driven.RecoverRequest) string {
	job := domain.Job{Kind: x.row.Kind, FailureKind: x.FailureKind}
	return job.FailsInto(req.Failures[x.row.Kind])
}

// bequeath makes the failure jobs of those who die. Their args are read for that
// alone.
func (s *store) bequeath(ctx context.Context, req *driven.RecoverRequest, stalls []stall) error {
	dying := map[key]*stall{}
	var ids []key
	for i := range stalls {
		if x := &stalls[i]; x.To == domain.Dead && x.failsInto(req) != "" {
			dying[x.row.ID], ids = x, append(ids, x.row.ID)
		}
	}
	for _, part := range chunks(ids, small) {
		rows, err := readAll(ctx, s.jobs, bson.D{among(part)}, options.Find().SetProjection(bson.D{{Key: "args", Value: 1}}))
		if err != nil {
			return err
		}
		for i := range rows {
			x := dying[rows[i].ID]
			job := x.job()
			job.Args = []byte(rows[i].Args)
			made, err := domain.FailureJob(&job, x.failsInto(req), domain.Token(x.Token),
				x.Attempts+1, cmp.Or(x.MaxAttempts, req.Attempts), domain.StallMessage(x.row.Runner))
			if x.Refused = err != nil; !x.Refused {
				x.failure, x.Failed = &made, made.ID
			}
		}
	}
	return nil
}

// putBack writes what becomes of the claims, gives those that it found as they were
// read, and adds the failure jobs of the dead.
func (s *store) putBack(ctx context.Context, stalls []stall, req *driven.RecoverRequest, now int64) (jobs []driven.Recovery, err error) {
	mark := newMark()
	writes, ids := make([]mongo.WriteModel, len(stalls)), make([]key, len(stalls))
	for i := range stalls {
		x := &stalls[i]
		filter := append(lapsed(domain.Running, now), bson.E{Key: "_id", Value: x.row.ID}, bson.E{Key: "token", Value: x.Token})
		writes[i], ids[i] = mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(x.update(req, now, mark)), x.row.ID
	}
	t, err := s.bulk(ctx, s.jobs, writes)
	if err != nil {
		return nil, err
	}
	done, err := s.written(ctx, t, ids, mark)
	if err != nil {
		return nil, err
	}
	var debts []debt
	for i := range stalls {
		if x := &stalls[i]; done[x.row.ID] && x.failure != nil {
			debts = append(debts, debt{x.row.ID, key(x.failure.ID), x.failure})
		}
	}
	without, err := s.pay(ctx, debts, now)
	if err != nil {
		return nil, err
	}
	for i := range stalls {
		x := &stalls[i]
		if without[x.row.ID] {
			x.Failed, x.Refused = domain.JobID{}, true
		}
		if done[x.row.ID] {
			jobs = append(jobs, x.Recovery)
		}
	}
	if len(jobs) == 0 && t.contended != nil {
		return nil, t.contended
	}
	return jobs, nil
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

// update is what becomes of one claim. `settled` stays: the stale runner's outcome
// must not pass for one that was written.
func (x *stall) update(req *driven.RecoverRequest, now int64, mark key) bson.D {
	r := x.row
	message := domain.StallMessage(r.Runner)
	history := domain.History(r.History).Add(domain.Note{
		At: at(now), Attempt: r.Attempts + 1, Ran: span(now - r.ClaimedAt), Message: message, Runner: r.Runner,
	})
	var ch change
	ch.put("state", x.To)
	ch.put("mark", mark)
	ch.put("error", message)
	ch.put("history", string(history))
	ch.add("stalls")
	ch.drop("token", "stuck")
	if x.failure != nil {
		ch.leaveTodo(x.failure)
	}
	if x.To == domain.Dead {
		ch.end(now, expiry(now, r.keep(x.To, domain.Retention{Dead: req.KeepDead})))
		r.die(&ch)
	} else {
		r.follow(&ch, now+ms(x.After))
		ch.put("run_at", now+ms(x.After))
		ch.put("wake_at", now+ms(x.After))
	}
	return ch.update()
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
