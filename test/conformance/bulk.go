package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func bulkCases() []testCase {
	return []testCase{
		{"insert", bulkInsert},
		{"atomic", bulkAtomic},
		{"unique", bulkUnique},
		{"settle", bulkSettle},
		{"edit", bulkEdit},
		{"recover", bulkRecover},
		{"stress", bulkStress},
	}
}

// bulkSizes lie around the limits of statements: 999 and 1,000 rows, 2,100,
// 32,766 and 65,535 parameters.
func bulkSizes() []int { return []int{1, 1001, size(12_000, 70_000)} }

// insert: a call of any size is one call.
func bulkInsert(c *rig) {
	total := 0
	for _, n := range bulkSizes() {
		ids := c.add(c.jobs(n, withTags("a", "b"), inQueue(fmt.Sprint(n)))...)
		total += n
		equal(c, "rows", c.count(domain.Filter{}), total)
		r := c.request(1)
		r.Queue = fmt.Sprint(n)
		equal(c, "first job", c.ask(r).Jobs[0].Job.ID, ids[0])
		c.inState(ids[n-1], map[bool]domain.State{true: domain.Running, false: domain.Ready}[n == 1])
	}
}

// atomic: a call of any size is all or nothing, wherever the refused row stands.
func bulkAtomic(c *rig) {
	if !c.Backend.Limits.AtomicBulk {
		c.Skip("the backend says that its bulk calls are not atomic")
	}
	c.one(unique("held"))
	jobs := c.jobs(size(12_000, 70_000))
	for _, i := range []int{0, 500, len(jobs) - 1} {
		jobs[i].Unique = &domain.Unique{Key: "held", OnConflict: domain.Error}
		_, err := c.store.Insert(c.Context(), jobs)
		c.wantCode("insert with one clash", err, domain.Conflict)
		equal(c, "rows after the refused call", c.count(domain.Filter{}), 1)
		jobs[i].Unique = nil
	}
}

// unique: keys that are held, new and repeated in one call of many rows.
func bulkUnique(c *rig) {
	held := c.one(unique("held"))
	jobs := c.jobs(3000)
	for i := range jobs {
		switch i % 3 {
		case 0:
			jobs[i].Unique = &domain.Unique{Key: fmt.Sprint("new-", i/6)} // each twice
		case 1:
			jobs[i].Unique = &domain.Unique{Key: "held"}
		}
	}
	for i, got := range c.insert(jobs...) {
		want := driven.Inserted{ID: jobs[i].ID}
		if i%3 == 1 {
			want = driven.Inserted{ID: held, Result: domain.Existing}
		} else if i%6 == 3 {
			want = driven.Inserted{ID: jobs[i-3].ID, Result: domain.Existing}
		}
		equal(c, fmt.Sprintf("answer %d", i), got, want)
	}
	equal(c, "rows", c.count(domain.Filter{}), 1+1500)
}

// settle: one call takes as many outcomes as there are, stale ones among them.
func bulkSettle(c *rig) {
	n := size(5_000, 20_000)
	c.add(c.jobs(n)...)
	jobs := c.claimAll(c.request(n))
	equal(c, "claimed jobs", len(jobs), n)
	outcomes := make([]driven.Outcome, n)
	var stale []domain.JobID
	for i, j := range jobs {
		if outcomes[i] = done(j); i%3 == 1 {
			outcomes[i] = failed(j, long)
		}
		if i%1000 == 777 {
			outcomes[i].Ticket.Token = c.token()
			stale = append(stale, j.Job.ID)
		}
	}
	newRand(2).Shuffle(n, func(i, k int) { outcomes[i], outcomes[k] = outcomes[k], outcomes[i] })
	equal(c, "dropped outcomes", sorted(c.settle(outcomes...)), sorted(stale))
	totals := c.stats("").Totals()
	equal(c, "done, scheduled and running jobs", int(totals.Done+totals.Scheduled+totals.Running), n)
	equal(c, "running jobs", int(totals.Running), len(stale))
}

// edit: an operator's call names as many ids as it likes, each answered in order.
func bulkEdit(c *rig) {
	ids := c.add(c.jobs(size(5_000, 20_000), after(long))...)
	running := c.running().Job.ID
	mixed := slices.Insert(slices.Clone(ids), 3000, c.id(), running)
	check := func(what string, errs []error) {
		c.Helper()
		c.wantCode(what+" of an unknown id", errs[3000], domain.NotFound)
		c.wantCode(what+" of a running job", errs[3001], domain.Conflict)
		c.wantNil(what, slices.Delete(errs, 3000, 3002)...)
	}
	check("reschedule", c.reschedule(domain.Due{After: 2 * long}, mixed...))
	check("retry", c.retry(domain.Due{}, mixed...))
	equal(c, "ready jobs", c.count(domain.Filter{States: []domain.State{domain.Ready}}), len(ids))
	waiting := edits(mixed...)
	waiting.States = []domain.State{domain.Ready}
	check("cancel", c.edits(waiting)["cancel"]())
	equal(c, "cancelled jobs", c.count(domain.Filter{States: []domain.State{domain.Cancelled}}), len(ids))
	check("delete", c.delete(mixed...))
	equal(c, "rows", c.count(domain.Filter{}), 1)
}

// recover: a sweep with a wide limit, and a prune of what died.
func bulkRecover(c *rig) {
	n := 2500
	c.add(c.jobs(n)...)
	r := c.request(n)
	if r.Lease = c.short(); c.Advance == nil {
		r.Lease = time.Second
	}
	equal(c, "claimed jobs", len(c.claimAll(r)), n)
	c.pass(r.Lease + time.Millisecond)
	deadly := sweep()
	deadly.Limit, deadly.Stalls.Max, deadly.KeepDead = 1000, 0, c.short()
	swept := 0
	for more := true; more; {
		got := c.recover(deadly)
		swept, more = swept+len(got.Jobs), got.More
	}
	equal(c, "recovered jobs", swept, n)
	c.pass(c.short() + time.Millisecond)
	pruned := 0
	for step := -1; step != 0; pruned += step {
		step = c.prune(1000, "")
	}
	equal(c, "pruned rows", pruned, n)
}

// stress: 70,000 rows through their whole life, under ROWLOCK_STRESS=1.
func bulkStress(c *rig) {
	if !stress() {
		c.Skip("set ROWLOCK_STRESS=1 to run it")
	}
	const n = 70_000
	c.add(c.jobs(n)...)
	jobs := c.claimAll(c.request(5000))
	equal(c, "claimed jobs", len(jobs), n)
	outcomes := make([]driven.Outcome, n)
	for i, j := range jobs {
		outcomes[i] = done(j)
	}
	c.settled(outcomes...)
	equal(c, "done jobs", c.count(domain.Filter{States: []domain.State{domain.Done}}), n)
}
