package conformance

import (
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func recoverCases() []testCase {
	return []testCase{
		{"stall", recoverStall},
		{"dead", recoverDead},
		{"bounded", recoverBounded},
		{"live", recoverLive},
		{"except", recoverExcept},
		{"bad", recoverBad},
		{"fence", recoverFence},
		{"keep", recoverKeep},
	}
}

// stall: a claim whose lease ran out is put back, scheduled after the policy's
// wait; the stall is counted apart from attempts and told in the history.
func recoverStall(c *rig) {
	j := c.stalled(ofTenant("acme"))
	before := c.now()
	got := c.recover(sweep())
	want := driven.Recovery{
		ID: j.Job.ID, Kind: kind, Queue: queue, Runner: runnerID,
		To: domain.Scheduled, Stalls: 1, After: sweep().Stalls.Delay(1),
	}
	equal(c, "recovered jobs", got.Jobs, []driven.Recovery{want})
	equal(c, "More", got.More, false)
	row := c.inState(j.Job.ID, domain.Scheduled)
	equal(c, "attempts, stalls, snoozes", [3]int{row.Attempts, row.Stalls, row.Snoozes}, [3]int{0, 1, 0})
	c.dueIn(row, before, want.After)
	c.notRunning(row)
	notes, err := row.History.Notes()
	c.ok("read the history", err)
	equal(c, "number of notes", len(notes), 1)
	equal(c, "note", notes[0].Message, domain.StallMessage(runnerID))
	equal(c, "last error", row.Error, domain.StallMessage(runnerID))
	equal(c, "recovered by a second sweep", len(c.recover(sweep()).Jobs), 0)
}

// dead: one stall in a row more than the policy allows kills.
func recoverDead(c *rig) {
	quick := sweep()
	quick.Stalls = domain.StallPolicy{Base: time.Millisecond, Cap: 5 * time.Millisecond, Max: 2}
	j := c.stalled()
	for stalls := 1; stalls <= 2; stalls++ {
		got := c.recover(quick).Jobs
		equal(c, "recovered jobs", len(got), 1)
		equal(c, "fate and stalls", got[0], driven.Recovery{
			ID: j.Job.ID, Kind: kind, Queue: queue, Runner: runnerID,
			To: domain.Scheduled, Stalls: stalls, After: quick.Stalls.Delay(stalls),
		})
		c.pass(10 * time.Millisecond)
		c.claimLapsed(1)
	}
	got := c.recover(quick).Jobs
	equal(c, "recovered jobs", len(got), 1)
	equal(c, "fate", got[0].To, domain.Dead)
	row := c.inState(j.Job.ID, domain.Dead)
	equal(c, "attempts", row.Attempts, 0)
	if row.FinishedAt.IsZero() {
		c.Fatal("the dead row does not say when it finished")
	}
	notes, err := row.History.Notes()
	c.ok("read the history", err)
	equal(c, "number of notes", len(notes), 3)
	c.notRunning(row)
	c.pass(c.short())
	equal(c, "jobs to claim", len(c.claim(10)), 0)
}

// bounded: a sweep puts back at most Limit and says when it stopped there.
func recoverBounded(c *rig) {
	c.add(c.jobs(25)...)
	c.claimLapsed(25)
	r := sweep()
	r.Limit = 10
	total := 0
	for range 2 {
		got := c.recover(r)
		equal(c, "recovered jobs", len(got.Jobs), 10)
		equal(c, "More", got.More, true)
		total += len(got.Jobs)
	}
	last := c.recover(r)
	equal(c, "recovered jobs at last", len(last.Jobs), 5)
	equal(c, "More at last", last.More, false)
	equal(c, "running jobs", c.count(domain.Filter{States: []domain.State{domain.Running}}), 0)
}

// live: a lease that has not run out is never touched.
func recoverLive(c *rig) {
	c.add(c.jobs(3)...)
	live := c.claim(1)[0]
	renewed := c.claimLapsed(2)
	c.renew(long, renewed[0])
	got := c.recover(sweep()).Jobs
	equal(c, "recovered jobs", len(got), 1)
	equal(c, "recovered job", got[0].ID, renewed[1].Job.ID)
	c.inState(live.Job.ID, domain.Running)
	c.inState(renewed[0].Job.ID, domain.Running)
	if c.Advance == nil {
		return
	}
	r := c.request(1)
	r.Lease = time.Minute
	j := c.claimSetOf(r)
	c.pass(time.Minute - time.Millisecond)
	equal(c, "recovered a millisecond before the lease ends", len(c.recover(sweep()).Jobs), 0)
	c.pass(2 * time.Millisecond)
	got = c.recover(sweep()).Jobs
	equal(c, "recovered a millisecond after the lease ended", len(got), 1)
	equal(c, "recovered job", got[0].ID, j.Job.ID)
}

// claimSetOf inserts one job and claims it by that request.
func (c *rig) claimSetOf(r driven.ClaimRequest) driven.Claimed {
	c.Helper()
	c.one(inQueue(r.Queue), ofKind(r.Kinds[0]))
	got := c.ask(r).Jobs
	equal(c, "claimed jobs", len(got), 1)
	return got[0]
}

// except: the sweeping runner's own claims stay; the handlers of this process know better.
func recoverExcept(c *rig) {
	names := []string{"runner-a", "RUNNER-A", "runner-a "}
	claims := map[string]driven.Claimed{}
	for _, name := range names {
		r := c.request(1)
		r.Runner, r.Lease = name, c.short()
		claims[name] = c.claimSetOf(r)
	}
	c.pass(c.short() + time.Millisecond)
	r := sweep()
	r.Except = names[0]
	equal(c, "recovered jobs", len(c.recover(r).Jobs), 2)
	c.inState(claims[names[0]].Job.ID, domain.Running)
	r.Except = ""
	equal(c, "recovered jobs without an exception", len(c.recover(r).Jobs), 1)
}

// bad: one row that is hard to put back never keeps the others.
func recoverBad(c *rig) {
	jobs := c.claimSet(12)
	outcomes := make([]driven.Outcome, len(jobs))
	for i, j := range jobs {
		outcomes[i] = failed(j, time.Millisecond)
	}
	outcomes[3].History = `{"not": "a list"}`
	outcomes[7].History = `[{"at":"never"}]`
	c.settled(outcomes...)
	c.pass(10 * time.Millisecond)
	c.claimLapsed(12)
	equal(c, "recovered jobs", len(c.recover(sweep()).Jobs), 12)
	for i, j := range jobs {
		notes, err := c.inState(j.Job.ID, domain.Scheduled).History.Notes()
		c.ok("read the history", err)
		want := 2
		if i == 3 || i == 7 {
			want = 1 // the unreadable one starts anew
		}
		equal(c, "number of notes", len(notes), want)
	}
}

// fence: the claim that was put back is over, whatever its runner sends later.
func recoverFence(c *rig) {
	j := c.stalled()
	quick := sweep()
	quick.Stalls.Base = time.Millisecond
	c.recover(quick)
	equal(c, "lost claims", c.renew(long, j), []domain.JobID{j.Job.ID})
	equal(c, "dropped outcomes", c.settle(done(j)), []domain.JobID{j.Job.ID})
	second := c.claimDueSoon()
	equal(c, "lost claims while another holds the job", c.renew(long, j), []domain.JobID{j.Job.ID})
	equal(c, "dropped outcomes while another holds the job", c.settle(died(j)), []domain.JobID{j.Job.ID})
	c.settled(done(second))
	equal(c, "attempts", c.inState(j.Job.ID, domain.Done).Attempts, 1)
}

// keep: the dead stay as long as their own retention says, else as the sweep says.
func recoverKeep(c *rig) {
	r := sweep()
	r.Stalls.Max, r.KeepDead = 0, c.short()
	byDefault := c.stalled()
	c.recover(r)
	forEver := c.stalled(keep(domain.Retention{Dead: domain.KeepForever}))
	c.recover(r)
	if c.Advance != nil {
		c.pass(time.Second)
	}
	c.pass(c.short())
	equal(c, "pruned rows", c.prune(100, ""), 1)
	c.inState(forEver.Job.ID, domain.Dead)
	_, err := c.store.Job(c.Context(), byDefault.Job.ID, "")
	c.wantCode("read of the pruned job", err, domain.NotFound)
}
