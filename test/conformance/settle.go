package conformance

import (
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func settleCases() []testCase {
	return []testCase{
		{"done", settleDone},
		{"retry", settleRetry},
		{"dead", settleDead},
		{"cancelled", settleCancelled},
		{"snooze", settleSnooze},
		{"release", settleRelease},
		{"forget", settleForget},
		{"resets", settleResets},
		{"fence", settleFence},
		{"partial", settlePartial},
		{"repeat", settleRepeat},
		{"illegal", settleIllegal},
		{"nothing", settleNothing},
		{"mixed", settleMixed},
	}
}

// notRunning checks that no trace of the claim is left in a row.
func (c *rig) notRunning(got domain.Job) {
	c.Helper()
	equal(c, "lease of a job that does not run", got.LeaseUntil, time.Time{})
	equal(c, "stuck of a job that does not run", got.Stuck, false)
}

// done: the attempt counts, the last error goes, the history stays, the result is kept.
func settleDone(c *rig) {
	j := c.running()
	c.settled(failed(j, time.Millisecond))
	j = c.claimDueSoon()
	o := done(j)
	o.Result = []byte(`{"sent": 9007199254740993}`)
	c.settled(o)
	got := c.inState(j.Job.ID, domain.Done)
	equal(c, "attempts", got.Attempts, 2)
	equal(c, "last error", got.Error, "")
	equal(c, "history", got.History, j.Job.History)
	equal(c, "result", string(got.Result), string(o.Result))
	equal(c, "run time", got.Ran, o.Ran)
	equal(c, "args", string(got.Args), `{}`)
	if got.FinishedAt.Before(got.ClaimedAt) {
		c.Fatalf("finished at %v, claimed at %v", got.FinishedAt, got.ClaimedAt)
	}
	c.notRunning(got)
	equal(c, "jobs to claim", len(c.claim(10)), 0)
}

// retry: scheduled at the store's now + After, the attempt counted, the error shown.
func settleRetry(c *rig) {
	j := c.running()
	o := failed(j, time.Hour)
	before := c.now()
	c.settled(o)
	got := c.inState(j.Job.ID, domain.Scheduled)
	equal(c, "attempts", got.Attempts, 1)
	equal(c, "last error", got.Error, o.Error)
	equal(c, "history", got.History, o.History)
	equal(c, "finished at", got.FinishedAt, time.Time{})
	c.dueIn(got, before, time.Hour)
	c.notRunning(got)
}

// dueIn checks a due time that the store computed between `before` and now.
func (c *rig) dueIn(got domain.Job, before time.Time, wait time.Duration) {
	c.Helper()
	if first, last := before.Add(wait), c.now().Add(wait); got.RunAt.Before(first) || got.RunAt.After(last) {
		c.Fatalf("due at %v, want from %v to %v", got.RunAt, first, last)
	}
}

// dead: nothing moves it any more; the args stay for a retry by hand.
func settleDead(c *rig) {
	j := c.running(withArgs(`{"n":1}`))
	o := died(j)
	c.settled(o)
	got := c.inState(j.Job.ID, domain.Dead)
	equal(c, "attempts", got.Attempts, 1)
	equal(c, "last error", got.Error, o.Error)
	equal(c, "history", got.History, o.History)
	equal(c, "args", string(got.Args), `{"n":1}`)
	if got.FinishedAt.IsZero() {
		c.Fatal("the row does not say when it finished")
	}
	c.notRunning(got)
	equal(c, "jobs to claim", len(c.claim(10)), 0)
}

// cancelled: given up by its handler, not counted when the outcome does not count.
func settleCancelled(c *rig) {
	j := c.running()
	c.settled(gaveUp(j))
	got := c.inState(j.Job.ID, domain.Cancelled)
	equal(c, "attempts", got.Attempts, 0)
	equal(c, "last error", got.Error, "it failed")
	c.notRunning(got)
	equal(c, "jobs to claim", len(c.claim(10)), 0)
}

// snooze: put off without using an attempt, and counted as a snooze.
func settleSnooze(c *rig) {
	j := c.running()
	before := c.now()
	c.settled(snoozed(j, 10*time.Minute))
	got := c.inState(j.Job.ID, domain.Scheduled)
	equal(c, "attempts, stalls, snoozes", [3]int{got.Attempts, got.Stalls, got.Snoozes}, [3]int{0, 0, 1})
	equal(c, "history", got.History, "")
	c.dueIn(got, before, 10*time.Minute)
	c.notRunning(got)
}

// release: given back unrun, due at once, nothing counted.
func settleRelease(c *rig) {
	j := c.running()
	c.settled(released(j))
	got := c.inState(j.Job.ID, domain.Ready)
	equal(c, "attempts, stalls, snoozes", [3]int{got.Attempts, got.Stalls, got.Snoozes}, [3]int{})
	c.notRunning(got)
	again := c.claimOne()
	equal(c, "job claimed after the release", again.Job.ID, j.Job.ID)
	if again.Token == j.Token {
		c.Fatal("the second claim has the token of the first")
	}
}

// forget: the args go with the success where that was asked for, and only then.
func settleForget(c *rig) {
	j := c.running(withArgs(`{"secret":1}`))
	o := done(j)
	o.ForgetArgs = true
	c.settled(o)
	got := c.get(j.Job.ID)
	equal(c, "args of the done job", string(got.Args), "")
	equal(c, "forgotten", got.Forgotten, true)

	j = c.running(withArgs(`{"secret":1}`), func(n *domain.NewJob) { n.ForgetArgs = true })
	c.settled(died(j))
	got = c.get(j.Job.ID)
	equal(c, "args of the dead job", string(got.Args), `{"secret":1}`)
	equal(c, "forgotten", got.Forgotten, false)
}

// resets: a counted outcome ends a row of stalls; a snooze and a release do not.
func settleResets(c *rig) {
	quick := sweep()
	quick.Stalls.Base = time.Millisecond
	c.stalled()
	c.recover(quick)
	c.settled(snoozed(c.claimDueSoon(), time.Millisecond))
	j := c.claimDueSoon()
	equal(c, "stalls after a snooze", j.Job.Stalls, 1)
	c.settled(released(j))
	j = c.claimOne()
	equal(c, "stalls after a release", j.Job.Stalls, 1)
	c.settled(failed(j, time.Millisecond))
	equal(c, "stalls after a settled attempt", c.claimDueSoon().Job.Stalls, 0)
}

// fence: without the token that holds the job no outcome is written.
func settleFence(c *rig) {
	j := c.running()
	wrong := done(j)
	wrong.Ticket.Token = c.token()
	equal(c, "outcome under a foreign token", c.settle(wrong), []domain.JobID{j.Job.ID})
	c.inState(j.Job.ID, domain.Running)
	waiting := c.one(priority(9))
	for _, id := range []domain.JobID{j.Job.ID, waiting} {
		zero := done(driven.Claimed{Job: domain.Job{ID: id}})
		equal(c, "outcome under no token", c.settle(zero), []domain.JobID{id})
	}
	c.inState(waiting, domain.Ready)
	c.settled(done(j))

	stale := c.stalled(inQueue("b"), unique("k"))
	c.recover(sweep())
	equal(c, "outcome after a recovery", c.settle(done(stale)), []domain.JobID{stale.Job.ID})
	c.inState(stale.Job.ID, domain.Scheduled)

	gone := driven.Claimed{Token: c.token(), Job: domain.Job{ID: c.id()}}
	equal(c, "outcome of a job that is not there", c.settle(done(gone)), []domain.JobID{gone.Job.ID})
}

// partial: what was overtaken is dropped, and the others stand.
func settlePartial(c *rig) {
	jobs := c.claimSet(50)
	var outcomes []driven.Outcome
	var stale []domain.JobID
	for i, j := range jobs {
		o := done(j)
		if i%7 == 3 {
			o.Ticket.Token = c.token()
			stale = append(stale, j.Job.ID)
		}
		outcomes = append(outcomes, o)
	}
	equal(c, "dropped outcomes", sorted(c.settle(outcomes...)), sorted(stale))
	equal(c, "done jobs", c.count(domain.Filter{States: []domain.State{domain.Done}}), 50-len(stale))
	equal(c, "running jobs", c.count(domain.Filter{States: []domain.State{domain.Running}}), len(stale))
	for _, first := range []bool{true, false} {
		c.twice(func(stale, held driven.Claimed) []domain.JobID {
			if first {
				return c.settle(died(stale), done(held))
			}
			return c.settle(done(held), died(stale))
		})
	}
	equal(c, "done jobs", c.count(domain.Filter{States: []domain.State{domain.Done}}), 50-len(stale)+2)
}

// repeat: an outcome that this very token settled before is a success and
// changes nothing, also when the job has moved on.
func settleRepeat(c *rig) {
	j := c.running()
	o := failed(j, time.Millisecond)
	c.settled(o)
	before := c.get(j.Job.ID)
	c.settled(o)
	equal(c, "the row after a repeat", c.get(j.Job.ID), before)
	second := c.claimDueSoon()
	c.settled(o)
	got := c.inState(j.Job.ID, domain.Running)
	equal(c, "attempts", got.Attempts, 1)
	c.settled(done(second))
	c.settled(done(second))
	got = c.inState(j.Job.ID, domain.Done)
	equal(c, "attempts at the end", got.Attempts, 2)
	equal(c, "outcome of the claim before the last", c.settle(o), []domain.JobID{j.Job.ID})
}

// illegal: an outcome that no act of the job's life allows is dropped, and the others stand.
func settleIllegal(c *rig) {
	jobs := c.claimSet(4)
	toRunning, toBlocked, toNowhere := done(jobs[0]), done(jobs[1]), done(jobs[2])
	toRunning.To, toBlocked.To, toNowhere.To = domain.Running, domain.Blocked, domain.State(99)
	want := []domain.JobID{jobs[0].Job.ID, jobs[1].Job.ID, jobs[2].Job.ID}
	equal(c, "dropped outcomes", sorted(c.settle(toRunning, toBlocked, toNowhere, done(jobs[3]))), want)
	for _, j := range jobs[:3] {
		c.inState(j.Job.ID, domain.Running)
	}
	c.inState(jobs[3].Job.ID, domain.Done)
	c.settled(done(jobs[0]))
}

// nothing: no outcome is no fault.
func settleNothing(c *rig) { c.settled() }

// mixed: one call takes outcomes of every sort, also with odd texts.
func settleMixed(c *rig) {
	jobs := c.claimSet(60)
	makers := []func(driven.Claimed) driven.Outcome{
		done, died, gaveUp, released,
		func(j driven.Claimed) driven.Outcome { return failed(j, time.Hour) },
		func(j driven.Claimed) driven.Outcome { return snoozed(j, time.Hour) },
	}
	states := []domain.State{domain.Done, domain.Dead, domain.Cancelled, domain.Ready, domain.Scheduled, domain.Scheduled}
	var outcomes []driven.Outcome
	for i, j := range jobs {
		o := makers[i%len(makers)](j)
		if o.Error != "" {
			o.Error = strings.Repeat(oddTexts[i%len(oddTexts)]+" ", 3)
		}
		outcomes = append(outcomes, o)
	}
	c.settled(outcomes...)
	for i, j := range jobs {
		got := c.inState(j.Job.ID, states[i%len(states)])
		if got.State != domain.Done {
			equal(c, "last error", got.Error, outcomes[i].Error)
		}
		equal(c, "history", got.History, outcomes[i].History)
	}
}
