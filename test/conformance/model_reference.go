package conformance

import (
	"cmp"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// reference is the store in plain Go, as short as it can be said: a map of rows
// and a clock. It is what a store must look like from outside.
type reference struct {
	now  time.Time
	rows map[domain.JobID]*refRow
}

type refRow struct {
	domain.Job
	token   domain.Token // set exactly while running
	settled domain.Token // of the last outcome
	over    time.Time    // when the row may be pruned; zero: never
	notes   int          // of its history
	lock    string       // of its unique key
}

func newReference(now time.Time) *reference {
	return &reference{now: now, rows: map[domain.JobID]*refRow{}}
}

// sorted lists the rows that match, newest id first.
func (m *reference) sorted(match func(*refRow) bool) []*refRow {
	var found []*refRow
	for _, r := range m.rows {
		if match(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *refRow) int { return b.ID.Compare(a.ID) })
	return found
}

// holder finds who holds a unique key, nil for none.
func (m *reference) holder(lock string) *refRow {
	for _, r := range m.rows {
		if lock != "" && r.lock == lock && (!r.State.Terminal() || domain.KeptLock(lock)) {
			return r
		}
	}
	return nil
}

// wait makes a row due as asked.
func (m *reference) wait(r *refRow, due domain.Due) {
	r.RunAt = m.now.Add(due.After)
	if !due.At.IsZero() {
		r.RunAt = due.At
	}
	if r.State = domain.Ready; r.RunAt.After(m.now) {
		r.State = domain.Scheduled
	}
}

// finish brings a row into a terminal state, kept for the span or for ever.
func (m *reference) finish(r *refRow, to domain.State, kept time.Duration) {
	r.State, r.FinishedAt, r.over = to, m.now, time.Time{}
	if kept >= 0 {
		r.over = m.now.Add(kept)
	}
}

// release ends a claim.
func (r *refRow) release() {
	r.token, r.Runner, r.LeaseUntil, r.Stuck = domain.Token{}, "", time.Time{}, false
}

func (m *reference) insert(jobs []domain.NewJob) (answers []driven.Inserted, clash bool) {
	before := make(map[domain.JobID]*refRow, len(m.rows))
	for id, r := range m.rows {
		was := *r
		before[id] = &was
	}
	for _, n := range jobs {
		if _, there := m.rows[n.ID]; there {
			answers = append(answers, driven.Inserted{ID: n.ID, Result: domain.Existing})
			continue
		}
		r := &refRow{Job: domain.Job{
			ID: n.ID, Kind: n.Kind, Queue: n.Queue, Tenant: n.Tenant, Priority: n.Priority, Args: n.Args, Tags: n.Tags, Keep: n.Keep, CreatedAt: m.now,
		}}
		m.wait(r, n.Due)
		if n.Unique != nil {
			r.UniqueKey, r.lock = n.Unique.Key, n.Unique.Lock(n.Tenant)
			if h := m.holder(r.lock); h != nil && n.Unique.OnConflict == domain.Error {
				m.rows = before
				return nil, true
			} else if h != nil {
				answers = append(answers, driven.Inserted{ID: h.ID, Result: h.meets(r, n.Unique.OnConflict)})
				continue
			}
		}
		m.rows[n.ID] = r
		answers = append(answers, driven.Inserted{ID: n.ID})
	}
	return answers, false
}

// meets is what becomes of the holder of a key that a new job wants.
func (r *refRow) meets(n *refRow, how domain.OnConflict) domain.Inserted {
	if !r.State.Pending() || how < domain.Replace {
		return domain.Existing
	}
	if r.State, r.RunAt = n.State, n.RunAt; how == domain.Reschedule {
		return domain.Rescheduled
	}
	r.Kind, r.Queue, r.Priority, r.Args, r.Tags, r.Keep = n.Kind, n.Queue, n.Priority, n.Args, n.Tags, n.Keep
	r.Attempts, r.Stalls = 0, 0
	return domain.Replaced
}

func (m *reference) claim(q driven.ClaimRequest) []domain.JobID {
	due := m.sorted(func(r *refRow) bool {
		return r.State.Pending() && !r.RunAt.After(m.now) && r.Queue == q.Queue && slices.Contains(q.Kinds, r.Kind)
	})
	slices.SortFunc(due, func(a, b *refRow) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.RunAt.Compare(b.RunAt), a.ID.Compare(b.ID))
	})
	var ids []domain.JobID
	for _, r := range due[:min(q.N, len(due))] {
		r.State, r.token, r.Runner = domain.Running, q.Token, q.Runner
		r.ClaimedAt, r.LeaseUntil = m.now, m.now.Add(q.Lease)
		ids = append(ids, r.ID)
	}
	return ids
}

// holds says whether a ticket holds its job.
func (m *reference) holds(t domain.Ticket) (*refRow, bool) {
	r := m.rows[t.ID]
	return r, r != nil && r.State == domain.Running && r.token == t.Token
}

