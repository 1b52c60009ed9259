package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func claimCases() []testCase {
	return []testCase{
		{"once", claimOnce},
		{"fields", claimFields},
		{"lease", claimLease},
		{"due", claimDue},
		{"promote", claimPromote},
		{"kinds", claimKinds},
		{"foreign", claimForeign},
		{"attempts", claimAttempts},
		{"more", claimMore},
		{"next", claimNext},
		{"queues", claimQueues},
	}
}

// once: whatever is claimed is gone for every other claim, and N bounds each.
func claimOnce(c *rig) {
	ids := c.add(c.jobs(10)...)
	seen := map[domain.JobID]domain.Token{}
	for _, n := range []int{1, 4, 3, 5} {
		for _, j := range c.claim(n) {
			if _, twice := seen[j.Job.ID]; twice {
				c.Fatalf("job %s was claimed twice", j.Job.ID)
			}
			seen[j.Job.ID] = j.Token
		}
	}
	equal(c, "claimed jobs", len(seen), len(ids))
	equal(c, "jobs of a claim when none is left", len(c.claim(10)), 0)
	equal(c, "running rows", c.count(domain.Filter{States: []domain.State{domain.Running}}), 10)
}

// fields: a claim gives all that a runner works with.
func claimFields(c *rig) {
	n := c.job(ofTenant("acme"), priority(3), withArgs(`{"to":  9}`), withMeta(`{"trace":"x"}`), withTags("a", "b"),
		keep(domain.Retention{Done: time.Minute, Dead: time.Hour, Cancelled: domain.KeepForever}))
	n.MaxAttempts, n.Timeout, n.ForgetArgs = 4, 45*time.Second, true
	n.FailureKind, n.LimitKey, n.Batch = "test/failed", "eu", c.batch()
	c.add(n)
	first := c.claimOne()
	checkAsked(c, n, withKeyOf(n, first.Job))
	c.settled(failed(first, time.Millisecond))
	c.settled(snoozed(c.claimDueSoon(), time.Millisecond))
	c.pass(5 * time.Millisecond)
	c.claimLapsed(1)
	quick := sweep()
	quick.Stalls.Base = time.Millisecond
	c.recover(quick)
	got := c.claimDueSoon().Job
	row := c.get(n.ID)
	checkAsked(c, n, withKeyOf(n, got))
	equal(c, "attempts, stalls, snoozes", [3]int{got.Attempts, got.Stalls, got.Snoozes}, [3]int{1, 1, 1})
	equal(c, "history", got.History, row.History)
	equal(c, "last error", got.Error, row.Error)
	equal(c, "due, created and claimed times", [3]time.Time{got.RunAt, got.CreatedAt, got.ClaimedAt}, [3]time.Time{row.RunAt, row.CreatedAt, row.ClaimedAt})
	if got.Error == "" || got.History == "" || got.ClaimedAt.IsZero() {
		c.Fatalf("the claim lost the error, the history or its time: %+v", got)
	}
}

// withKeyOf adds the unique key, which a claim need not give.
func withKeyOf(n domain.NewJob, j domain.Job) domain.Job {
	j.UniqueKey = ""
	if n.Unique != nil {
		j.UniqueKey = n.Unique.Key
	}
	return j
}

// claimDueSoon claims the one job that is due within a few milliseconds.
func (c *rig) claimDueSoon() driven.Claimed {
	c.Helper()
	c.pass(5 * time.Millisecond)
	return c.claimOne()
}

// lease: the row shows who runs it and until when it is believed alive.
func claimLease(c *rig) {
	c.one()
	r := c.request(1)
	r.Lease, r.Runner = 90*time.Second, "host-1-abc"
	id := c.ask(r).Jobs[0].Job.ID
	got := c.inState(id, domain.Running)
	equal(c, "runner", got.Runner, r.Runner)
	equal(c, "lease", got.LeaseUntil, got.ClaimedAt.Add(r.Lease))
}

