package memstore

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Settle writes each outcome whose ticket still holds its job. One that asks for
// a state which no settling leads to is dropped like one that was overtaken.
func (s *store) Settle(ctx context.Context, outcomes []driven.Outcome) (answer driven.Settled, err error) {
	err = s.do(ctx, "settle", func(now time.Time) error {
		for i := range outcomes {
			o := &outcomes[i]
			switch refused, held := s.settle(o, now); {
			case !held:
				answer.Dropped = append(answer.Dropped, o.Ticket.ID)
			case refused:
				answer.Refused = append(answer.Refused, o.Ticket.ID)
			}
			s.giveBack(o, now)
		}
		return nil
	})
	return answer, err
}

func (s *store) settle(o *driven.Outcome, now time.Time) (refused, held bool) {
	r := s.find(o.Ticket.ID, "")
	switch {
	case r == nil || o.Ticket.Token.IsZero() || !domain.CanMove(domain.ActSettle, domain.Running, o.To):
		return false, false
	case r.settled == o.Ticket.Token:
		return false, true // written before: the caller did not learn of it
	case !r.holds(o.Ticket):
		return false, false
	}
	s.change(r, func() { s.write(r, o, now) })
	if o.To == domain.Dead && o.Failure != nil {
		refused = !s.addOwn(o.Failure, now)
	}
	return refused, true
}

// addOwn adds a job that Rowlock makes by itself; one that is there is fine. It says
// whether it is there now: what no store could keep is refused.
func (s *store) addOwn(n *domain.NewJob, now time.Time) bool {
	if n.Validate() != nil {
		return false
	}
	tx := &Tx{store: s}
	_, err := tx.insert([]domain.NewJob{*n}, now)
	tx.publish()
	return err == nil
}

func (s *store) write(r *row, o *driven.Outcome, now time.Time) {
	r.settled = r.token
	r.Error, r.History, r.Ran = o.Error, o.History, o.Ran
	if o.Counts {
		r.Attempts++
		r.Stalls = 0
	}
	if o.Snoozed {
		r.Snoozes++
	}
	if o.To == domain.Done {
		r.Error, r.Result = "", clone(o.Result)
		if o.ForgetArgs {
			r.Args, r.Forgotten = nil, true
		}
	}
	if o.To.Terminal() {
		s.finish(r, o.To, now, o.Keep)
		return
	}
	r.unclaim()
	r.State = o.To
	if o.To == domain.Scheduled {
		r.RunAt = cut(now.Add(o.After))
	}
}
