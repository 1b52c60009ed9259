package runner

import (
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const claimMost = 1000 // jobs in one claim

// claim asks for jobs of a queue, in parts where that is called for.
func (l *lane) claim(queue string, n int) (all driven.Claims, err error) {
	all.Next = driven.NoNext
	for _, part := range l.parts(n) {
		most, kinds := min(part.n, n-len(all.Jobs)), l.session.pauses.open(queue, part.kinds)
		if len(kinds) == 0 || most <= 0 {
			continue
		}
		claims, err := l.claimPart(queue, kinds, most)
		if err != nil {
			return all, err
		}
		all.Jobs = append(all.Jobs, claims.Jobs...)
		all.Next, all.More = min(all.Next, claims.Next), all.More || claims.More || l.tight && l.plenty.Load()
	}
	return all, nil
}

// claimPart is not broken off by a stop: what the store gave must be known, to be given back.
func (l *lane) claimPart(queue string, kinds []string, n int) (driven.Claims, error) {
	s := l.session
	sent := s.clock.now()
	last, fair := s.served[queue]
	req := driven.ClaimRequest{
		Token: s.deps.IDs.NewToken(), Runner: s.id, Lease: s.cfg.Lease, Queue: queue, Kinds: kinds, N: n,
	}
	if fair {
		req.Fair, req.After = true, last.get()
	}
	claims, err := inTime(&l.within, s, s.cfg.Lease, s.deps.Store.Claim, req)
	if err == nil && fair {
		last.set(claims.Tenant)
	}
	if err == nil {
		l.plenty.Store(len(claims.Jobs) >= n)
		average(&l.claimTime, s.clock.now()-sent)
		err = l.accept(claims.Jobs, sent, n)
	}
	return claims, err
}

// accept takes claims into the runner's hands and feeds the workers: with those
// that have no bounds at once, with the others when they are admitted.
func (l *lane) accept(jobs []driven.Claimed, sent time.Duration, n int) error {
	if len(jobs) == 0 {
		return nil
	}
	s := l.session
	batch := make([]*attempt, len(jobs))
	for i := range jobs {
		batch[i] = s.newAttempt(l, &jobs[i], sent)
	}
	for _, a := range s.held.add(batch) { // its handler still runs here, under a claim that was lost
		a.phase.Store(finished)
		back := a.release(s.cfg.Lease/2, 0)
		back.err = errRunsOn
		s.completer.add(back)
	}
	l.load.Add(int64(len(batch)))
	fit, bounded, stay := batch[:0], []*attempt(nil), 0
	for i, a := range batch {
		if a.plan == nil || i >= n { // a store that gave what was not asked for
			s.giveBack(a)
		}
		switch a.phase.Load() {
		case waiting:
			fit = append(fit, a)
		case admitting:
			if stay++; !l.wait(a) {
				bounded = append(bounded, a)
			}
			continue
		}
		s.claimed(a)
	}
	l.load.Add(int64(len(fit) + stay - len(batch)))
	l.line.put(fit)
	return l.admit(append(bounded, l.due()...))
}

func (s *session) newAttempt(l *lane, c *driven.Claimed, sent time.Duration) *attempt {
	a := &attempt{lane: l, plan: s.plans[c.Job.Kind], claim: c, taken: sent, limit: c.Job.Timeout}
	if a.plan != nil {
		if a.limit == 0 {
			a.limit = a.plan.timeout
		}
		if a.plan.bounded() || c.Job.Turn != domain.NoTurn {
			a.grip = &grip{}
			a.phase.Store(admitting)
		}
	}
	a.good.Store(int64(sent))
	return a
}

func (s *session) claimed(a *attempt) {
	if s.deps.Observer == nil {
		return
	}
	e := a.event(domain.EventClaimed)
	e.Waited = max(a.claim.Job.ClaimedAt.Sub(a.claim.Job.RunAt), 0)
	s.observe(e)
}

// cursor is the tenant that a queue served last, whichever lane it was.
type cursor struct {
	mu     sync.Mutex
	tenant string
}

func (c *cursor) get() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tenant
}

func (c *cursor) set(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tenant = tenant
}
