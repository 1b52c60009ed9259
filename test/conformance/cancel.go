package conformance

import (
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// cancel-running: a job that runs is given up at once and for good. Nothing of its
// claim is written any more, no sweep finds it, its key is free, and the row says which
// runner had it. Who asked for other states leaves it alone.
func editCancelRunning(c *rig) {
	j := c.running(unique("k"))
	c.settled(failed(j, time.Millisecond))
	j = c.claimDueSoon()
	stuck := renewals(j)
	stuck[0].Stuck = true
	_, err := c.store.Renew(c.Context(), driven.RenewRequest{Tickets: stuck, Lease: long})
	c.ok("renew", err)
	before := c.get(j.Job.ID)
	waiting := edits(j.Job.ID)
	waiting.States = []domain.State{domain.Ready, domain.Scheduled, domain.Blocked}
	c.names("cancel of a waiting job that runs by now", c.edits(waiting)["cancel"]()[0], runnerID)
	equal(c, "the row that was refused", c.get(j.Job.ID), before)

	c.wantNil("cancel of a running job", c.cancel(j.Job.ID)...)
	got := c.inState(j.Job.ID, domain.Cancelled)
	c.notRunning(got)
	equal(c, "attempts, stalls", [2]int{got.Attempts, got.Stalls}, [2]int{1, 0})
	equal(c, "runner and last error", [2]string{got.Runner, got.Error}, [2]string{runnerID, before.Error})
	equal(c, "history", got.History, before.History)
	if got.FinishedAt.Before(got.ClaimedAt) {
		c.Fatalf("finished at %v, claimed at %v", got.FinishedAt, got.ClaimedAt)
	}
	for range 2 {
		for _, o := range []driven.Outcome{done(j), failed(j, time.Millisecond), released(j), gaveUp(j), died(j)} {
			equal(c, "dropped outcomes of the "+o.To.String(), c.settle(o), []domain.JobID{j.Job.ID})
		}
	}
	c.wantNil("cancel of the cancelled", c.cancel(j.Job.ID)...)
	equal(c, "the row", c.get(j.Job.ID), got)
	c.one(unique("k"), inQueue("other")) // the key is free
	c.cancelledForGood()
}

// cancelledForGood: a lapsed claim that is cancelled is no stall, the row stays as long
// as the job or else the request says, and a claim after a retry is another.
func (c *rig) cancelledForGood() {
	c.Helper()
	lapsed := c.stalled()
	r := edits(lapsed.Job.ID, c.running(keep(domain.Retention{Cancelled: domain.KeepForever})).Job.ID)
	r.States, r.Keep = []domain.State{domain.Running}, c.short()
	c.wantNil("cancel of running jobs", c.edits(r)["cancel"]()...)
	equal(c, "recovered jobs", len(c.recover(sweep()).Jobs), 0)
	equal(c, "stalls", c.inState(lapsed.Job.ID, domain.Cancelled).Stalls, 0)
	again := c.running()
	c.wantNil("cancel", c.cancel(again.Job.ID)...)
	c.wantNil("retry of the cancelled", c.retry(domain.Due{}, again.Job.ID)...)
	next := c.claimOne()
	equal(c, "job claimed anew", next.Job.ID, again.Job.ID)
	equal(c, "dropped outcomes of the cancelled claim", c.settle(done(again)), []domain.JobID{again.Job.ID})
	c.settled(done(next))
	c.pass(r.Keep + time.Millisecond)
	equal(c, "pruned rows", c.prune(1, ""), 1)
	c.inState(r.IDs[1], domain.Cancelled)
}

// cancelled: who renews learns which of its claims are over because the job was
// cancelled, apart from those that are lost, and the others are renewed.
func leaseCancelled(c *rig) {
	jobs := c.claimSet(4)
	c.wantNil("cancel", c.cancel(jobs[1].Job.ID, jobs[2].Job.ID)...)
	c.settled(done(jobs[3]))
	renew := func(want driven.Renewed, jobs ...driven.Claimed) {
		c.Helper()
		got, err := c.store.Renew(c.Context(), driven.RenewRequest{Tickets: renewals(jobs...), Lease: 2 * long})
		c.ok("renew", err)
		equal(c, "lost claims", sorted(got.Lost), sorted(want.Lost))
		equal(c, "cancelled claims", sorted(got.Cancelled), sorted(want.Cancelled))
	}
	before := c.get(jobs[1].Job.ID)
	both := []domain.JobID{jobs[1].Job.ID, jobs[2].Job.ID}
	for range 2 {
		renew(driven.Renewed{Lost: []domain.JobID{jobs[3].Job.ID}, Cancelled: both}, jobs...)
	}
	equal(c, "the row", c.get(jobs[1].Job.ID), before)
	if got := c.get(jobs[0].Job.ID); !got.LeaseUntil.After(got.ClaimedAt.Add(long)) {
		c.Fatalf("the claim beside cancelled ones was not renewed: lease until %v", got.LeaseUntil)
	}
	renew(driven.Renewed{Cancelled: both[:1]}, jobs[1])
	c.wantNil("retry of the cancelled", c.retry(domain.Due{}, both[0])...)
	renew(driven.Renewed{Lost: both[:1]}, jobs[1]) // it waits: the old claim is lost, as any
	renew(driven.Renewed{}, c.claimOne())
}

// cancelled: what a running job holds stays taken when it is cancelled, for its handler
// may run on. Its runner keeps it and gives it back, or a sweep finds it.
func slotCancelled(c *rig) {
	for _, swept := range []bool{false, true} {
		a := c.limitedJob()
		next := c.one()
		c.startNone()
		c.wantNil("cancel of a running job", c.cancel(a.Job.ID)...)
		c.taken(limit(""))
		c.woken(0, limit(""))
		equal(c, "expired keys", len(c.expire(10).Keys), 0)
		if swept {
			equal(c, "orphans", c.reap(c.short()), 1)
			c.taken(limit(""))
			c.pass(c.short() + time.Millisecond)
			equal(c, "expired keys", c.expire(10).Keys, []string{limit("")})
		} else {
			c.hold(driven.Holding{Ticket: a.Ticket(), Slot: a.slots[0].Slot, For: long})
			equal(c, "orphans while the runner keeps the slot", c.reap(0), 0)
			c.hold(driven.Holding{Ticket: a.Ticket(), Slot: a.slots[0].Slot, End: true})
		}
		c.taken()
		c.woken(1, limit(""))
		c.over(c.startOnly(next), done)
	}
	late := c.limitedJob() // an outcome that comes too late gives it back as well
	c.wantNil("cancel of a running job", c.cancel(late.Job.ID)...)
	equal(c, "dropped outcomes", c.settle(late.with(done(late.Claimed))), []domain.JobID{late.Job.ID})
	c.taken()
	c.notAdmitted()
	busy := c.startOnly(c.one())
	c.notAdmitted()
	c.over(busy, done)
}

// notAdmitted: one that is cancelled between its claim and its admission gets nothing and
// waits for nothing, whether what it wants is free or not.
func (c *rig) notAdmitted() {
	c.Helper()
	before := len(c.holders())
	jobs := []driven.Claimed{c.running()}
	c.wantNil("cancel of a claimed job", c.cancel(jobs[0].Job.ID)...)
	got, lost := c.admitAll(jobs)
	equalIDs(c, "lost claims", lost, []domain.JobID{jobs[0].Job.ID})
	equal(c, "admitted and parked jobs", len(got.started)+len(got.parked), 0)
	equal(c, "taken slots", len(c.holders()), before)
	c.inState(jobs[0].Job.ID, domain.Cancelled)
}
