package customadapter

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const opInsert = "insert"

// Insert writes what is new and answers with the holder for what is not.
func (s *store) Insert(ctx context.Context, jobs []domain.NewJob) (answers []driven.Inserted, err error) {
	err = s.do(ctx, opInsert, func(t *tx) error {
		answers, err = t.insert(jobs)
		return err
	})
	return answers, err
}

func (t *tx) insert(jobs []domain.NewJob) (answers []driven.Inserted, err error) {
	for i := range jobs {
		answer, err := t.insertOne(&jobs[i])
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

func (t *tx) insertOne(n *domain.NewJob) (driven.Inserted, error) {
	if err := t.joinable(n); err != nil {
		return driven.Inserted{}, err
	}
	r := t.newRecord(n)
	if _, known := t.jobs[r.ID]; known {
		return driven.Inserted{ID: r.ID, Result: domain.Existing}, nil
	}
	id, keyed := t.locks[r.Lock]
	if !keyed {
		t.put(r)
		return driven.Inserted{ID: r.ID}, nil
	}
	switch how, holder := n.Unique.OnConflict, t.jobs[id]; {
	case how == domain.Error:
		return driven.Inserted{}, &domain.Fault{Code: domain.Conflict, Op: opInsert, Subject: id.String(), Hint: "this job holds the unique key"}
	case how >= domain.Replace && holder.State.Pending():
		return t.overwrite(holder, &r, how), nil
	}
	return driven.Inserted{ID: id, Result: domain.Existing}, nil
}

// overwrite gives a waiting holder the due time of the new job, or all of it.
func (t *tx) overwrite(holder record, n *record, how domain.OnConflict) driven.Inserted {
	answer := driven.Inserted{ID: holder.ID, Result: domain.Rescheduled, Keys: slices.Clone(holder.Turns)}
	if how == domain.Replace {
		answer.Result = domain.Replaced
		kept := holder
		holder.Job = n.Job
		holder.ID, holder.Batch, holder.CreatedAt = kept.ID, kept.Batch, kept.CreatedAt
		holder.Turn, holder.Keys, holder.OnDead = kept.Turn, kept.Keys, kept.OnDead
		holder.History, holder.Error, holder.Snoozes = kept.History, kept.Error, kept.Snoozes
		holder.Runner, holder.ClaimedAt, holder.Ran = kept.Runner, kept.ClaimedAt, kept.Ran
	}
	holder.State, holder.RunAt, holder.Due = n.State, n.RunAt, n.RunAt
	t.put(holder)
	return answer
}

// addOwn adds a job that Rowlock makes by itself, unless nobody could keep it.
func (t *tx) addOwn(n *domain.NewJob) bool {
	if n.Validate() != nil {
		return false
	}
	_, err := t.insertOne(n)
	return err == nil
}

func (t *tx) newRecord(n *domain.NewJob) record {
	r := record{Job: copyOf(domain.Job{
		ID: n.ID, Kind: n.Kind, Queue: n.Queue, Tenant: n.Tenant, Priority: n.Priority, MaxAttempts: n.MaxAttempts,
		Timeout: n.Timeout, Args: n.Args, Tags: n.Tags, Meta: n.Meta, Keep: n.Keep, ForgetArgs: n.ForgetArgs, CreatedAt: t.now,
		LimitKey: n.LimitKey, Turn: n.Turn, Keys: n.Keys, OnDead: n.OnDead, Batch: n.Batch, FailureKind: n.FailureKind,
	}), Turns: n.TurnKeys()}
	if n.Unique != nil {
		r.UniqueKey = n.Unique.Key
		r.Lock = n.Unique.Lock(n.Tenant)
	}
	t.dueAt(&r, n.Due)
	r.Due = r.RunAt
	return r
}