// due: nothing is claimed before its time, and at its time it is.
func claimDue(c *rig) {
	later := c.one(after(time.Hour))
	soon := c.one(after(c.short()))
	if c.Advance != nil {
		c.pass(c.short() - time.Millisecond)
		equal(c, "jobs a millisecond before they are due", len(c.claim(10)), 0)
		c.pass(time.Millisecond)
	} else {
		c.pass(c.short())
	}
	got := c.claimOne()
	equal(c, "job that became due", got.Job.ID, soon)
	if got.Job.ClaimedAt.Before(got.Job.RunAt) {
		c.Fatalf("claimed at %v, due at %v", got.Job.ClaimedAt, got.Job.RunAt)
	}
	equal(c, "jobs an hour early", len(c.claim(10)), 0)
	c.inState(later, domain.Scheduled)
}

// promote: jobs that time has made due are claimed like ready ones, whether
// they were delayed, failed, snoozed or stalled.
func claimPromote(c *rig) {
	stalled := c.stalled()
	policy := sweep()
	policy.Stalls.Base = c.short()
	equal(c, "recovered jobs", len(c.recover(policy).Jobs), 1)
	delayed := c.one(after(c.short()))
	other := c.claimSet(2)
	c.settled(failed(other[0], c.short()), snoozed(other[1], c.short()))
	if c.Advance != nil {
		equal(c, "jobs that are due at once", len(c.claim(10)), 0)
	}
	c.pass(c.short() + time.Millisecond)
	got := idsOf(c.claim(10))
	want := []domain.JobID{stalled.Job.ID, delayed, other[0].Job.ID, other[1].Job.ID}
	equal(c, "claimed jobs", sorted(got), sorted(want))
}

func sorted(ids []domain.JobID) []domain.JobID {
	return slices.SortedFunc(slices.Values(ids), domain.JobID.Compare)
}

func sortedDown(ids []domain.JobID) []domain.JobID {
	ids = sorted(ids)
	slices.Reverse(ids)
	return ids
}

// claimSet inserts n jobs and claims them all.
func (c *rig) claimSet(n int, sets ...set) []driven.Claimed {
	c.Helper()
	c.add(c.jobs(n, sets...)...)
	got := c.claim(n)
	equal(c, "claimed jobs", len(got), n)
	return got
}

// kinds: only the asked queue and kinds; no kind asks for nothing, and one that
// is named twice is one.
func claimKinds(c *rig) {
	c.add(c.job(), c.job(ofKind("test/other")), c.job(inQueue("other")), c.job(ofKind("test/third")))
	r := c.request(10)
	r.Kinds = nil
	equal(c, "jobs claimed for no kind", len(c.ask(r).Jobs), 0)
	r.Kinds = []string{"test/unknown"}
	equal(c, "jobs claimed for an unknown kind", len(c.ask(r).Jobs), 0)
	r.Queue, r.Kinds = "no-such-queue", []string{kind}
	equal(c, "jobs claimed from an unknown queue", len(c.ask(r).Jobs), 0)
	r = c.request(10)
	r.Kinds = []string{kind, "test/other"}
	got := c.ask(r).Jobs
	equal(c, "jobs claimed for two kinds", len(got), 2)
	for _, j := range got {
		if j.Job.Queue != queue || (j.Job.Kind != kind && j.Job.Kind != "test/other") {
			c.Fatalf("a job of queue %q and kind %q was claimed", j.Job.Queue, j.Job.Kind)
		}
	}
	equal(c, "what is left", c.count(domain.Filter{States: []domain.State{domain.Ready}}), 2)
	c.add(c.jobs(5)...)
	r = c.request(4)
	r.Kinds = []string{kind, "test/other", kind, kind, "test/other"}
	equal(c, "jobs claimed for kinds that are named more than once", len(c.ask(r).Jobs), 4)
}