func (m *reference) settle(outcomes []driven.Outcome) (dropped []domain.JobID) {
	for _, o := range outcomes {
		r, ok := m.holds(o.Ticket)
		switch {
		case ok:
			m.settleOne(r, o)
		case r == nil || r.settled != o.Ticket.Token:
			dropped = append(dropped, o.Ticket.ID)
		}
	}
	return dropped
}

func (m *reference) settleOne(r *refRow, o driven.Outcome) {
	r.settled = r.token
	r.release()
	r.State, r.Error, r.Ran = o.To, o.Error, o.Ran
	notes, _ := o.History.Notes()
	r.notes = len(notes)
	if o.Counts {
		r.Attempts, r.Stalls = r.Attempts+1, 0
	}
	if o.Snoozed {
		r.Snoozes++
	}
	if o.To == domain.Scheduled {
		r.RunAt = m.now.Add(o.After)
	}
	if o.To == domain.Done {
		r.Error, r.Result = "", o.Result
		if o.ForgetArgs {
			r.Args, r.Forgotten = nil, true
		}
	}
	if o.To.Terminal() {
		m.finish(r, o.To, o.Keep)
	}
}

func (m *reference) renew(q driven.RenewRequest) (answer driven.Renewed) {
	for _, t := range q.Tickets {
		switch r, ok := m.holds(t.Ticket); {
		case ok:
			r.LeaseUntil, r.Stuck = m.now.Add(q.Lease), t.Stuck
		case r != nil && r.State == domain.Cancelled:
			answer.Cancelled = append(answer.Cancelled, t.Ticket.ID)
		default:
			answer.Lost = append(answer.Lost, t.Ticket.ID)
		}
	}
	return answer
}

func (m *reference) recover(q driven.RecoverRequest) (swept []driven.Recovery) {
	for _, r := range m.sorted(func(r *refRow) bool {
		return r.State == domain.Running && !r.LeaseUntil.After(m.now) && r.Runner != q.Except
	}) {
		to, wait := q.Stalls.Next(r.Stalls)
		r.Stalls++
		swept = append(swept, driven.Recovery{ID: r.ID, Kind: r.Kind, Queue: r.Queue, Runner: r.Runner, To: to, Stalls: r.Stalls, After: wait})
		r.Error, r.notes = domain.StallMessage(r.Runner), min(r.notes+1, domain.MaxHistory)
		r.release()
		if r.State, r.RunAt = to, m.now.Add(wait); to == domain.Dead {
			m.finish(r, to, r.Keep.For(to, domain.Retention{Dead: q.KeepDead}))
		}
	}
	return swept
}

// edit gives the code of each answer, "" where it was done.
func (m *reference) edit(q driven.EditRequest, one func(*refRow) domain.Code) []domain.Code {
	codes := make([]domain.Code, len(q.IDs))
	for i, id := range q.IDs {
		r := m.rows[id]
		if r == nil || (q.Tenant != "" && r.Tenant != q.Tenant) {
			codes[i] = domain.NotFound
			continue
		}
		codes[i] = one(r)
	}
	return codes
}

func (m *reference) retry(q driven.EditRequest) []domain.Code {
	return m.edit(q, func(r *refRow) domain.Code {
		if r.State == domain.Running || r.Forgotten {
			return domain.Conflict
		}
		if h := m.holder(r.lock); h != nil && h != r {
			return domain.Conflict
		}
		m.wait(r, q.Due)
		r.Attempts, r.Stalls, r.Result, r.FinishedAt = 0, 0, nil, time.Time{}
		return ""
	})
}

func (m *reference) cancel(q driven.EditRequest) []domain.Code {
	return m.edit(q, func(r *refRow) domain.Code {
		switch {
		case r.State == domain.Cancelled:
			return ""
		case r.State.Terminal():
			return domain.Conflict
		}
		r.release()
		m.finish(r, domain.Cancelled, r.Keep.For(domain.Cancelled, domain.Retention{Cancelled: q.Keep}))
		return ""
	})
}

func (m *reference) delete(q driven.EditRequest) []domain.Code {
	return m.edit(q, func(r *refRow) domain.Code {
		if r.State == domain.Running {
			return domain.Conflict
		}
		delete(m.rows, r.ID)
		return ""
	})
}

func (m *reference) reschedule(q driven.EditRequest) []domain.Code {
	return m.edit(q, func(r *refRow) domain.Code {
		if !r.State.Pending() {
			return domain.Conflict
		}
		m.wait(r, q.Due)
		return ""
	})
}

func (m *reference) prune(q driven.PruneRequest) int {
	over := m.sorted(func(r *refRow) bool {
		return r.State.Terminal() && !r.over.IsZero() && !r.over.After(m.now) && (q.Tenant == "" || r.Tenant == q.Tenant)
	})
	for _, r := range over {
		delete(m.rows, r.ID)
	}
	return len(over)
}
