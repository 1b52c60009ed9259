package mongostore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// todo is the failure job of a death, which the write that is the death leaves to
// be added. With what the dead document has it can be made again, so a crash in
// between is made good by any sweep; under one id it is one job, however often it
// is added, as long as its document is there: see ownLife.
type todo struct {
	ID          key    `bson:"id"`
	Kind        string `bson:"kind"`
	Attempt     int    `bson:"attempt"`
	MaxAttempts int    `bson:"max_attempts"`
}

// ownLife is how long a terminal document that Rowlock added by itself stays at
// least: longer than a call that is still about to add it may take.
const ownLife = time.Hour

// todoPage is how many deaths are made good at once.
const todoPage = 50

// debt is a death and the failure job that it has yet to have; nil: none can be made.
type debt struct {
	dead, id key
	job      *domain.NewJob
}

// todoOf is what a death leaves to be done, nothing where that would have the death
// itself refused. Attempts are read from the args that were made of them.
func todoOf(n *domain.NewJob) *todo {
	if domain.ValidateName("kind", n.Kind, domain.MaxKind) != nil {
		return nil
	}
	var args struct {
		Job struct {
			Attempt     int `json:"attempt"`
			MaxAttempts int `json:"max_attempts"`
		} `json:"job"`
	}
	_ = json.Unmarshal(n.Args, &args) // else they stay 0
	return &todo{key(n.ID), n.Kind, args.Job.Attempt, args.Job.MaxAttempts}
}

// leaveTodo is part of the write that is the death.
func (c *change) leaveTodo(n *domain.NewJob) {
	if left := todoOf(n); left != nil {
		c.put("todo", left)
	}
}

// addFailures adds the failure jobs of outcomes that stand, as far as they are to be
// added still, and names those who are dead without.
func (s *store) addFailures(ctx context.Context, outcomes []driven.Outcome, left results, now int64) ([]domain.JobID, error) {
	var all []debt
	for i := range outcomes {
		if o := &outcomes[i]; o.To == domain.Dead && o.Failure != nil && left.owes(o) {
			all = append(all, debt{key(o.Ticket.ID), key(o.Failure.ID), o.Failure})
		}
	}
	without, err := s.pay(ctx, all, now)
	var refused []domain.JobID
	for _, d := range all {
		if without[d.dead] {
			refused = append(refused, domain.JobID(d.dead))
		}
	}
	return refused, err
}

// pay adds failure jobs, takes that from what is to be done, and names the dead
// who have none.
func (s *store) pay(ctx context.Context, all []debt, now int64) (without map[key]bool, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	var jobs []*domain.NewJob
	var whose []key
	without = map[key]bool{}
	writes := make([]mongo.WriteModel, len(all))
	for i, d := range all {
		if without[d.dead] = d.job == nil; d.job != nil {
			jobs, whose = append(jobs, d.job), append(whose, d.dead)
		}
		filter := bson.D{{Key: "_id", Value: d.dead}, {Key: "todo.id", Value: d.id}}
		writes[i] = mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(bson.D{{Key: "$unset", Value: bson.D{{Key: "todo", Value: ""}}}})
	}
	refused, err := s.addOwn(ctx, jobs, now)
	if err != nil {
		return nil, err
	}
	for i, dead := range whose {
		without[dead] = refused[i]
	}
	t, err := s.bulk(ctx, s.jobs, writes)
	if err == nil {
		err = t.fault()
	}
	return without, err
}

// redo makes good what deaths left to be done, of the chosen documents.
func (s *store) redo(ctx context.Context, now int64, where ...bson.E) error {
	filter := append(bson.D{hasTodo}, where...)
	for {
		rows, err := readAll(ctx, s.jobs, filter, options.Find().SetLimit(todoPage).SetBatchSize(todoPage))
		if err != nil || len(rows) == 0 {
			return err
		}
		all := make([]debt, len(rows))
		for i := range rows {
			r := &rows[i]
			all[i] = debt{dead: r.ID, id: r.Todo.ID}
			job := r.job()
			if made, err := domain.FailureJob(&job, r.Todo.Kind, domain.Token{}, r.Todo.Attempt, r.Todo.MaxAttempts, r.Error); err == nil {
				made.ID = domain.JobID(r.Todo.ID)
				all[i].job = &made
			}
		}
		if _, err := s.pay(ctx, all, now); err != nil || len(rows) < todoPage {
			return err
		}
	}
}

var hasTodo = bson.E{Key: "todo", Value: bson.D{{Key: "$exists", Value: true}}}

// addOwn adds jobs that Rowlock makes by itself. One that is there is fine; those
// that are refused for what they are keep none of the others.
func (s *store) addOwn(ctx context.Context, jobs []*domain.NewJob, now int64) (refused map[int]bool, err error) {
	refused = map[int]bool{}
	var rows []row
	var of []int
	for i, n := range jobs {
		if n.Unique == nil && n.Batch.IsZero() {
			rows, of = append(rows, ownRow(n, now)), append(of, i)
			continue
		}
		in := newIntake([]domain.NewJob{*n}, now)
		in.rows[0].Own = 1
		err := s.joining(ctx, in, now, func() error { return s.insertLoose(ctx, in) })
		if refused[i], err = verdict(err); err != nil {
			return nil, err
		}
	}
	begin := 0
	for _, part := range chunks(rows, (*row).size) {
		bad, err := s.addRows(ctx, part)
		if err != nil {
			return nil, err
		}
		for n := range part {
			refused[of[begin+n]] = bad[n]
		}
		begin += len(part)
	}
	return refused, nil
}

func ownRow(n *domain.NewJob, now int64) row {
	r := newRow(n, now)
	r.Own = 1
	return r
}

// verdict says whether an insert was refused for its data; other errors stay.
func verdict(err error) (refused bool, other error) {
	var known *domain.Fault
	code, _ := codeOf(err)
	if errors.As(err, &known) {
		code = known.Code
	}
	switch {
	case err == nil || has(err, duplicateKey):
		return false, nil
	case code == domain.Contended || code == domain.Unavailable || code == domain.Canceled:
		return false, err
	}
	return true, nil
}

// addRows inserts by one command and gives the numbers of those that were refused.
// A command that is refused as a whole is made again for each of its rows.
func (s *store) addRows(ctx context.Context, rows []row) (bad map[int]bool, err error) {
	bad = map[int]bool{}
	docs := make([]any, len(rows))
	for i := range rows {
		docs[i] = &rows[i]
	}
	_, err = s.jobs.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false))
	var each mongo.BulkWriteException
	if errors.As(err, &each) && each.WriteConcernError == nil && len(each.WriteErrors) > 0 {
		for _, one := range each.WriteErrors {
			if bad[one.Index], err = verdict(one.WriteError); err != nil {
				return nil, err
			}
		}
		return bad, nil
	}
	refused, err := verdict(err)
	if err != nil || !refused {
		return bad, err
	}
	for i := range rows {
		_, err := s.jobs.InsertOne(ctx, &rows[i])
		if bad[i], err = verdict(err); err != nil {
			return nil, err
		}
	}
	return bad, nil
}
