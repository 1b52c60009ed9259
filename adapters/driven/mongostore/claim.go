package mongostore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// rounds is how often a claim stamps candidates before it takes them one by one.
const rounds = 3

// claim is one Claim at work. It is exact, without a transaction, because
//
//   - the stamp is one updateMany whose filter is a list of at most as many ids
//     as are still wanted, and state 0: a server writes each document atomically
//     and tests the filter again on the version that it writes, so of any number
//     of stamps on one document one takes it, and no document beyond the list is
//     touched: never more than asked;
//   - the token is fresh, so what carries it was taken by this very call and by
//     nothing else: reading back {ids, token} gives what was won, as it is, and
//     not as it was when the candidates were read;
//   - what a crash leaves behind is a running document with a lease, which a
//     sweep puts back as one stall. Nothing else was written.
//
// An updateMany is not repeated by the driver. When its answer is lost the
// documents are read back all the same; one that it still stamps later than
// that lapses like a crash.
type claim struct {
	*store
	driven.ClaimRequest
	now, until int64
	jobs       []driven.Claimed
	tenant     string // whom a fair claim served last
}

// Claim takes what is due in a few round trips: the time, the first scheduled
// document, the candidates, the stamp, what was won.
func (s *store) Claim(ctx context.Context, req driven.ClaimRequest) (claims driven.Claims, err error) {
	err = s.do(ctx, "claim", func(ctx context.Context, now int64) error {
		next, more, err := s.promote(ctx, now)
		if err != nil {
			return err
		}
		c := &claim{store: s, ClaimRequest: req, now: now, until: now + ms(req.Lease)}
		left, err := c.serve(ctx)
		if err != nil && len(c.jobs) == 0 {
			return err // else those that were won count, and the caller comes again
		}
		claims = driven.Claims{Jobs: c.jobs, Tenant: c.tenant, Next: next, More: more || left || err != nil}
		return nil
	})
	return claims, err
}

// serve takes in the order of the line, or of the tenants.
func (c *claim) serve(ctx context.Context) (left bool, err error) {
	if c.Fair {
		return c.takeFair(ctx)
	}
	left, err = c.take(ctx)
	slices.SortFunc(c.jobs, byTurn)
	return left, err
}

// take stamps and says whether something may be left beyond what it took.
func (c *claim) take(ctx context.Context) (left bool, err error) {
	if len(c.Kinds) == 0 || c.N <= 0 {
		return false, nil
	}
	for range rounds {
		want := c.N - len(c.jobs)
		ids, err := c.candidates(ctx, want)
		if err != nil || len(ids) == 0 {
			return false, err
		}
		before := len(c.jobs)
		if err := c.stamp(ctx, ids); err != nil {
			return true, err
		}
		if won := len(c.jobs) - before; won == len(ids) {
			return won == want, nil // full, or all that there was
		}
	}
	return c.singles(ctx)
}

// due chooses what may be claimed. Of a queue and a kind it is one range of the
// index `ready`; the ranges of several kinds are merged in order by the server.
func (c *claim) due(kinds []string) bson.D {
	return bson.D{
		{Key: "state", Value: domain.Ready},
		{Key: "queue", Value: c.Queue},
		{Key: "kind", Value: bson.D{{Key: "$in", Value: kinds}}},
	}
}

var turn = bson.D{{Key: "priority", Value: 1}, {Key: "run_at", Value: 1}, {Key: "_id", Value: 1}}

// candidates reads the ids of the first n due documents, in order.
func (c *claim) candidates(ctx context.Context, n int) ([]key, error) {
	var found []row
	parts := 0
	opts := options.Find().SetSort(turn).SetLimit(int64(n)).SetBatchSize(int32(min(n, writeBound))).
		SetProjection(bson.D{{Key: "priority", Value: 1}, {Key: "run_at", Value: 1}})
	for kinds := range slices.Chunk(c.Kinds, mergeBound) {
		some, err := readAll(ctx, c.store.jobs, c.due(kinds), opts)
		if err != nil {
			return nil, err
		}
		found, parts = append(found, some...), parts+1
	}
	if parts > 1 {
		slices.SortFunc(found, func(a, b row) int { return a.before(&b) })
		found = found[:min(n, len(found))]
	}
	return idsOf(found), nil
}

