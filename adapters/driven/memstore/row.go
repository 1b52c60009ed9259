package memstore

import (
	"cmp"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// row is one stored job. Its slices belong to the store.
type row struct {
	domain.Job
	token   domain.Token // of the claim; set exactly while running
	settled domain.Token // of the last claim whose outcome was written
	lock    string       // what the unique index holds for it while it is not terminal
	expires time.Time    // when a terminal row may be pruned
	keys    []string     // stored keys of its turns
	due     time.Time    // its place in a chain, which a retry does not change
	loose   bool         // a dead one that an operator released from its chains
	tx      *Tx          // the open transaction that wrote it; nil: it is there for all
}

// forever is later than any moment a row can have.
var forever = time.Unix(1<<40, 0).UTC()

func newRow(n *domain.NewJob, now time.Time, tx *Tx) *row {
	r := &row{tx: tx, Job: domain.Job{
		ID: n.ID, Kind: n.Kind, Queue: n.Queue, Tenant: n.Tenant, Priority: n.Priority,
		MaxAttempts: n.MaxAttempts, Timeout: n.Timeout, Args: clone(n.Args), Tags: clone(n.Tags),
		Meta: clone(n.Meta), Keep: n.Keep, ForgetArgs: n.ForgetArgs, CreatedAt: now,
		LimitKey: n.LimitKey, Turn: n.Turn, Keys: clone(n.Keys), OnDead: n.OnDead,
		Batch: n.Batch, FailureKind: n.FailureKind,
	}, keys: n.TurnKeys()}
	if n.Unique != nil {
		r.UniqueKey = n.Unique.Key
		r.lock = n.Unique.Lock(n.Tenant)
	}
	r.wait(n.Due, now)
	r.due = r.RunAt
	return r
}

// copy gives the job out, without the names of its keys: only who looks for a
// single job asks for them.
func (r *row) copy() domain.Job {
	job := r.Job
	job.Keys = nil
	job.Args, job.Result, job.Tags, job.Meta = clone(job.Args), clone(job.Result), clone(job.Tags), clone(job.Meta)
	return job
}

// wait makes the row due as asked: ready if that is now.
func (r *row) wait(due domain.Due, now time.Time) {
	r.RunAt = cut(now.Add(due.After))
	if !due.At.IsZero() {
		r.RunAt = cut(due.At)
	}
	r.State = domain.Ready
	if r.RunAt.After(now) {
		r.State = domain.Scheduled
	}
}

// holds says whether the ticket is the claim's.
func (r *row) holds(t domain.Ticket) bool {
	return r.State == domain.Running && r.token == t.Token
}

// unclaim ends the claim. Whose it was stays to be seen.
func (r *row) unclaim() {
	r.token, r.LeaseUntil, r.Stuck = domain.Token{}, time.Time{}, false
}

// stamp is when time alone may move the row next.
func (r *row) stamp() time.Time {
	switch {
	case r.State == domain.Running:
		return r.LeaseUntil
	case r.State.Terminal():
		return r.expires
	}
	return r.RunAt
}

func byID(a, b *row) int { return a.ID.Compare(b.ID) }

// hasTurn says whether the row has its place at its keys.
func (r *row) hasTurn() bool {
	return len(r.keys) > 0 && (!r.State.Terminal() || r.State == domain.Dead && r.OnDead == domain.Block && !r.loose)
}

// place orders the turns at a key.
func (r *row) place() domain.Place {
	due := r.RunAt
	if r.Turn == domain.TurnChain {
		due = r.due
	}
	return domain.Place{Due: due.UnixMilli(), ID: r.ID}
}

func byPlace(a, b *row) int { return a.place().Compare(b.place()) }

func byStamp(a, b *row) int { return cmp.Or(a.stamp().Compare(b.stamp()), byID(a, b)) }

// byTurn is the order of claims.
func byTurn(a, b *row) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.RunAt.Compare(b.RunAt), byID(a, b))
}

// clone copies a slice; an empty one becomes nil, as a database column would.
func clone[S ~[]E, E any](s S) S { return append(S(nil), s...) }
