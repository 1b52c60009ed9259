package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// settleCols are the row source of outcomes.
var settleCols = []Col{
	{"id", ColID},
	{"token", ColID},
	{"state", ColInt},
	{"after", ColInt},
	{"counts", ColInt},
	{"snoozed", ColInt},
	{"ran", ColInt},
	{"keep", ColInt},
	{"forget", ColInt},
	{"result", ColText},
	{"error", ColText},
	{"history", ColText},
}

// SettleText is the update of a settle from the row source $2. It is guarded by
// id and token alone: the token is set exactly while the job runs, and a state
// beside the id makes planners take the wrong index.
func SettleText(d *Dialect) string {
	now := d.Words.Now
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", settleCols),
		Where: "j.id = o.id AND j.token = o.token",
		Set: []Assign{
			{"state", "o.state"},
			{"token", "NULL"},
			{"settled", "o.token"},
			{"stuck", "0"},
			{"attempts", "j.attempts + o.counts"},
			{"stalls", "CASE WHEN o.counts = 1 THEN 0 ELSE j.stalls END"},
			{"snoozes", "j.snoozes + o.snoozed"},
			{"run_at", "CASE WHEN o.state = 1 THEN " + now + " + o.after ELSE j.run_at END"},
			{"wake_at", "CASE WHEN o.state = 1 THEN " + now + " + o.after WHEN o.state = 0 OR o.keep < 0 THEN 0 ELSE " + now + " + o.keep END"},
			{"finished_at", "CASE WHEN o.state > 3 THEN " + now + " ELSE 0 END"},
			{"unique_lock", "CASE WHEN o.state > 3 THEN " + d.Words.Ended() + " ELSE j.unique_lock END"},
			{"ran", "o.ran"},
			{"args", "CASE WHEN o.forget = 1 THEN " + d.Words.empty() + " ELSE j.args END"},
			{"forget_args", "CASE WHEN o.forget = 1 THEN 2 ELSE j.forget_args END"},
			{"result", "o.result"},
			{"error", "o.error"},
			{"history", "o.history"},
		},
	})
}

// Legal says whether an outcome is one that a claim may have.
func legal(o *driven.Outcome) bool { return domain.CanMove(domain.ActSettle, domain.Running, o.To) }

// OutcomeRows is the JSON text of outcomes, for SettleText.
func OutcomeRows(outcomes []driven.Outcome) string {
	var a Array
	for i := range outcomes {
		o := &outcomes[i]
		done := o.To == domain.Done
		text, result := o.Error, ""
		if done {
			text, result = "", string(o.Result)
		}
		a.Row().ID(o.Ticket.ID).ID(o.Ticket.Token).Int(int64(o.To)).Int(MS(o.After)).Int(bit(o.Counts)).
			Int(bit(o.Snoozed)).Int(o.Ran.Microseconds()).Int(KeepMS(o.Keep)).Int(bit(done && o.ForgetArgs)).
			Text(result).Text(text).Text(string(o.History))
	}
	return a.String()
}

func ticketRows(tickets []domain.Ticket) string {
	var a Array
	for _, t := range tickets {
		a.Row().ID(t.ID).ID(t.Token)
	}
	return a.String()
}

// Settle writes the outcomes in batches, each one transaction. A batch that is
// refused for its data is halved until the bad one stands alone; that one is
// Dropped and its claim is left to its lease. So is one that no claim may have.
func (s *Store) Settle(ctx context.Context, all []driven.Outcome) (driven.Settled, error) {
	var res driven.Settled
	var free []driven.Holding // by what was not written
	fit := make([]driven.Outcome, 0, len(all))
	drop := func(o *driven.Outcome) {
		res.Dropped = append(res.Dropped, o.Ticket.ID)
		free = append(free, ends(o)...)
	}
	for i := range all {
		if legal(&all[i]) {
			fit = append(fit, all[i])
		} else {
			drop(&all[i])
		}
	}
	// Rows are locked in one order by all who lock several.
	slices.SortFunc(fit, func(a, b driven.Outcome) int { return a.Ticket.ID.Compare(b.Ticket.ID) })
	for _, batch := range chunks(fit, s.d.Chunk, outcomeSize) {
		run := func(part []driven.Outcome) error { return s.settlePart(ctx, part, &res) }
		if err := halve(batch, s.unfit, run, func(bad driven.Outcome) { drop(&bad) }); err != nil {
			return res, err
		}
	}
	return res, s.Hold(ctx, free)
}

// outcomeSize is about how many bytes an outcome takes in its statements.
func outcomeSize(o *driven.Outcome) int {
	size := 200 + len(o.Result) + len(o.Error) + len(o.History) + 300*len(o.Slots)
	if o.Failure != nil {
		size += 300 + len(o.Failure.Args)
	}
	return size
}

// settlePart is one transaction. A burial that is refused alone, for its failure job,
// is done without it.
func (s *Store) settlePart(ctx context.Context, part []driven.Outcome, res *driven.Settled) error {
	dropped, err := s.settle(ctx, part)
	if len(part) == 1 && notAdded(err) {
		bare := part[0]
		bare.Failure = nil
		if dropped, err = s.settle(ctx, []driven.Outcome{bare}); err == nil && len(dropped) == 0 {
			res.Refused = append(res.Refused, bare.Ticket.ID)
		}
	}
	res.Dropped = append(res.Dropped, dropped...)
	return err
}

