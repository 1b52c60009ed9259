package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func findCases() []testCase {
	return []testCase{
		{"one", findOne},
		{"filters", findFilters},
		{"time", findTime},
		{"error", findError},
		{"pages", findPages},
		{"match", findMatch},
		{"count", findCount},
		{"stats", findStats},
		{"timings", findTimings},
		{"bounded", findBounded},
	}
}

// one: a whole row, or NotFound.
func findOne(c *rig) {
	n := c.job(ofTenant("acme"))
	c.add(n)
	got, err := c.store.Job(c.Context(), n.ID, "acme")
	c.ok("read with the tenant", err)
	checkAsked(c, n, got)
	equal(c, "read without a tenant", c.get(n.ID), got)
	for _, tenant := range []string{"other", "ACME", "acme "} {
		_, err = c.store.Job(c.Context(), n.ID, tenant)
		c.wantCode("read of another tenant's job", err, domain.NotFound)
	}
	_, err = c.store.Job(c.Context(), c.id(), "")
	c.wantCode("read of an unknown id", err, domain.NotFound)
}

// filters: what is zero does not choose, what is set must all hold.
func findFilters(c *rig) {
	a := c.one(ofTenant("t1"), withTags("x", "y"), after(long))
	b := c.one(inQueue("mail"), withTags("x"))
	d := c.one(inQueue("mail"), ofKind("test/other"), ofTenant("t1"))
	e := c.ended(died, ofKind("test/other"), withTags("y"))
	f := c.ended(done, ofTenant("t2"))
	for _, k := range []struct {
		filter domain.Filter
		want   []domain.JobID
	}{
		{domain.Filter{}, []domain.JobID{f, e, d, b, a}},
		{domain.Filter{Queue: "mail"}, []domain.JobID{d, b}},
		{domain.Filter{Kind: "test/other"}, []domain.JobID{e, d}},
		{domain.Filter{Tenant: "t1"}, []domain.JobID{d, a}},
		{domain.Filter{Tag: "x"}, []domain.JobID{b, a}},
		{domain.Filter{Tag: "y"}, []domain.JobID{e, a}},
		{domain.Filter{States: []domain.State{domain.Ready}}, []domain.JobID{d, b}},
		{domain.Filter{States: []domain.State{domain.Dead, domain.Scheduled}}, []domain.JobID{e, a}},
		{domain.Filter{States: domain.States()}, []domain.JobID{f, e, d, b, a}},
		{domain.Filter{States: []domain.State{domain.Ready}, Queue: "mail", Kind: kind, Tag: "x"}, []domain.JobID{b}},
		{domain.Filter{Tenant: "t1", Tag: "y", Queue: queue, States: []domain.State{domain.Scheduled}}, []domain.JobID{a}},
		{domain.Filter{Queue: "mail", Tag: "y"}, []domain.JobID{}},
		{domain.Filter{Tag: "no-such-tag"}, []domain.JobID{}},
		{domain.Filter{Queue: "no-such-queue"}, []domain.JobID{}},
		{domain.Filter{Batch: domain.BatchID{1}}, []domain.JobID{}},
	} {
		equal(c, fmt.Sprintf("jobs of %+v", k.filter), c.list(k.filter), k.want)
		equal(c, fmt.Sprintf("count of %+v", k.filter), c.count(k.filter), len(k.want))
	}
}

// time: Since is inclusive, Until is not, and both look at the time of the enqueue.
func findTime(c *rig) {
	first := c.one(after(long))
	c.pass(10 * time.Millisecond)
	second := c.one()
	made := c.get(second).CreatedAt
	equal(c, "jobs since the second", c.list(domain.Filter{Since: made}), []domain.JobID{second})
	equal(c, "jobs until the second", c.list(domain.Filter{Until: made}), []domain.JobID{first})
	zone := time.FixedZone("far", 11*3600)
	equal(c, "the same in another zone", c.list(domain.Filter{Until: made.In(zone)}), []domain.JobID{first})
	equal(c, "jobs in between", len(c.list(domain.Filter{Since: made.Add(-time.Millisecond), Until: made})), 0)
	equal(c, "count since the second", c.count(domain.Filter{Since: made}), 1)
	equal(c, "jobs of all time", c.list(domain.Filter{
		Since: time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}), []domain.JobID{second, first})
}

