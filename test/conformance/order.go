package conformance

import (
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func orderCases() []testCase {
	return []testCase{
		{"all", orderAll},
		{"kinds", orderKinds},
		{"insert", orderInsert},
		{"promoted", orderPromoted},
		{"retry", orderRetry},
	}
}

// wantOrder claims step by step and checks the order of all jobs.
func (c *rig) wantOrder(step int, kinds []string, want ...domain.JobID) {
	c.Helper()
	r := c.request(step)
	r.Kinds = kinds
	equal(c, "order of the claims", idsOf(c.claimAll(r)), want)
}

// all: priority first (lower runs first), then the due time, then the id;
// neither the order of writing nor the size of the claims matters.
func orderAll(c *rig) {
	now := c.now()
	for _, step := range []int{1, 7, 100} {
		var jobs []domain.NewJob
		for _, p := range []int{domain.MinPriority, -1, 0, 1, domain.MaxPriority} {
			for _, age := range []time.Duration{time.Hour, time.Second, time.Millisecond, 0} {
				jobs = append(jobs, c.jobs(2, priority(p), at(now.Add(-age)))...)
			}
		}
		c.addMixed(jobs)
		c.wantOrder(step, []string{kind}, idsOfNew(jobs)...)
	}
}

func idsOfNew(jobs []domain.NewJob) []domain.JobID {
	ids := make([]domain.JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return ids
}

// addMixed writes the jobs in an order of its own.
func (c *rig) addMixed(jobs []domain.NewJob) {
	c.Helper()
	mixed := slices.Clone(jobs)
	newRand(1).Shuffle(len(mixed), func(i, k int) { mixed[i], mixed[k] = mixed[k], mixed[i] })
	c.add(mixed...)
}

// kinds: the order holds across the kinds of one claim.
func orderKinds(c *rig) {
	now := c.now()
	kinds := []string{"test/a", "test/b", "test/c", "test/d", "test/e"}
	var jobs []domain.NewJob
	for i := range 40 {
		jobs = append(jobs, c.job(ofKind(kinds[i*i%5]), priority(i/10), at(now.Add(time.Duration(i/3-20)*time.Second))))
	}
	c.addMixed(jobs)
	slices.Reverse(kinds)
	c.wantOrder(3, kinds, idsOfNew(jobs)...)
}

// insert: jobs of one call with equal priority and time run in the order of the call.
func orderInsert(c *rig) {
	ids := c.add(c.jobs(1000, after(0))...)
	c.wantOrder(300, []string{kind}, ids...)
}

// promoted: a job that time has made due stands where its due time puts it, not behind.
func orderPromoted(c *rig) {
	now := c.now()
	second := c.one(at(now.Add(c.short())))
	third := c.one(at(now.Add(c.short() + time.Millisecond)))
	last := c.one(priority(1), at(now.Add(-time.Hour)))
	c.pass(c.short() + time.Second)
	fourth := c.one()
	first := c.one(at(now))
	urgent := c.one(priority(-1))
	c.wantOrder(2, []string{kind}, urgent, first, second, third, fourth, last)
}

// retry: a failed job takes its new due time, so it never hot-loops ahead of the others.
func orderRetry(c *rig) {
	first := c.running(at(c.now().Add(-time.Hour)))
	fresh := c.add(c.jobs(3, at(c.now()))...)
	c.settled(failed(first, time.Millisecond))
	c.pass(5 * time.Millisecond)
	c.wantOrder(1, []string{kind}, append(fresh, first.Job.ID)...)
}