// foreign: any number of rows that nobody asks for never hide those that are due.
func claimForeign(c *rig) {
	c.add(c.jobs(1500, ofKind("test/foreign"), priority(-5))...)
	c.add(c.jobs(10, ofKind("test/foreign"), after(c.short()))...)
	own := c.one()
	got := c.claimOne()
	equal(c, "claimed job", got.Job.ID, own)
	c.pass(c.short() + time.Millisecond)
	late := c.one(after(0))
	equal(c, "claimed job", c.claimOne().Job.ID, late)
	equal(c, "claim when only foreign jobs are due", len(c.claim(10)), 0)
}

// attempts: a claim counts nothing; only a settled outcome does.
func claimAttempts(c *rig) {
	j := c.running()
	equal(c, "attempts after the first claim", j.Job.Attempts, 0)
	c.settled(released(j))
	j = c.claimOne()
	equal(c, "attempts after a release", j.Job.Attempts, 0)
	c.settled(failed(j, time.Millisecond))
	j = c.claimDueSoon()
	equal(c, "attempts after a failure", j.Job.Attempts, 1)
	equal(c, "attempts in the row", c.get(j.Job.ID).Attempts, 1)
}

// more: a caller that goes on while More is said gets everything that is due
// without waiting, and More ends when nothing is left.
func claimMore(c *rig) {
	c.add(c.jobs(300)...)
	c.add(c.jobs(2700, after(c.short()))...)
	c.pass(c.short() + time.Millisecond)
	equal(c, "jobs claimed without a wait", len(c.claimAll(c.request(5000))), 3000)
	equal(c, "More when nothing is due", c.ask(c.request(10)).More, false)
}

// next: how long a runner may sleep when it got less than it asked for.
func claimNext(c *rig) {
	equal(c, "Next of an empty store", c.ask(c.request(5)).Next, driven.NoNext)
	c.one(after(3 * time.Hour))
	equal(c, "Next when something is due in three hours", c.ask(c.request(5)).Next, driven.NoNext)
	c.one(inQueue("other"), ofKind("test/other"), after(20*time.Minute))
	c.nextWithin("a job of another queue", 20*time.Minute)
	c.one(after(10 * time.Minute))
	c.nextWithin("a job of this queue", 10*time.Minute)
	j := c.running()
	c.settled(failed(j, 5*time.Minute))
	c.nextWithin("a failed job", 5*time.Minute)
}

// nextWithin checks Next against the delay of a job just written: exactly with a
// test clock, else within the time the case may have taken.
func (c *rig) nextWithin(what string, want time.Duration) {
	c.Helper()
	got := c.ask(c.request(5)).Next
	slack := 2 * patience
	if c.Advance != nil {
		slack = 0
	}
	if got > want || got < want-slack {
		c.Fatalf("Next for %s is %v, want %v", what, got, want)
	}
}

// queues: those that hold a ready or scheduled job, in byte order, by pages.
func claimQueues(c *rig) {
	c.queues("", 10)
	c.add(c.job(inQueue("b")), c.job(inQueue("B")), c.job(inQueue("c"), after(time.Hour)))
	c.add(c.jobs(30, inQueue("a"))...)
	c.running(inQueue("running"))
	c.ended(done, inQueue("done"))
	c.ended(died, inQueue("dead"))
	c.wantNil("cancel", c.cancel(c.one(inQueue("cancelled")))...)
	c.queues("", 10, "B", "a", "b", "c")
	c.queues("", 2, "B", "a")
	c.queues("a", 2, "b", "c")
	c.queues("aa", 10, "b", "c")
	c.queues("c", 10)
}

func (c *rig) queues(after string, limit int, want ...string) {
	c.Helper()
	got, err := c.store.Queues(c.Context(), after, limit)
	c.ok("list queues", err)
	equal(c, fmt.Sprintf("at most %d queues after %q", limit, after), fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
}
