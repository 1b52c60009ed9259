package conformance

import (
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func pruneCases() []testCase {
	return []testCase{
		{"bounded", pruneBounded},
		{"live", pruneLive},
		{"states", pruneStates},
		{"retried", pruneRetried},
		{"tenant", pruneTenant},
	}
}

// endAll ends every claim so that its row is over after the span.
func (c *rig) endAll(jobs []driven.Claimed, end func(driven.Claimed) driven.Outcome, kept time.Duration) {
	c.Helper()
	outcomes := make([]driven.Outcome, len(jobs))
	for i, j := range jobs {
		outcomes[i] = end(j)
		outcomes[i].Keep = kept
	}
	c.settled(outcomes...)
}

// bounded: at most Limit rows a pass, and passes go on where the last one stopped.
func pruneBounded(c *rig) {
	c.endAll(c.claimSet(25), done, c.short())
	c.pass(c.short() + time.Millisecond)
	var passes []int
	for range 4 {
		passes = append(passes, c.prune(10, ""))
	}
	equal(c, "rows of each pass", passes, []int{10, 10, 5, 0})
	equal(c, "rows left", c.count(domain.Filter{}), 0)
}

// live: what waits, runs, or is kept for ever or for longer stays.
func pruneLive(c *rig) {
	ready, later := c.one(inQueue("b")), c.one(after(long))
	lapsed := c.stalled()
	running := c.running(priority(-1))
	forEver, longer := c.running(), c.running()
	c.endAll([]driven.Claimed{forEver}, died, domain.KeepForever)
	c.endAll([]driven.Claimed{longer}, done, long)
	over := c.running()
	c.endAll([]driven.Claimed{over}, done, c.short())
	c.pass(c.short() + time.Millisecond)
	equal(c, "pruned rows", c.prune(100, ""), 1)
	for id, want := range map[domain.JobID]domain.State{
		ready: domain.Ready, later: domain.Scheduled, lapsed.Job.ID: domain.Running,
		running.Job.ID: domain.Running, forEver.Job.ID: domain.Dead, longer.Job.ID: domain.Done,
	} {
		c.inState(id, want)
	}
	equal(c, "rows left", c.count(domain.Filter{}), 6)
}

// states: done, dead and cancelled rows go alike, each after its own time.
func pruneStates(c *rig) {
	for _, end := range []func(driven.Claimed) driven.Outcome{done, died, gaveUp} {
		c.endAll(c.claimSet(2), end, c.short())
		c.endAll(c.claimSet(1), end, long)
	}
	if c.Advance != nil {
		equal(c, "pruned rows before their time", c.prune(100, ""), 0)
	}
	c.pass(c.short() + time.Millisecond)
	equal(c, "pruned rows", c.prune(100, ""), 6)
	equal(c, "rows left", c.count(domain.Filter{}), 3)
}

// retried: an operator's retry takes a row off the list of those to go.
func pruneRetried(c *rig) {
	jobs := c.claimSet(2)
	c.endAll(jobs, done, c.short())
	c.wantNil("retry", c.retry(domain.Due{}, jobs[0].Job.ID)...)
	c.pass(c.short() + time.Millisecond)
	equal(c, "pruned rows", c.prune(100, ""), 1)
	c.inState(jobs[0].Job.ID, domain.Ready)
}

// tenant: with a tenant only its rows go.
func pruneTenant(c *rig) {
	for _, tenant := range []string{"t", "T", ""} {
		if tenant == "" {
			c.endAll(c.claimSet(3), done, c.short())
		} else {
			c.endAll(c.claimSet(3, ofTenant(tenant)), done, c.short())
		}
	}
	c.pass(c.short() + time.Millisecond)
	equal(c, "pruned rows of one tenant", c.prune(100, "t"), 3)
	equal(c, "rows of another tenant", c.count(domain.Filter{Tenant: "T"}), 3)
	equal(c, "pruned rows of all", c.prune(100, ""), 6)
}
