package customadapter

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Recover puts back claims whose lease ran out; the domain says what becomes of each.
func (s *store) Recover(ctx context.Context, req driven.RecoverRequest) (answer driven.Recovered, err error) {
	err = s.do(ctx, "recover", func(t *tx) error {
		lapsed := t.pick(func(r *record) bool {
			return r.State == domain.Running && !r.LeaseUntil.After(t.now) && (req.Except == "" || r.Runner != req.Except)
		}, byAge)
		n := min(req.Limit, len(lapsed))
		for _, r := range lapsed[:n] {
			answer.Jobs = append(answer.Jobs, t.putBack(r, req))
		}
		answer.More = n < len(lapsed)
		return nil
	})
	return answer, err
}

func (t *tx) putBack(r record, req driven.RecoverRequest) driven.Recovery {
	to, after := req.Stalls.Next(r.Stalls)
	r.Stalls++
	answer := driven.Recovery{ID: r.ID, Kind: r.Kind, Queue: r.Queue, Runner: r.Runner, To: to, Stalls: r.Stalls, After: after, Batch: r.Batch}
	token := r.Token
	r.Error = domain.StallMessage(r.Runner)
	r.History = r.History.Add(domain.Note{At: t.now, Attempt: r.Attempts + 1, Ran: t.now.Sub(r.ClaimedAt), Message: r.Error, Runner: r.Runner})
	if to == domain.Dead {
		t.end(&r, to, r.Keep.For(to, domain.Retention{Dead: req.KeepDead}))
	} else {
		release(&r)
		r.State, r.RunAt = to, t.in(after)
	}
	t.put(r)
	if kind := r.FailsInto(req.Failures[r.Kind]); to == domain.Dead && kind != "" {
		made, err := domain.FailureJob(&r.Job, kind, token, r.Attempts+1, cmp.Or(r.MaxAttempts, req.Attempts), r.Error)
		if err == nil && t.addOwn(&made) {
			answer.Failed = made.ID
		}
		answer.Refused = answer.Failed.IsZero()
	}
	return answer
}

// Prune deletes terminal jobs whose time is over, but no members of a batch that
// waits for others.
func (s *store) Prune(ctx context.Context, req driven.PruneRequest) (answer driven.Pruned, err error) {
	err = s.do(ctx, "prune", func(t *tx) error {
		over := t.pick(func(r *record) bool {
			return r.State.Terminal() && !r.Expires.IsZero() && !r.Expires.After(t.now) && (req.Tenant == "" || r.Tenant == req.Tenant)
		}, byAge)
		n := min(req.Limit, len(over))
		for _, r := range over[:n] {
			if b, there := t.batches[r.Batch]; there && b.FinishedAt.IsZero() {
				r.Expires = t.in(req.Defer)
			} else {
				r.Gone = true
				answer.Removed++
			}
			t.put(r)
		}
		answer.More = n > 0 && n == req.Limit
		return nil
	})
	return answer, err
}

// beat is what a runner said of itself and until when that holds.
type beat struct {
	domain.RunnerInfo
	until time.Time
}

func (s *store) Beat(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error {
	return s.do(ctx, "beat", func(t *tx) error {
		maps.DeleteFunc(t.runners, func(_ string, b beat) bool { return !b.until.After(t.now) })
		r.StartedAt, r.SeenAt = cut(r.StartedAt), t.now
		r.Kinds, r.Queues = slices.Clone(r.Kinds), slices.Clone(r.Queues)
		t.runners[r.ID] = beat{r, t.in(ttl)}
		return nil
	})
}

func (s *store) Leave(ctx context.Context, id string) error {
	return s.do(ctx, "leave", func(t *tx) error {
		delete(t.runners, id)
		return nil
	})
}

func (s *store) ListRunners(ctx context.Context, limit int) (live []domain.RunnerInfo, err error) {
	err = s.do(ctx, "list runners", func(t *tx) error {
		for _, id := range slices.Sorted(maps.Keys(t.runners)) {
			if b := t.runners[id]; len(live) < limit && b.until.After(t.now) {
				b.Kinds, b.Queues = slices.Clone(b.Kinds), slices.Clone(b.Queues)
				live = append(live, b.RunnerInfo)
			}
		}
		return nil
	})
	return live, err
}
