package mongostore

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// insertTries bounds how often rows are judged again because somebody else took
// an id or key between the look and the write.
const insertTries = 6

// Insert writes many rows in a transaction where the deployment has them. Else
// the rows are written one by one by the server, which is why such a backend
// says that its bulk is not atomic: cut short, the call is completed by the same
// call with the same ids. A Conflict still leaves nothing: rows that may refuse
// the call are looked up before anything is written, and when such a row loses a
// race all the same, what the call had written is removed again, unless a runner
// has claimed it by then.
func (s *store) Insert(ctx context.Context, jobs []domain.NewJob) (res []driven.Inserted, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	err = s.inserting(ctx, jobs, func(ctx context.Context, now int64) error {
		run := s.insertLoose
		if s.set && len(jobs) > 1 {
			run = s.insertInTx
		}
		b := newBatch(jobs, now)
		res = b.res
		return run(ctx, b)
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// inserting is do for new jobs. Those that take turns need the indexes of a later step.
func (s *store) inserting(ctx context.Context, jobs []domain.NewJob, work func(ctx context.Context, now int64) error) error {
	run := s.do
	if slices.ContainsFunc(jobs, func(n domain.NewJob) bool { return n.Turn != domain.NoTurn }) {
		run = s.bounded
	}
	return run(ctx, "insert", work)
}

// insertLoose writes without a transaction.
func (s *store) insertLoose(ctx context.Context, b *batch) error {
	for try := range insertTries {
		refused, err := s.attempt(ctx, b, try > 0 || b.looksFirst())
		switch {
		case err != nil && broken(err):
			return err // what was written stays: the caller comes again with the same ids
		case err != nil:
			return s.takeBack(ctx, b, err)
		case len(refused) == 0:
			return nil
		}
	}
	return s.takeBack(ctx, b, errChanging)
}

var errChanging = &domain.Fault{Code: domain.Contended, Op: "insert", Hint: "the holder of a unique key keeps changing: try again"}

// insertInTx writes all rows or none. A row that is refused, and a conflict with
// another transaction, ends this one; the next one looks first.
func (s *store) insertInTx(ctx context.Context, b *batch) error {
	session, err := s.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	for try := range insertTries {
		took, err := s.transact(mongo.NewSessionContext(ctx, session), session, b, try > 0 || b.looksFirst())
		if err == nil && took {
			return nil
		}
		if code, _ := codeOf(err); err != nil && code != domain.Contended {
			return err
		}
	}
	return errChanging
}

// transact is one transaction; it took unless rows were refused.
func (s *store) transact(ctx context.Context, session *mongo.Session, b *batch, look bool) (took bool, err error) {
	if err := session.StartTransaction(); err != nil {
		return false, err
	}
	clear(b.mine)
	refused, err := s.attempt(ctx, b, look)
	if err == nil && len(refused) == 0 {
		return true, session.CommitTransaction(ctx)
	}
	_ = session.AbortTransaction(context.WithoutCancel(ctx)) // else the server ends it
	return false, err
}

// attempt judges the rows, upon a look or upon nothing, and writes those that
// are new. It gives the rows that were refused after all.
func (s *store) attempt(ctx context.Context, b *batch, look bool) (refused []int, err error) {
	var h holders
	if look {
		if h, err = s.holders(ctx, b); err != nil {
			return nil, err
		}
	}
	fresh, err := b.judge(h)
	if err != nil {
		return nil, err
	}
	for _, part := range chunks(fresh, func(i *int) int { return b.rows[*i].size() }) {
		held, err := s.write(ctx, b, part)
		if err != nil {
			return nil, err
		}
		refused = append(refused, held...)
	}
	return refused, nil
}

// write inserts rows by one command and gives those that were refused because an
// id or key is held, or because they only lost to another write.
func (s *store) write(ctx context.Context, b *batch, part []int) (refused []int, err error) {
	docs := make([]any, len(part))
	for i, n := range part {
		docs[i] = &b.rows[n]
	}
	_, err = s.jobs.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false))
	bad := map[int]bool{}
	var each mongo.BulkWriteException
	switch {
	case errors.As(err, &each) && each.WriteConcernError == nil && len(each.WriteErrors) > 0:
		err = nil
		for _, one := range each.WriteErrors {
			if code, _ := codeOf(one.WriteError); code != domain.Contended {
				err = one.WriteError
			}
			bad[one.Index] = true
		}
	case err != nil && !broken(err) && !has(err, duplicateKey):
		if code, _ := codeOf(err); code != domain.Contended {
			return nil, err
		}
		return part, nil // the command as a whole gave way: nothing of it is there
	}
	for i, n := range part {
		if bad[i] {
			refused = append(refused, n)
		} else if err == nil || len(bad) > 0 {
			b.mine[b.rows[n].ID] = true
		}
	}
	return refused, err
}

// takeBack removes what a refused call wrote, as far as nobody claimed it.
func (s *store) takeBack(ctx context.Context, b *batch, why error) error {
	var ids []key
	for id := range b.mine {
		ids = append(ids, id)
	}
	for _, part := range chunks(ids, small) {
		unclaimed := bson.D{
			among(part),
			{Key: "claimed_at", Value: bson.D{{Key: "$exists", Value: false}}},
			{Key: "state", Value: bson.D{{Key: "$lte", Value: domain.Scheduled}}},
		}
		if _, err := s.jobs.DeleteMany(ctx, unclaimed); err != nil {
			return err
		}
	}
	return why
}

// holders looks up who has the ids and keys that the rows want.
func (s *store) holders(ctx context.Context, b *batch) (h holders, err error) {
	h = holders{ids: map[key]bool{}, locks: map[string]key{}}
	for _, part := range chunks(b.rows, small) {
		rows, err := readAll(ctx, s.jobs, bson.D{among(idsOf(part))}, onlyIDs())
		if err != nil {
			return h, err
		}
		for i := range rows {
			h.ids[rows[i].ID] = true
		}
		var locks []string
		for i := range part {
			if part[i].UniqueLock != "" {
				locks = append(locks, part[i].UniqueLock)
			}
		}
		if err := s.locks(ctx, locks, h.locks); err != nil {
			return h, err
		}
	}
	return h, nil
}

// locks adds who holds the unique keys.
func (s *store) locks(ctx context.Context, locks []string, to map[string]key) error {
	if len(locks) == 0 {
		return nil
	}
	filter := bson.D{{Key: "unique_lock", Value: bson.D{{Key: "$in", Value: locks}}}}
	rows, err := readAll(ctx, s.jobs, filter, options.Find().SetBatchSize(writeBound).SetProjection(bson.D{{Key: "unique_lock", Value: 1}}))
	for i := range rows {
		to[rows[i].UniqueLock] = rows[i].ID
	}
	return err
}
