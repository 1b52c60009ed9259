package bunstore

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

var renewCols = []Col{{"id", ColID}, {"token", ColID}, {"stuck", ColInt}}

// RenewText sets the lease of the tickets in $2 to now + $3. Not by time: a
// lapsed lease that nobody took is renewed.
func RenewText(d *Dialect) string {
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", renewCols),
		Where: "j.id = o.id AND j.token = o.token",
		Set:   []Assign{{"wake_at", d.Words.Now + " + $3"}, {"stuck", "o.stuck"}},
	})
}

// CancelledText finds those of the tickets $2 whose job is cancelled.
func CancelledText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.id, o.token", From: d.Table("jobs"), Join: d.Words.Rows("$2", ticketCols), Where: "j.id = o.id AND j.state + 0 = 6",
	})
}

// Renew is one transaction over all tickets.
func (s *Store) Renew(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
	var res driven.Renewed
	if len(r.Tickets) == 0 {
		return res, nil
	}
	all := slices.Clone(r.Tickets) // by id: calls that meet wait for each other and do not deadlock
	slices.SortFunc(all, func(a, b driven.Renewal) int { return a.Ticket.ID.Compare(b.Ticket.ID) })
	parts := chunks(all, s.d.Chunk, func(*driven.Renewal) int { return 80 })
	err := s.batch(len(parts))(ctx, "renew", func(ctx context.Context, c Conn) error {
		res = driven.Renewed{}
		for _, part := range parts {
			if err := s.renew(ctx, c, part, MS(r.Lease), &res); err != nil {
				return err
			}
		}
		return nil
	})
	return res, err
}

func (s *Store) renew(ctx context.Context, c Conn, part []driven.Renewal, lease int64, res *driven.Renewed) error {
	var a Array
	tickets := make([]domain.Ticket, len(part))
	for i, t := range part {
		tickets[i] = t.Ticket
		a.Row().ID(t.Ticket.ID).ID(t.Ticket.Token).Int(bit(t.Stuck))
	}
	n, err := s.exec(ctx, c, s.t.renew, s.now(), a.String(), lease)
	if err != nil || n == len(part) {
		return err
	}
	held, err := s.matched(ctx, c, s.t.held, tickets)
	if err != nil {
		return err
	}
	tickets = slices.DeleteFunc(tickets, func(t domain.Ticket) bool { return held[t] })
	ended, err := s.matched(ctx, c, s.t.givenUp, tickets)
	for _, t := range tickets {
		if ended[t] {
			res.Cancelled = append(res.Cancelled, t.ID)
		} else {
			res.Lost = append(res.Lost, t.ID)
		}
	}
	return err
}
