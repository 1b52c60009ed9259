package mongostore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// insertTries bounds how often rows are judged again because somebody else took
// an id or key between the look and the write.
const insertTries = 6

// conflictWait is the most that a transaction which others ended waits before the second
// try, doubled with each: of many that met one is alone by then.
const conflictWait = 4 * time.Millisecond

// Insert writes many rows in a transaction where the deployment has them. Else
// the rows are written one by one by the server, which is why such a backend
// says that its bulk is not atomic: cut short, the call is completed by the same
// call with the same ids. A Conflict still leaves nothing: rows that may refuse
// the call are looked up before anything is written, and when such a row loses a
// race all the same, what the call had written is removed again, unless a runner
// has claimed it by then. Holders of keys are changed last, when no row is refused
// any more.
func (s *store) Insert(ctx context.Context, jobs []domain.NewJob) (res []driven.Inserted, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	err = s.inserting(ctx, jobs, func(ctx context.Context, now int64) error {
		in := newIntake(jobs, now)
		res = in.res
		return s.joining(ctx, in, now, func() error {
			if s.set && len(jobs) > 1 {
				return s.insertInTx(ctx, in)
			}
			return s.insertLoose(ctx, in)
		})
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// inserting is do for new jobs. Those that take turns need the indexes of a later
// step, members of batches their collection.
func (s *store) inserting(ctx context.Context, jobs []domain.NewJob, work func(ctx context.Context, now int64) error) error {
	step := int32(jobsStep)
	for i := range jobs {
		if jobs[i].Turn != domain.NoTurn {
			step = max(step, boundsStep)
		}
		if !jobs[i].Batch.IsZero() {
			step = max(step, batchesStep)
		}
	}
	return s.after(ctx, "insert", step, work)
}

// insertLoose writes without a transaction.
func (s *store) insertLoose(ctx context.Context, in *intake) error {
	for try := range insertTries {
		again, err := s.attempt(ctx, in, try > 0 || in.looksFirst())
		switch {
		case err != nil && broken(err):
			return err // what was written stays: the caller comes again with the same ids
		case err != nil:
			return s.takeBack(ctx, in, err)
		case !again:
			return nil
		}
	}
	return s.takeBack(ctx, in, errChanging)
}

var errChanging = &domain.Fault{Code: domain.Contended, Op: "insert", Hint: "the holder of a unique key keeps changing: try again"}

// insertInTx writes all rows or none. A row that is refused, and a conflict with
// another transaction, ends this one; the next one looks first.
func (s *store) insertInTx(ctx context.Context, in *intake) error {
	return s.inTx(ctx, func(ctx context.Context, try int) (bool, error) {
		in.forget()
		return s.attempt(ctx, in, try > 0 || in.looksFirst())
	})
}

// inTx does work in one transaction, or in another one as often as it is ended by
// others or is to be done again.
func (s *store) inTx(ctx context.Context, work func(ctx context.Context, try int) (again bool, err error)) error {
	session, err := s.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	for try := range insertTries {
		again, err := transact(mongo.NewSessionContext(ctx, session), session, func(ctx context.Context) (bool, error) { return work(ctx, try) })
		if err == nil && !again {
			return nil
		}
		if code, _ := codeOf(err); err != nil && code != domain.Contended {
			return err
		}
		if err := pause(ctx, rand.N(conflictWait<<try)); err != nil { //nolint:gosec // no secret
			return err
		}
	}
	return errChanging
}

// transact is one transaction; it took unless it is to be done again.
func transact(ctx context.Context, session *mongo.Session, work func(context.Context) (again bool, err error)) (again bool, err error) {
	if err := session.StartTransaction(); err != nil {
		return false, err
	}
	again, err = work(ctx)
	if err == nil && !again {
		return false, session.CommitTransaction(ctx)
	}
	_ = session.AbortTransaction(context.WithoutCancel(ctx)) // else the server ends it
	return again, err
}

// attempt judges the rows, upon a look or upon nothing, writes those that are new
// and changes the holders. It says whether some were refused after all.
func (s *store) attempt(ctx context.Context, in *intake, look bool) (again bool, err error) {
	var h holders
	if look {
		if h, err = s.holders(ctx, in); err != nil {
			return false, err
		}
	}
	fresh, err := in.judge(h)
	if err != nil {
		return false, err
	}
	for _, part := range chunks(fresh, func(i *int) int { return in.doc(*i).size() }) {
		refused, err := s.write(ctx, in, part)
		if err != nil {
			return false, err
		}
		again = again || refused
	}
	if again {
		return true, nil
	}
	return s.move(ctx, in)
}

// write inserts rows by one command and says whether some were refused because an
// id or key is held, or because they only lost to another write.
func (s *store) write(ctx context.Context, in *intake, part []int) (refused bool, err error) {
	docs := make([]any, len(part))
	for i, n := range part {
		docs[i] = in.doc(n)
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
			return false, err
		}
		return true, nil // the command as a whole gave way: nothing of it is there
	}
	for i, n := range part {
		if !bad[i] && (err == nil || len(bad) > 0) {
			in.mine[in.rows[n].ID] = true
		}
	}
	return len(bad) > 0, err
}

// takeBack removes what a refused call wrote, as far as nobody claimed it.
func (s *store) takeBack(ctx context.Context, in *intake, why error) error {
	var ids []key
	for id := range in.mine {
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