// stamp takes those of the ids that are still due and adds them to the jobs.
func (c *claim) stamp(ctx context.Context, ids []key) error {
	var lost error
	for part := range slices.Chunk(ids, writeBound) {
		filter := bson.D{among(part), {Key: "state", Value: domain.Ready}}
		if _, err := c.store.jobs.UpdateMany(ctx, filter, c.write()); err != nil {
			if lost = err; !broken(err) {
				return err
			}
		}
		won, err := readAll(ctx, c.store.jobs, bson.D{among(part), c.mine()}, options.Find().SetBatchSize(writeBound))
		if err != nil {
			return err
		}
		c.keep(won)
		if lost != nil && len(won) == 0 {
			return lost
		}
	}
	return nil
}

// singles takes a few more one by one, which no other claimer can make vain.
func (c *claim) singles(ctx context.Context) (left bool, err error) {
	opts := options.FindOneAndUpdate().SetSort(turn).SetReturnDocument(options.After)
	for range min(singleBound, c.N-len(c.jobs)) {
		var r row
		err := c.store.jobs.FindOneAndUpdate(ctx, c.due(c.Kinds), c.write(), opts).Decode(&r)
		if isNone(err) {
			return false, nil
		}
		if err != nil {
			return true, err
		}
		c.keep([]row{r})
	}
	return true, nil
}

func (c *claim) mine() bson.E { return bson.E{Key: "token", Value: key(c.Token)} }

// write makes a document this claim's.
func (c *claim) write() bson.D {
	var ch change
	ch.put("state", domain.Running)
	ch.put("token", key(c.Token))
	ch.put("runner", c.Runner)
	ch.put("claimed_at", c.now)
	ch.put("wake_at", c.until)
	ch.drop("stuck")
	return ch.update()
}

func (c *claim) keep(won []row) {
	for i := range won {
		c.jobs = append(c.jobs, driven.Claimed{Token: c.Token, Job: won[i].job()})
	}
}

// promote makes ready what time has made due, so much that the order of claims
// is right, and says how long until time alone moves the next one.
func (s *store) promote(ctx context.Context, now int64) (next time.Duration, more bool, err error) {
	for try := 0; ; try++ {
		var first row
		err = s.jobs.FindOne(ctx, bson.D{{Key: "state", Value: domain.Scheduled}}, options.FindOne().
			SetSort(bson.D{{Key: "wake_at", Value: 1}}).SetProjection(bson.D{{Key: "wake_at", Value: 1}})).Decode(&first)
		switch {
		case isNone(err):
			return driven.NoNext, false, nil
		case err != nil:
			return 0, false, err
		case first.WakeAt > now:
			return min(span(first.WakeAt-now), driven.NoNext), false, nil
		case try > 0:
			return 0, true, nil
		}
		if err := s.promoteDue(ctx, now); err != nil {
			return 0, false, err
		}
	}
}

func (s *store) promoteDue(ctx context.Context, now int64) error {
	filter := lapsed(domain.Scheduled, now)
	due, err := readAll(ctx, s.jobs, filter, options.Find().SetSort(bson.D{{Key: "wake_at", Value: 1}}).
		SetLimit(promoteBound).SetBatchSize(promoteBound).SetProjection(bson.D{{Key: "_id", Value: 1}}))
	if err != nil || len(due) == 0 {
		return err
	}
	var ch change
	ch.put("state", domain.Ready)
	ch.put("wake_at", int64(0))
	_, err = s.jobs.UpdateMany(ctx, append(bson.D{among(idsOf(due))}, filter...), ch.update())
	return err
}

// lapsed chooses documents of a state whose time has come. One with wake_at 0 has none.
func lapsed(state domain.State, now int64) bson.D {
	return bson.D{
		{Key: "state", Value: state},
		{Key: "wake_at", Value: bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: now}}},
	}
}

// among chooses documents by id.
func among(ids []key) bson.E {
	return bson.E{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}
}

func idsOf(rows []row) []key {
	ids := make([]key, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

// byTurn is the order of claims.
func byTurn(a, b driven.Claimed) int {
	return cmp.Or(cmp.Compare(a.Job.Priority, b.Job.Priority), a.Job.RunAt.Compare(b.Job.RunAt), a.Job.ID.Compare(b.Job.ID))
}

func (r *row) before(o *row) int {
	return cmp.Or(cmp.Compare(r.Priority, o.Priority), cmp.Compare(r.RunAt, o.RunAt), slices.Compare(r.ID[:], o.ID[:]))
}

// readAll reads what a filter chooses.
func readAll(ctx context.Context, from *mongo.Collection, filter bson.D, opts *options.FindOptionsBuilder) (rows []row, err error) {
	cursor, err := from.Find(ctx, filter, opts)
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &rows)
	return rows, err
}
