package conformance

import (
	"slices"
	"strings"

	"github.com/rowlock/rowlock/domain"
)

// edited: an edit of a blocked job ends its wait, whatever it makes of it.
func boundEdited(c *rig) {
	c.declare(limited(kind, 1))
	c.one()
	busy := c.start(1)
	equal(c, "started jobs", len(busy), 1)
	ids := c.add(c.jobs(5)...)
	c.startNone()
	c.wantNil("retry", c.retry(domain.Due{}, ids[0])...)
	c.readyAll(ids[0])
	c.wantNil("cancel", c.cancel(ids[1])...)
	equal(c, "what a cancelled job waits for", c.inState(ids[1], domain.Cancelled).BlockedOn, "")
	c.wantNil("reschedule", c.reschedule(domain.Due{After: long}, ids[2])...)
	equal(c, "what a scheduled job waits for", c.inState(ids[2], domain.Scheduled).BlockedOn, "")
	c.wantNil("delete", c.delete(ids[3])...)
	equalIDs(c, "jobs that wait", c.list(domain.Filter{Waits: limit("")}), ids[4:])
	c.startNone() // an edit lets nobody past the limit
	c.parkedOn(limit(""), ids[0], ids[4])
	equal(c, "woken jobs", c.over(busy[0], done).Jobs, 1)
	equal(c, "started jobs", len(c.start(10)), 1)
}

// waitingOn fills some keys with jobs that wait, and gives them by key.
func (c *rig) waitingOn(n int, keys ...string) map[string][]domain.JobID {
	c.Helper()
	c.declare(limited(kind, 1))
	waiting := map[string][]domain.JobID{}
	for _, key := range keys {
		c.one(limitKey(key))
		equal(c, "started jobs", len(c.start(1)), 1)
		waiting[limit(key)] = c.add(c.jobs(n, limitKey(key))...)
		c.startNone()
	}
	return waiting
}

// pages: the keys that jobs wait for, each once, in byte order, page by page.
func boundPages(c *rig) {
	waiting := c.waitingOn(3, "b", "a", "B", "a ", "", "ü")
	c.one(mutex("m"), ofKind(other))
	c.start(1)
	turn := c.one(mutex("m"), ofKind(other))
	c.startNone()
	want := []string{limit(""), limit("B"), limit("a"), limit("a "), limit("b"), limit("ü"), mutexKey("m")}
	equal(c, "blocked keys", c.blockedKeys(), want)
	c.delete(turn)
	c.delete(waiting[limit("a")]...)
	equal(c, "blocked keys once some wait no more", c.blockedKeys(), slices.Concat(want[:2], want[3:6]))
	got, err := c.store.BlockedKeys(c.Context(), limit("b"), 1)
	c.ok("list blocked keys", err)
	equal(c, "page of one", got, []string{limit("ü")})
}

// waits: a filter chooses those that wait for a key, by its bytes.
func boundWaits(c *rig) {
	waiting := c.waitingOn(3, "a", "A", "a ")
	for key, ids := range waiting {
		f := domain.Filter{Waits: key}
		equal(c, "jobs that wait for "+key, c.list(f), sortedDown(ids))
		equal(c, "their count", c.count(f), 3)
		f.States = []domain.State{domain.Blocked}
		equal(c, "their count with the state", c.count(f), 3)
		f.States = []domain.State{domain.Ready}
		equal(c, "ready ones that wait", c.count(f), 0)
	}
	equal(c, "jobs that wait for no key of that name", c.count(domain.Filter{Waits: limit("b")}), 0)
	equal(c, "jobs that wait for a part of a key", c.count(domain.Filter{Waits: "l:" + group + ":"}), 0)
}

// stats: what waits for a bound is counted as blocked.
func boundStats(c *rig) {
	c.waitingOn(3, "a", "b")
	c.one(limitKey("c"))
	totals := c.stats("").Totals()
	equal(c, "totals", totals, domain.Tally{Running: 2, Blocked: 6, Due: 1})
	equal(c, "blocked jobs", c.count(domain.Filter{States: []domain.State{domain.Blocked}}), 6)
	queues, err := c.store.Queues(c.Context(), "", 10)
	c.ok("list queues", err)
	equal(c, "queues with jobs to claim", queues, []string{queue})
}

// names: groups and keys are kept and told apart by their bytes.
func boundNames(c *rig) {
	all := distinct(domain.MaxKey)
	c.declare(limited(kind, 1))
	var jobs []domain.NewJob
	var want []string
	for _, key := range all {
		jobs = append(jobs, c.job(limitKey(key)))
		want = append(want, limit(key))
	}
	c.add(jobs...)
	got := c.start(len(all))
	equal(c, "started jobs", len(got), len(all))
	slices.Sort(want)
	c.taken(want...)
	for i, s := range got {
		jobs[i] = c.job(limitKey(s.Job.LimitKey))
	}
	c.add(jobs...)
	c.startNone()
	equal(c, "blocked keys", c.blockedKeys(), want)
	for _, s := range got {
		equal(c, "jobs woken by the end of the one with key "+s.Job.LimitKey, c.over(s, done).Jobs, 1)
	}
	equal(c, "jobs started in their place", len(c.start(len(all))), len(all))
	for i, g := range slices.DeleteFunc(distinct(domain.MaxGroup), func(g string) bool { return strings.Contains(g, ":") }) {
		d := domain.Declaration{Kind: kind, Sort: domain.BoundLimit, Group: g, N: 1 + i%3}
		c.declare(d)
		equal(c, "declared group", c.declared(), []domain.Declaration{d})
		c.one(priority(-1), limitKey(all[len(all)-1]))
		s := c.start(1)
		equal(c, "jobs started under group "+g, len(s), 1)
		equal(c, "its key", s[0].keys(), []string{d.Key(all[len(all)-1])})
	}
}