// error: part of the last error's text, by bytes, with no sign of special meaning.
func findError(c *rig) {
	texts := []string{"dial tcp: Refused", "100% of a_b", "100 of axb", `a\b [c] 'q' "d"`, "größe"}
	ids := make([]domain.JobID, len(texts))
	for i, text := range texts {
		j := c.running()
		o := died(j)
		o.Error = text
		c.settled(o)
		ids[i] = j.Job.ID
	}
	for part, want := range map[string][]domain.JobID{
		"Refused": {ids[0]}, "refused": {}, "dial tcp: Refused": {ids[0]}, "100": {ids[2], ids[1]},
		"100%": {ids[1]}, "a_b": {ids[1]}, `a\b`: {ids[3]}, "[c]": {ids[3]}, "'q'": {ids[3]}, `"d"`: {ids[3]},
		"größe": {ids[4]}, "große": {}, "grosse": {}, "%": {ids[1]}, "_": {ids[1]}, "?": {}, "*": {},
	} {
		equal(c, fmt.Sprintf("jobs whose error holds %q", part), c.list(domain.Filter{Error: part}), want)
	}
}

// pages: newest id first, no gaps or repeats, whatever is added or removed meanwhile.
func findPages(c *rig) {
	ids := c.add(c.jobs(103)...)
	slices.Reverse(ids)
	for _, size := range []int{1, 10, 50, 103, domain.MaxPage} {
		var got []domain.JobID
		page := domain.Page{Size: size}
		for len(got) <= len(ids) { // a store that repeats itself ends here too
			jobs, err := c.store.Jobs(c.Context(), domain.Filter{Queue: queue}, page)
			c.ok("list a page", err)
			if len(jobs) > size {
				c.Fatalf("a page of %d jobs, asked for %d", len(jobs), size)
			}
			if len(jobs) == 0 {
				break
			}
			for _, j := range jobs {
				got = append(got, j.ID)
			}
			page.Before = got[len(got)-1]
		}
		equal(c, fmt.Sprintf("jobs by pages of %d", size), got, ids)
	}
	page := domain.Page{Size: 3, Before: ids[2]}
	c.one()
	c.wantNil("delete", c.delete(ids[2], ids[3])...)
	jobs, err := c.store.Jobs(c.Context(), domain.Filter{}, page)
	c.ok("list a page", err)
	equal(c, "page after a deleted row", []domain.JobID{jobs[0].ID, jobs[1].ID, jobs[2].ID}, ids[4:7])
}

// match: ids alone, as Jobs gives them.
func findMatch(c *rig) {
	ids := c.add(c.jobs(20, withTags("x"))...)
	c.add(c.jobs(20)...)
	slices.Reverse(ids)
	got, err := c.store.Match(c.Context(), domain.Filter{Tag: "x"}, domain.Page{Size: 8})
	c.ok("match", err)
	equal(c, "first page", got, ids[:8])
	got, err = c.store.Match(c.Context(), domain.Filter{Tag: "x"}, domain.Page{Size: 100, Before: got[7]})
	c.ok("match", err)
	equal(c, "the rest", got, ids[8:])
}

// count: up to a limit, and it says when there are more; as many as the limit are counted exactly.
func findCount(c *rig) {
	c.add(c.jobs(30)...)
	c.add(c.jobs(5, inQueue("other"))...)
	for _, k := range []struct {
		filter domain.Filter
		limit  int
		want   int
		exact  bool
	}{
		{domain.Filter{}, 100, 35, true},
		{domain.Filter{}, 10, 10, false},
		{domain.Filter{Queue: "other"}, 10, 5, true},
		{domain.Filter{Queue: "other"}, 3, 3, false},
		{domain.Filter{Queue: "other"}, 4, 4, false},
		{domain.Filter{Queue: "other"}, 5, 5, true},
		{domain.Filter{Queue: "other"}, 6, 5, true},
		{domain.Filter{}, 35, 35, true},
		{domain.Filter{Queue: "no-such-queue"}, 3, 0, true},
	} {
		n, exact, err := c.store.Count(c.Context(), k.filter, k.limit)
		c.ok("count", err)
		equal(c, fmt.Sprintf("count of %+v up to %d", k.filter, k.limit), n, k.want)
		equal(c, fmt.Sprintf("exactness of the count of %+v up to %d", k.filter, k.limit), exact, k.exact)
	}
}

// lineOf finds the statistics of one queue and kind.
func lineOf(c *rig, s domain.Stats, queue, kind string) domain.Line {
	c.Helper()
	for _, l := range s.Lines {
		if l.Queue == queue && l.Kind == kind {
			return l
		}
	}
	c.Fatalf("no line for queue %q, kind %q in %+v", queue, kind, s.Lines)
	return domain.Line{}
}

