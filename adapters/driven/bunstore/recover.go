package bunstore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// ExpiredText finds claims whose lease ran out, the longest first, but those of
// runner $2, at most $3. The two bounds on wake_at are what the index seeks by.
func ExpiredText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.id, j.token, j.kind, j.queue, j.runner, j.stalls, j.attempts, j.claimed_at, j.history, j.keep_dead, " + d.Words.Now + ", j.turn, j.batch_id, j.failure_kind",
		From:    d.Table("jobs"),
		Where:   "j.state = 3 AND j.state > 0 AND j.wake_at > 0 AND j.wake_at <= " + d.Words.Now + " AND j.runner <> $2",
		Order:   "j.wake_at", Limit: "$3", Lock: Skip, Index: "wake",
	})
}

var recoverCols = []Col{
	{"id", ColID},
	{"token", ColID},
	{"state", ColInt},
	{"after", ColInt},
	{"keep", ColInt},
	{"error", ColText},
	{"history", ColText},
}

// PutBackText puts back the claims in $2. `settled` stays: the stale runner's
// outcome must not pass for one that was written.
func PutBackText(d *Dialect) string {
	now := d.Words.Now
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", recoverCols),
		Where: "j.id = o.id AND j.token = o.token AND j.wake_at + 0 <= " + now, // not a bound: the id is what finds it
		Set: []Assign{
			{"state", "o.state"},
			{"token", "NULL"},
			{"stuck", "0"},
			{"stalls", "j.stalls + 1"},
			{"run_at", "CASE WHEN o.state = 1 THEN " + now + " + o.after ELSE j.run_at END"},
			{"wake_at", "CASE WHEN o.state = 1 THEN " + now + " + o.after WHEN o.keep < 0 THEN 0 ELSE " + now + " + o.keep END"},
			{"finished_at", "CASE WHEN o.state > 3 THEN " + now + " ELSE 0 END"},
			{"unique_lock", "CASE WHEN o.state > 3 THEN " + d.Words.Ended() + " ELSE j.unique_lock END"},
			{"error", "o.error"},
			{"history", "o.history"},
		},
	})
}

// expiry is one expired claim and what becomes of it.
type expiry struct {
	driven.Recovery
	token   domain.Token
	keep    time.Duration
	text    string
	history domain.History
	turn    domain.Turn
	claimed time.Time
	attempt int

	failure  string // of which kind its failure job is; "": it has none
	attempts int    // how often it is tried if it does not say so
}

func (e *expiry) ticket() domain.Ticket { return domain.Ticket{ID: e.ID, Token: e.token} }

// Recover is one transaction: look, decide each by the domain, write. Where that
// is refused for its data it is done again in halves, so that one bad row never
// keeps the others; the bad one stays for the next sweep. A half judges anew
// whether its leases are over: a runner may have renewed one meanwhile.
func (s *Store) Recover(ctx context.Context, r driven.RecoverRequest) (res driven.Recovered, err error) {
	var found, done []expiry
	err = s.write(ctx, "recover", func(ctx context.Context, c Conn) (err error) {
		if found, err = s.expired(ctx, c, r); err != nil {
			return err
		}
		done, err = s.putBack(ctx, c, found)
		return err
	})
	if s.unfit(err) {
		done = nil
		err = halve(found, s.unfit, func(part []expiry) error {
			some, err := s.putBackPart(ctx, part)
			done = append(done, some...)
			return err
		}, func(expiry) {})
	}
	res.More = len(found) >= r.Limit && len(done) > 0
	for _, e := range done {
		res.Jobs = append(res.Jobs, e.Recovery)
	}
	return res, err
}

// putBackPart is one transaction. A death that is refused alone, for its failure job,
// is written without it.
func (s *Store) putBackPart(ctx context.Context, part []expiry) (done []expiry, err error) {
	write := func(part []expiry) error {
		return s.write(ctx, "recover", func(ctx context.Context, c Conn) (err error) {
			done, err = s.putBack(ctx, c, part)
			return err
		})
	}
	if err = write(part); len(part) == 1 && notAdded(err) {
		bare := part[0]
		bare.failure, bare.Failed, bare.Refused = "", domain.JobID{}, true
		err = write([]expiry{bare})
	}
	if err != nil {
		return nil, err
	}
	return done, nil
}

func (s *Store) expired(ctx context.Context, c Conn, r driven.RecoverRequest) (found []expiry, err error) {
	cell := newCells(14)
	err = s.each(ctx, c, s.t.expired, []any{s.now(), r.Except, r.Limit}, func(rows *sql.Rows) error {
		if err := cell.scan(rows); err != nil {
			return err
		}
		found = append(found, stalled(cell, r))
		return nil
	})
	return found, err
}

// stalled decides what becomes of one row of ExpiredText.
func stalled(c *cells, r driven.RecoverRequest) expiry {
	e := expiry{token: c.id(1), turn: domain.Turn(c.int(11)), claimed: fromMoment(c.int(7)), attempts: r.Attempts}
	e.ID, e.Kind, e.Queue, e.Runner = c.id(0), c.text(2), c.text(3), c.text(4)
	dying := domain.Job{Kind: e.Kind, FailureKind: c.text(13)}
	e.Batch, e.failure = c.id(12), dying.FailsInto(r.Failures[e.Kind])
	stalls, now := int(c.int(5)), fromMoment(c.int(10))
	e.attempt = int(c.int(6)) + 1
	e.To, e.After = r.Stalls.Next(stalls)
	e.Stalls = stalls + 1
	e.text = domain.StallMessage(e.Runner)
	e.history = domain.History(c.text(8)).Add(domain.Note{
		At: now, Attempt: e.attempt, Ran: now.Sub(e.claimed), Message: e.text, Runner: e.Runner,
	})
	e.keep = domain.Retention{Dead: keepSpan(c.int(9))}.For(domain.Dead, domain.Retention{Dead: r.KeepDead})
	return e
}

// putBack writes what was decided and answers what it wrote.
func (s *Store) putBack(ctx context.Context, c Conn, part []expiry) ([]expiry, error) {
	if len(part) == 0 {
		return nil, nil
	}
	var a Array
	tickets := make([]domain.Ticket, len(part))
	for i := range part {
		e := &part[i]
		tickets[i] = e.ticket()
		a.Row().ID(e.ID).ID(e.token).Int(int64(e.To)).Int(MS(e.After)).Int(KeepMS(e.keep)).Text(e.text).Text(string(e.history))
	}
	n, err := s.exec(ctx, c, s.t.putBack, s.now(), a.String())
	if err != nil {
		return nil, err
	}
	all := n == len(part)
	if !all {
		gone, err := s.unmatched(ctx, c, s.t.held, tickets) // those still held were not put back
		if err != nil {
			return nil, err
		}
		part = slices.DeleteFunc(slices.Clone(part), func(e expiry) bool { return !slices.Contains(gone, e.ID) })
	}
	var turns []domain.JobID
	for i := range part {
		if part[i].turn != domain.NoTurn {
			turns = append(turns, part[i].ID)
		}
	}
	if !all {
		if err := s.lockJobs(ctx, c, turns); err != nil {
			return nil, err
		}
	}
	if err := s.follow(ctx, c, turns); err != nil {
		return nil, err
	}
	return part, s.addFallen(ctx, c, part)
}
