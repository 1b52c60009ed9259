package conformance

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// request asks for up to n jobs of the usual queue and kind under a fresh token.
func (c *rig) request(n int) driven.ClaimRequest {
	return driven.ClaimRequest{Token: c.token(), Runner: runnerID, Lease: long, Queue: queue, Kinds: []string{kind}, N: n}
}

// ask claims and checks what holds for every claim.
func (c *rig) ask(r driven.ClaimRequest) driven.Claims {
	c.Helper()
	got, err := c.store.Claim(c.Context(), r)
	c.ok("claim", err)
	if len(got.Jobs) > r.N {
		c.Fatalf("a claim of at most %d gave %d jobs", r.N, len(got.Jobs))
	}
	for _, j := range got.Jobs {
		equal(c, "token of the claimed job", j.Token, r.Token)
		equal(c, "state of the claimed job", j.Job.State, domain.Running)
	}
	return got
}

// claim takes up to n due jobs of the usual queue and kind.
func (c *rig) claim(n int) []driven.Claimed {
	c.Helper()
	return c.ask(c.request(n)).Jobs
}

// claimOne takes the one due job there must be.
func (c *rig) claimOne() driven.Claimed {
	c.Helper()
	got := c.claim(1)
	if len(got) != 1 {
		c.Fatalf("no job was claimed, one was due")
	}
	return got[0]
}

// claimAll claims until nothing more is due.
func (c *rig) claimAll(r driven.ClaimRequest) []driven.Claimed {
	c.Helper()
	var all []driven.Claimed
	taken := newTaken()
	for idle := 0; idle < 1000; idle++ {
		r.Token = c.token()
		got := c.ask(r)
		c.ok("claim", taken.add(got.Jobs))
		if all = append(all, got.Jobs...); len(got.Jobs) > 0 {
			idle = 0
		} else if !got.More {
			return all
		}
	}
	c.Fatal("a claim says More for ever and gives nothing")
	return nil
}

// taken collects what claimers got and finds a job that was given twice.
type taken struct {
	mu  sync.Mutex
	ids map[domain.JobID]bool
}

func newTaken() *taken { return &taken{ids: map[domain.JobID]bool{}} }

func (t *taken) add(jobs []driven.Claimed) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range jobs {
		if t.ids[j.Job.ID] {
			return fmt.Errorf("job %s was claimed twice", j.Job.ID)
		}
		t.ids[j.Job.ID] = true
	}
	return nil
}

func (t *taken) all() []domain.JobID { return sorted(slices.Collect(maps.Keys(t.ids))) }

// running inserts one job and claims it.
func (c *rig) running(sets ...set) driven.Claimed {
	c.Helper()
	n := c.job(sets...)
	c.add(n)
	r := c.request(1)
	r.Queue, r.Kinds = n.Queue, []string{n.Kind}
	got := c.ask(r).Jobs
	if len(got) != 1 || got[0].Job.ID != n.ID {
		c.Fatalf("the job just inserted was not claimed: %v", idsOf(got))
	}
	return got[0]
}

// stalled inserts one job, claims it under a short lease and lets that run out.
func (c *rig) stalled(sets ...set) driven.Claimed {
	c.Helper()
	n := c.job(sets...)
	c.add(n)
	return c.claimLapsed(1)[0]
}

// claimLapsed takes exactly n due jobs under a short lease and lets that run out.
func (c *rig) claimLapsed(n int) []driven.Claimed {
	c.Helper()
	r := c.request(n)
	r.Lease = c.short()
	got := c.ask(r).Jobs
	if len(got) != n {
		c.Fatalf("%d jobs were claimed, %d were due", len(got), n)
	}
	c.pass(r.Lease + time.Millisecond)
	return got
}

func idsOf(jobs []driven.Claimed) []domain.JobID {
	ids := make([]domain.JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].Job.ID
	}
	return ids
}

func renewals(jobs ...driven.Claimed) []driven.Renewal {
	all := make([]driven.Renewal, len(jobs))
	for i := range jobs {
		all[i].Ticket = jobs[i].Ticket()
	}
	return all
}

// done, failed, died, gaveUp, snoozed and released are the outcomes that a
// runner records, as domain.Judge makes them.
func done(j driven.Claimed) driven.Outcome {
	return driven.Outcome{Ticket: j.Ticket(), To: domain.Done, Counts: true, Ran: 7 * time.Millisecond, Keep: long, History: j.Job.History}
}

func failed(j driven.Claimed, wait time.Duration) driven.Outcome {
	return driven.Outcome{
		Ticket: j.Ticket(), To: domain.Scheduled, After: wait, Counts: true, Ran: 3 * time.Millisecond,
		Error: "it failed", History: j.Job.History.Add(domain.Note{Attempt: j.Job.Attempts + 1, Message: "it failed", Runner: runnerID}),
	}
}

func died(j driven.Claimed) driven.Outcome {
	o := failed(j, 0)
	o.To, o.Keep = domain.Dead, domain.KeepForever
	return o
}

func gaveUp(j driven.Claimed) driven.Outcome {
	o := failed(j, 0)
	o.To, o.Counts, o.Keep = domain.Cancelled, false, long
	return o
}

func snoozed(j driven.Claimed, wait time.Duration) driven.Outcome {
	return driven.Outcome{Ticket: j.Ticket(), To: domain.Scheduled, After: wait, Snoozed: true, Error: j.Job.Error, History: j.Job.History}
}

func released(j driven.Claimed) driven.Outcome {
	return driven.Outcome{Ticket: j.Ticket(), To: domain.Ready, Error: j.Job.Error, History: j.Job.History}
}

// settle records outcomes and gives those that were dropped.
func (c *rig) settle(outcomes ...driven.Outcome) []domain.JobID {
	c.Helper()
	got, err := c.store.Settle(c.Context(), outcomes)
	c.ok("settle", err)
	return got.Dropped
}

// settled records outcomes of which none may be dropped.
func (c *rig) settled(outcomes ...driven.Outcome) {
	c.Helper()
	equal(c, "dropped outcomes", len(c.settle(outcomes...)), 0)
}

// ended inserts one job and brings it into a terminal state.
func (c *rig) ended(outcome func(driven.Claimed) driven.Outcome, sets ...set) domain.JobID {
	c.Helper()
	j := c.running(sets...)
	c.settled(outcome(j))
	return j.Job.ID
}

// renew renews the claims and gives those that are lost.
func (c *rig) renew(lease time.Duration, jobs ...driven.Claimed) []domain.JobID {
	c.Helper()
	got, err := c.store.Renew(c.Context(), driven.RenewRequest{Tickets: renewals(jobs...), Lease: lease})
	c.ok("renew", err)
	return got.Lost
}

// sweep is a recover request as upkeep makes it.
func sweep() driven.RecoverRequest {
	return driven.RecoverRequest{Limit: 100, Stalls: domain.DefaultStalls(), KeepDead: domain.KeepForever, Except: "runner-of-the-sweeper"}
}

// recover sweeps once.
func (c *rig) recover(r driven.RecoverRequest) driven.Recovered {
	c.Helper()
	got, err := c.store.Recover(c.Context(), r)
	c.ok("recover", err)
	if len(got.Jobs) > r.Limit {
		c.Fatalf("a sweep of at most %d put back %d claims", r.Limit, len(got.Jobs))
	}
	return got
}