// stats: each state by queue and kind, in byte order; due counts what time has
// made due even before a claim moves it.
func findStats(c *rig) {
	equal(c, "lines of an empty store", len(c.stats("").Lines), 0)
	c.one(at(c.now().Add(-10 * time.Minute)))
	c.one(after(c.short()))
	c.one(after(long))
	c.one(ofTenant("t"))
	for _, end := range []func(driven.Claimed) driven.Outcome{done, done, died, gaveUp} {
		c.ended(end, inQueue("a"))
	}
	running := c.running(inQueue("B"))
	c.running(inQueue("B"))
	stuck := renewals(running)
	stuck[0].Stuck = true
	_, err := c.store.Renew(c.Context(), driven.RenewRequest{Tickets: stuck, Lease: long})
	c.ok("renew", err)
	c.one(inQueue("B"), ofKind("test/z"))
	c.pass(c.short() + time.Millisecond)

	s := c.stats("")
	var order []string
	for _, l := range s.Lines {
		order = append(order, l.Queue+" "+l.Kind)
	}
	equal(c, "lines", order, []string{"B test/job", "B test/z", "a test/job", "default test/job"})
	equal(c, "tally of default", lineOf(c, s, queue, kind).Tally, domain.Tally{Due: 3, Scheduled: 1})
	equal(c, "tally of a", lineOf(c, s, "a", kind).Tally, domain.Tally{Done: 2, Dead: 1, Cancelled: 1})
	equal(c, "tally of B", lineOf(c, s, "B", kind).Tally, domain.Tally{Running: 2, Stuck: 1})
	equal(c, "tally of B's other kind", lineOf(c, s, "B", "test/z").Tally, domain.Tally{Due: 1})
	equal(c, "oldest of a", lineOf(c, s, "a", kind).Oldest, domain.NoneDue)
	oldest := lineOf(c, s, queue, kind).Oldest
	if least := 10*time.Minute + c.short(); oldest < least || oldest > least+patience {
		c.Fatalf("oldest due job is %v old, want a little over %v", oldest, least)
	}
	equal(c, "sum over the tenant", c.stats("t").Totals(), domain.Tally{Due: 1})

	capped, err := c.store.Stats(c.Context(), "", 1)
	c.ok("stats up to a cap", err)
	equal(c, "exactness beyond the cap", capped.Exact, false)
}

// timings: runs, shortest, longest and total run of the done jobs.
func findTimings(c *rig) {
	for _, ran := range []time.Duration{40 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond} {
		o := done(c.running())
		o.Ran = ran
		c.settled(o)
	}
	c.ended(died)
	equal(c, "timings", lineOf(c, c.stats(""), queue, kind).Timings,
		domain.Timings{Runs: 3, Min: 10 * time.Millisecond, Max: 40 * time.Millisecond, Total: 75 * time.Millisecond})
	c.one(inQueue("none"))
	equal(c, "timings without a run", lineOf(c, c.stats(""), "none", kind).Timings, domain.Timings{})
}

// bounded: caps hold over many rows, and no look outlives its context.
func findBounded(c *rig) {
	c.add(c.jobs(2000)...)
	n, exact, err := c.store.Count(c.Context(), domain.Filter{States: []domain.State{domain.Ready}}, 100)
	c.ok("count", err)
	equal(c, "count and exactness", fmt.Sprint(n, exact), "100 false")
	s, err := c.store.Stats(c.Context(), "", 100)
	c.ok("stats", err)
	equal(c, "exactness of the stats", s.Exact, false)
	if due := s.Totals().Due; due < 100 || due > 2000 {
		c.Fatalf("stats up to 100 counted %d of 2000", due)
	}
	ended, cancel := context.WithCancel(c.Context())
	cancel()
	for what, look := range map[string]func() error{
		"a row": func() error { _, err := c.store.Job(ended, c.id(), ""); return err },
		"a page": func() error {
			_, err := c.store.Jobs(ended, domain.Filter{Error: "x"}, domain.Page{Size: 10})
			return err
		},
		"ids": func() error {
			_, err := c.store.Match(ended, domain.Filter{Tag: "x"}, domain.Page{Size: 10})
			return err
		},
		"a count": func() error { _, _, err := c.store.Count(ended, domain.Filter{}, 10_000); return err },
		"stats":   func() error { _, err := c.store.Stats(ended, "", 10_000); return err },
	} {
		c.wantCode("look for "+what+" after its context ended", look(), domain.Canceled)
	}
}