// ends are the slots that an outcome gives back.
func ends(o *driven.Outcome) []driven.Holding {
	free := make([]driven.Holding, len(o.Slots))
	for i, end := range o.Slots {
		free[i] = driven.Holding{Ticket: o.Ticket, Slot: end.Slot, For: end.After, End: true}
	}
	return free
}

// batch runs so many batches of a settle or renew: one may be a statement of its own.
func (s *Store) batch(n int) func(context.Context, string, Work) error {
	if n == 1 && s.d.Singles {
		return s.one
	}
	return s.write
}

// errSome ends a transaction whose claims have to be looked at first. It is a fault, and
// so no error of the database that had to be told from others.
var errSome = &domain.Fault{Code: domain.Contended, Op: "settle", Hint: "some claims are over"}

// settle is one transaction. What only claims that were held may have, a failure job or
// a turn, needs a look before the update: for turns only where it does not find all.
func (s *Store) settle(ctx context.Context, batch []driven.Outcome) (dropped []domain.JobID, err error) {
	look, turns := burials(batch), turnsOf(batch)
	dropped, err = s.settleOnce(ctx, batch, look, turns, nil)
	if errors.Is(err, errSome) {
		return s.settleOnce(ctx, batch, append(look, turns...), nil, jobsOf(turns))
	}
	return dropped, err
}

// settleOnce looks whether some of the claims are held, and settles; of the blind ones it
// only knows where all are written. What the update did not find is looked up: a row that
// says it was settled by our token was, now or by an earlier try.
func (s *Store) settleOnce(ctx context.Context, batch []driven.Outcome, look, blind []domain.Ticket, lock []domain.JobID) (dropped []domain.JobID, err error) {
	run, bound := s.batch(1), bounded(batch)
	if bound || len(look) > 0 {
		run = s.write
	}
	err = run(ctx, "settle", func(ctx context.Context, c Conn) error {
		dropped = nil
		written, err := s.heldOf(ctx, c, look, lock)
		if err != nil {
			return err
		}
		n, err := s.settleRows(ctx, c, batch)
		switch {
		case err != nil:
			return err
		case n == len(batch):
			written = setOf(append(look, blind...))
		case len(blind) > 0:
			return errSome
		default:
			settled, err := s.matched(ctx, c, s.t.settled, ticketsOf(batch))
			if err != nil {
				return err
			}
			dropped = without(ticketsOf(batch), settled)
			maps.DeleteFunc(written, func(t domain.Ticket, _ bool) bool { return !settled[t] })
		}
		if bound {
			err = s.settleBounds(ctx, c, batch, written)
		}
		if err != nil || len(written) == 0 {
			return err
		}
		return s.addFailures(ctx, c, batch, written)
	})
	return dropped, err
}

// settleBounds gives back the slots, and has the turns follow what became of the jobs
// that were written just now. A chain that was released meanwhile stays so.
func (s *Store) settleBounds(ctx context.Context, c Conn, batch []driven.Outcome, written map[domain.Ticket]bool) error {
	var free []driven.Holding
	var turns []domain.JobID
	for i := range batch {
		o := &batch[i]
		free = append(free, ends(o)...)
		if o.Turn && written[o.Ticket] {
			turns = append(turns, o.Ticket.ID)
		}
	}
	if _, err := s.giveBack(ctx, c, free, s.t.slots.hold); err != nil {
		return err
	}
	return s.follow(ctx, c, turns)
}

func (s *Store) settleRows(ctx context.Context, c Conn, batch []driven.Outcome) (int, error) {
	if s.d.Hot.Settle != nil {
		return s.d.Hot.Settle(ctx, c, s.now(), batch)
	}
	return s.exec(ctx, c, s.t.settle, s.now(), OutcomeRows(batch))
}

// unmatched gives the tickets that a look does not find, in their order.
func (s *Store) unmatched(ctx context.Context, c Conn, look Stmt, tickets []domain.Ticket) ([]domain.JobID, error) {
	found, err := s.matched(ctx, c, look, tickets)
	if err != nil {
		return nil, err
	}
	return without(tickets, found), nil
}

// matched gives the tickets that a look finds. A call may hold two tickets of one
// job: it is the ticket that is looked for, not the id.
func (s *Store) matched(ctx context.Context, c Conn, look Stmt, tickets []domain.Ticket) (map[domain.Ticket]bool, error) {
	if len(tickets) == 0 {
		return nil, nil
	}
	found, cell := make(map[domain.Ticket]bool, len(tickets)), newCells(2)
	err := s.each(ctx, c, look, []any{nil, ticketRows(tickets)}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		found[domain.Ticket{ID: cell.id(0), Token: cell.id(1)}] = true
		return err
	})
	return found, err
}

func without(tickets []domain.Ticket, found map[domain.Ticket]bool) (missing []domain.JobID) {
	for _, t := range tickets {
		if !found[t] {
			missing = append(missing, t.ID)
		}
	}
	return missing
}
