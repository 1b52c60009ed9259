package customadapter

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Claim first makes ready what time has made due, then takes the first ones.
func (s *store) Claim(ctx context.Context, req driven.ClaimRequest) (claims driven.Claims, err error) {
	err = s.do(ctx, "claim", func(t *tx) error {
		claims.Next = driven.NoNext
		for _, r := range t.pick(func(r *record) bool { return r.State == domain.Scheduled }, byAge) {
			if wait := r.RunAt.Sub(t.now); wait > 0 {
				claims.Next = min(claims.Next, wait)
				continue
			}
			r.State = domain.Ready
			t.put(r)
		}
		due := t.pick(func(r *record) bool {
			return r.State == domain.Ready && r.Queue == req.Queue && slices.Contains(req.Kinds, r.Kind)
		}, byTurn)
		n := min(max(req.N, 0), len(due))
		picked := due[:n]
		if req.Fair {
			picked, claims.Tenant = inTurn(due, req)
		}
		for _, r := range picked {
			r.State, r.Token, r.Runner, r.ClaimedAt, r.LeaseUntil = domain.Running, req.Token, req.Runner, t.now, t.in(req.Lease)
			t.put(r)
			claims.Jobs = append(claims.Jobs, driven.Claimed{Token: r.Token, Job: copyOf(r.Job)})
		}
		claims.More = n > 0 && n < len(due)
		return nil
	})
	return claims, err
}

// Queues may not walk jobs in a store for many of them; see the package's doc.
func (s *store) Queues(ctx context.Context, after string, limit int) (names []string, err error) {
	err = s.do(ctx, "list queues", func(t *tx) error {
		for _, r := range t.jobs {
			if r.Queue > after && (r.State == domain.Ready || r.State == domain.Scheduled) {
				names = append(names, r.Queue)
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		names = names[:min(limit, len(names))]
		return nil
	})
	return names, err
}

// Settle writes each outcome whose ticket holds its job.
func (s *store) Settle(ctx context.Context, outcomes []driven.Outcome) (answer driven.Settled, err error) {
	err = s.do(ctx, "settle", func(t *tx) error {
		for i := range outcomes {
			o := &outcomes[i]
			r, held := t.held(o.Ticket)
			repeat := !r.Settled.IsZero() && r.Settled == o.Ticket.Token
			switch legal := domain.CanMove(domain.ActSettle, domain.Running, o.To); {
			case legal && held:
				t.settle(&r, o)
				t.put(r)
				if o.To == domain.Dead && o.Failure != nil && !t.addOwn(o.Failure) {
					answer.Refused = append(answer.Refused, r.ID)
				}
			case !legal || !repeat:
				answer.Dropped = append(answer.Dropped, o.Ticket.ID)
			}
			for _, end := range o.Slots {
				t.giveBack(o.Ticket, end.Slot, end.After)
			}
		}
		return nil
	})
	return answer, err
}

// held gives the record and whether the ticket is its claim's.
func (t *tx) held(ticket domain.Ticket) (record, bool) {
	r, ok := t.jobs[ticket.ID]
	return r, ok && r.State == domain.Running && r.Token == ticket.Token
}

func (t *tx) settle(r *record, o *driven.Outcome) {
	r.Settled, r.Error, r.History, r.Ran = r.Token, o.Error, o.History, o.Ran
	if o.Counts {
		r.Attempts, r.Stalls = r.Attempts+1, 0
	}
	if o.Snoozed {
		r.Snoozes++
	}
	if o.To == domain.Done {
		r.Error, r.Result = "", slices.Clone(o.Result)
		if o.ForgetArgs {
			r.Args, r.Forgotten = nil, true
		}
	}
	if o.To.Terminal() {
		t.end(r, o.To, o.Keep)
		return
	}
	release(r)
	r.State = o.To
	if o.To == domain.Scheduled {
		r.RunAt = t.in(o.After)
	}
}

// Renew does not ask whether the lease ran out: who holds the job may keep it.
func (s *store) Renew(ctx context.Context, req driven.RenewRequest) (answer driven.Renewed, err error) {
	err = s.do(ctx, "renew", func(t *tx) error {
		for _, ticket := range req.Tickets {
			switch r, held := t.held(ticket.Ticket); {
			case held:
				r.LeaseUntil, r.Stuck = t.in(req.Lease), ticket.Stuck
				t.put(r)
			case r.State == domain.Cancelled: // an operator was faster than the handler
				answer.Cancelled = append(answer.Cancelled, ticket.Ticket.ID)
			default:
				answer.Lost = append(answer.Lost, ticket.Ticket.ID)
			}
		}
		return nil
	})
	return answer, err
}
