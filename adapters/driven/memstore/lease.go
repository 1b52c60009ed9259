package memstore

import (
	"cmp"
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) Renew(ctx context.Context, req driven.RenewRequest) (answer driven.Renewed, err error) {
	err = s.do(ctx, "renew", func(now time.Time) error {
		for _, t := range req.Tickets {
			switch r := s.find(t.Ticket.ID, ""); {
			case r != nil && r.holds(t.Ticket):
				s.change(r, func() { r.LeaseUntil, r.Stuck = cut(now.Add(req.Lease)), t.Stuck })
			case r != nil && r.State == domain.Cancelled:
				answer.Cancelled = append(answer.Cancelled, t.Ticket.ID)
			default:
				answer.Lost = append(answer.Lost, t.Ticket.ID)
			}
		}
		return nil
	})
	return answer, err
}

func (s *store) Recover(ctx context.Context, req driven.RecoverRequest) (answer driven.Recovered, err error) {
	err = s.do(ctx, "recover", func(now time.Time) error {
		for _, r := range s.lapsed(&req, now) {
			answer.Jobs = append(answer.Jobs, s.putBack(r, &req, now))
		}
		answer.More = len(answer.Jobs) > 0 && len(answer.Jobs) == req.Limit
		return nil
	})
	return answer, err
}

// lapsed lists claims whose lease ran out, the longest ago first.
func (s *store) lapsed(req *driven.RecoverRequest, now time.Time) []*row {
	var found []*row
	for r := range s.states[domain.Running].up() {
		if len(found) >= req.Limit || r.LeaseUntil.After(now) {
			break
		}
		if req.Except == "" || r.Runner != req.Except {
			found = append(found, r)
		}
	}
	return found
}

func (s *store) putBack(r *row, req *driven.RecoverRequest, now time.Time) driven.Recovery {
	to, after := req.Stalls.Next(r.Stalls)
	token := r.token
	done := driven.Recovery{ID: r.ID, Kind: r.Kind, Queue: r.Queue, Runner: r.Runner, To: to, Stalls: r.Stalls + 1, After: after, Batch: r.Batch}
	s.change(r, func() {
		r.Stalls++
		r.Error = domain.StallMessage(r.Runner)
		r.History = r.History.Add(domain.Note{At: now, Attempt: r.Attempts + 1, Ran: now.Sub(r.ClaimedAt), Message: r.Error, Runner: r.Runner})
		if to == domain.Dead {
			s.finish(r, to, now, r.Keep.For(to, domain.Retention{Dead: req.KeepDead}))
			return
		}
		r.unclaim()
		r.State, r.RunAt = to, cut(now.Add(after))
	})
	if kind := r.FailsInto(req.Failures[r.Kind]); to == domain.Dead && kind != "" {
		made, err := domain.FailureJob(&r.Job, kind, token, r.Attempts+1, cmp.Or(r.MaxAttempts, req.Attempts), r.Error)
		if err == nil && s.addOwn(&made, now) {
			done.Failed = made.ID
		}
		done.Refused = done.Failed.IsZero()
	}
	return done
}
