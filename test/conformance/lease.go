package conformance

import (
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func leaseCases() []testCase {
	return []testCase{
		{"renew", leaseRenew},
		{"lapsed", leaseLapsed},
		{"settles", leaseSettles},
		{"lost", leaseLost},
		{"cancelled", leaseCancelled},
		{"same", leaseSame},
		{"stuck", leaseStuck},
		{"many", leaseMany},
		{"nothing", leaseNothing},
	}
}

// renew: the lease ends at the store's now + Lease, longer or shorter than before.
func leaseRenew(c *rig) {
	jobs := c.claimSet(3)
	for _, lease := range []time.Duration{2 * long, 10 * time.Minute} {
		before := c.now()
		equal(c, "lost claims", len(c.renew(lease, jobs[:2]...)), 0)
		for _, j := range jobs[:2] {
			got := c.inState(j.Job.ID, domain.Running)
			if first, last := before.Add(lease), c.now().Add(lease); got.LeaseUntil.Before(first) || got.LeaseUntil.After(last) {
				c.Fatalf("lease until %v, want from %v to %v", got.LeaseUntil, first, last)
			}
			equal(c, "claimed at", got.ClaimedAt, j.Job.ClaimedAt)
		}
	}
	kept := c.get(jobs[2].Job.ID)
	equal(c, "lease of the claim that was not renewed", kept.LeaseUntil, kept.ClaimedAt.Add(long))
}

// lapsed: token and state guard the renewal, not time: what ran out and was not
// taken is renewed, and a sweep then finds it alive.
func leaseLapsed(c *rig) {
	j := c.stalled()
	equal(c, "lost claims", len(c.renew(long, j)), 0)
	equal(c, "recovered jobs", len(c.recover(sweep()).Jobs), 0)
	c.inState(j.Job.ID, domain.Running)
	c.settled(done(j))
}

// settles: an outcome too is taken after the lease ran out, as long as nobody took the job.
func leaseSettles(c *rig) {
	j := c.stalled()
	c.settled(done(j))
	equal(c, "recovered jobs", len(c.recover(sweep()).Jobs), 0)
	equal(c, "stalls", c.inState(j.Job.ID, domain.Done).Stalls, 0)
}

// lost: a claim that no longer holds its job is told so and changes nothing, and the others are renewed.
func leaseLost(c *rig) {
	jobs := c.claimSet(5)
	c.settled(done(jobs[0]), failed(jobs[1], long), released(jobs[2]))
	foreign := jobs[3]
	foreign.Token = c.token()
	absent := driven.Claimed{Token: c.token(), Job: domain.Job{ID: c.id()}}
	stale := c.stalled(priority(-1))
	c.recover(sweep())
	waiting := driven.Claimed{Job: domain.Job{ID: c.one(priority(9))}} // no token, as no claim has
	before := [2]domain.Job{c.get(jobs[3].Job.ID), c.get(stale.Job.ID)}
	lost := c.renew(2*long, jobs[0], jobs[1], jobs[2], foreign, jobs[4], absent, waiting, stale)
	equal(c, "lost claims", sorted(lost),
		sorted([]domain.JobID{jobs[0].Job.ID, jobs[1].Job.ID, jobs[2].Job.ID, jobs[3].Job.ID, absent.Job.ID, waiting.Job.ID, stale.Job.ID}))
	equal(c, "rows of lost claims", [2]domain.Job{c.get(jobs[3].Job.ID), c.get(stale.Job.ID)}, before)
	got := c.get(jobs[4].Job.ID)
	if !got.LeaseUntil.After(got.ClaimedAt.Add(long)) {
		c.Fatalf("the claim between lost ones was not renewed: lease until %v", got.LeaseUntil)
	}
	c.twice(func(stale, held driven.Claimed) []domain.JobID { return c.renew(long, stale, held) })
	c.twice(func(stale, held driven.Claimed) []domain.JobID { return c.renew(long, held, stale) })
}

// twice makes a claim that was put back and is held anew, and checks that an act
// under both tickets in one call refuses the stale one, once.
func (c *rig) twice(act func(stale, held driven.Claimed) (refused []domain.JobID)) {
	c.Helper()
	stale := c.stalled(priority(-2))
	quick := sweep()
	quick.Stalls.Base = time.Millisecond
	c.recover(quick)
	held := c.claimDueSoon()
	equal(c, "job claimed anew", held.Job.ID, stale.Job.ID)
	equal(c, "refused of two tickets of one job", act(stale, held), []domain.JobID{stale.Job.ID})
}

// same: a renewal that changes no value, twice within one tick, is not lost.
func leaseSame(c *rig) {
	jobs := c.claimSet(2)
	for range 3 {
		equal(c, "lost claims", len(c.renew(long, jobs...)), 0)
	}
}

// stuck: a renewal says that the handler runs on after its timeout; settling ends it.
func leaseStuck(c *rig) {
	jobs := c.claimSet(2)
	tickets := renewals(jobs...)
	tickets[1].Stuck = true
	got, err := c.store.Renew(c.Context(), driven.RenewRequest{Tickets: tickets, Lease: long})
	c.ok("renew", err)
	equal(c, "lost claims", len(got.Lost), 0)
	equal(c, "stuck of the first", c.get(jobs[0].Job.ID).Stuck, false)
	equal(c, "stuck of the second", c.get(jobs[1].Job.ID).Stuck, true)
	c.settled(released(jobs[1]))
	c.notRunning(c.get(jobs[1].Job.ID))
	equal(c, "stuck of the next claim", c.get(c.claimOne().Job.ID).Stuck, false)
}

// many: one call renews all that a runner holds.
func leaseMany(c *rig) {
	jobs := c.claimSet(1001)
	c.settled(done(jobs[500]))
	equal(c, "lost claims", c.renew(2*long, jobs...), []domain.JobID{jobs[500].Job.ID})
	first := jobs[0].Job.ClaimedAt.Add(long)
	for _, id := range []domain.JobID{jobs[0].Job.ID, jobs[501].Job.ID, jobs[1000].Job.ID} {
		if !c.get(id).LeaseUntil.After(first) {
			c.Fatalf("the lease of job %s was not renewed", id)
		}
	}
}

// nothing: a runner that holds nothing may ask all the same.
func leaseNothing(c *rig) { equal(c, "lost claims", len(c.renew(long)), 0) }
