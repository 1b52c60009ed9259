package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// A failure job is added in the transaction in which its job dies, once: who settles
// the burial again adds nothing. Where the job alone is refused, the burial is done
// again without it.

// failureRefused is why a failure job was not written.
type failureRefused struct{ error }

func (e failureRefused) Unwrap() error { return e.error }

// notAdded says whether it was a failure job that was refused.
func notAdded(err error) bool {
	var refused failureRefused
	return errors.As(err, &refused)
}

// unfit says whether something in what was to be written was refused, so that a part
// of it may pass.
func (s *Store) unfit(err error) bool { return s.refused(err) || notAdded(err) }

// addDerived adds jobs that Rowlock makes by itself; those that are there are fine.
func (s *Store) addDerived(ctx context.Context, c Conn, jobs []domain.NewJob) error {
	if len(jobs) == 0 {
		return nil
	}
	slices.SortFunc(jobs, func(a, b domain.NewJob) int { return a.ID.Compare(b.ID) })
	_, err := s.insert(ctx, c, newRows(jobs), false)
	if s.refused(err) {
		return failureRefused{err}
	}
	switch domain.CodeOf(err) {
	case domain.Invalid, domain.NotFound, domain.Conflict, domain.Unsupported:
		return failureRefused{err}
	default:
		return err
	}
}

// burials are the outcomes that a failure job goes with.
func burials(batch []driven.Outcome) (dead []domain.Ticket) {
	for i := range batch {
		if batch[i].To == domain.Dead && batch[i].Failure != nil {
			dead = append(dead, batch[i].Ticket)
		}
	}
	return dead
}

// addFailures adds the failure jobs of the burials that were written just now.
func (s *Store) addFailures(ctx context.Context, c Conn, batch []driven.Outcome, written map[domain.Ticket]bool) error {
	var jobs []domain.NewJob
	for i := range batch {
		if o := &batch[i]; o.To == domain.Dead && o.Failure != nil && written[o.Ticket] {
			jobs = append(jobs, *o.Failure)
		}
	}
	return s.addDerived(ctx, c, jobs)
}

// FallenText reads what the failure jobs of the claims $2 are made of, where these were
// put back for good: a job that its own runner buried meanwhile bears its token.
func FallenText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.id, j.args, j.tenant, j.max_attempts", From: d.Table("jobs"), Join: d.Words.Rows("$2", ticketCols),
		Where: "j.id = o.id AND j.state + 0 = 5 AND (j.settled IS NULL OR j.settled <> o.token)",
	})
}

// addFallen adds the failure jobs of the claims that died, and says of each which it is.
func (s *Store) addFallen(ctx context.Context, c Conn, part []expiry) error {
	var tickets []domain.Ticket
	at := map[domain.JobID]*expiry{}
	for i := range part {
		if e := &part[i]; e.To == domain.Dead && e.failure != "" {
			tickets = append(tickets, e.ticket())
			at[e.ID], e.Failed, e.Refused = e, domain.JobID{}, false
		}
	}
	var jobs []domain.NewJob
	for _, some := range chunks(tickets, s.d.Chunk, func(*domain.Ticket) int { return 80 }) {
		cell := newCells(4)
		err := s.each(ctx, c, s.t.fallen, []any{nil, ticketRows(some)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			if e := at[cell.id(0)]; err == nil && e != nil {
				jobs = append(jobs, e.fallen(cell)...)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.addDerived(ctx, c, jobs)
}

// fallen makes the failure job of a claim from its row of FallenText. One that cannot
// be made is Refused.
func (e *expiry) fallen(c *cells) []domain.NewJob {
	dead := domain.Job{ID: e.ID, Kind: e.Kind, Queue: e.Queue, Tenant: c.text(2), Args: c.bytes(1), ClaimedAt: e.claimed}
	made, err := domain.FailureJob(&dead, e.failure, e.token, e.attempt, cmp.Or(int(c.int(3)), e.attempts), e.text)
	if e.Refused = err != nil; err != nil {
		return nil
	}
	e.Failed = made.ID
	return []domain.NewJob{made}
}
