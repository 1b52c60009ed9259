package customadapter

import (
	"cmp"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// cut is a moment as it is stored: UTC, whole milliseconds, never rounded up.
func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// in is the store's now + d.
func (t *tx) in(d time.Duration) time.Time { return cut(t.now.Add(d)) }

// dueAt makes a record due as asked: ready if that is now.
func (t *tx) dueAt(r *record, due domain.Due) {
	r.RunAt, r.State = t.in(due.After), domain.Ready
	if !due.At.IsZero() {
		r.RunAt = cut(due.At)
	}
	if r.RunAt.After(t.now) {
		r.State = domain.Scheduled
	}
}

// end makes a record terminal. Its unique key frees with this very write, unless it
// is that of a window.
func (t *tx) end(r *record, state domain.State, keep time.Duration) {
	release(r)
	r.State, r.FinishedAt, r.Expires = state, t.now, time.Time{}
	if !domain.KeptLock(r.Lock) {
		r.Lock = ""
	}
	if keep >= 0 {
		r.Expires = t.in(keep)
	}
}

// release ends the claim. Whose it was stays to be seen.
func release(r *record) {
	r.Token, r.LeaseUntil, r.Stuck = domain.Token{}, time.Time{}, false
}

// pick copies out the records that are wanted, in an order.
func (t *tx) pick(want func(*record) bool, order func(a, b record) int) []record {
	var picked []record
	for _, r := range t.jobs {
		if want(&r) {
			picked = append(picked, r)
		}
	}
	slices.SortFunc(picked, order)
	return picked
}

// byTurn is the order of claims.
func byTurn(a, b record) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.RunAt.Compare(b.RunAt), a.ID.Compare(b.ID))
}

// turns says whether a record has its place at its keys: until it is over for
// good, and a dead one that blocks its chains goes on to have it.
func (r *record) turns() bool {
	return !r.State.Terminal() || r.State == domain.Dead && r.OnDead == domain.Block && !r.Loose
}

// place is a record's place there: a mutex goes by when jobs are due, a chain by
// when they were due at first.
func (r *record) place() domain.Place {
	due := r.RunAt
	if r.Turn == domain.TurnChain {
		due = r.Due
	}
	return domain.Place{Due: due.UnixMilli(), ID: r.ID}
}

func byAge(a, b record) int { return a.ID.Compare(b.ID) }

func newestFirst(a, b record) int { return b.ID.Compare(a.ID) }

// copyOf gives a job out, so that no caller shares memory with the store.
func copyOf(j domain.Job) domain.Job {
	j.Args, j.Result, j.Meta = slices.Clone(j.Args), slices.Clone(j.Result), slices.Clone(j.Meta)
	j.Tags, j.Keys = slices.Clone(j.Tags), slices.Clone(j.Keys)
	return j
}

func copyTemplate(t domain.Template) domain.Template {
	t.Args, t.Tags, t.Meta = slices.Clone(t.Args), slices.Clone(t.Tags), slices.Clone(t.Meta)
	return t
}
