package conformance

import (
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// wake: a wake looks at what is, however often it is called: nothing where
// nothing is free, else as many jobs as are free.
func boundWake(c *rig) {
	c.declare(limited(kind, 2))
	ids := c.add(c.jobs(6)...)
	got := c.start(10)
	equalIDs(c, "started jobs", idsStarted(got), ids[:2])
	for range 3 {
		c.woken(0, limit(""), limit(""))
	}
	c.parkedOn(limit(""), ids[2:]...)
	c.settled(got[0].with(done(got[0].Claimed)))
	c.woken(1, limit(""), limit("")) // the key is one though it is named twice
	c.readyAll(ids[2])
	third := c.startOnly(ids[2])
	c.woken(0, limit(""))
	c.settled(got[1].with(done(got[1].Claimed)), third.with(done(third.Claimed)))
	equal(c, "what the wake says", c.wake(limit("")), driven.Woken{Jobs: 2, Queues: []string{queue}})
	c.parkedOn(limit(""), ids[5])
	equalIDs(c, "jobs started at last", idsStarted(c.start(10)), ids[3:5])

	first := c.one(ofKind(other), mutex("m"))
	busy := c.startOnly(first)
	next := c.add(c.jobs(3, ofKind(other), mutex("m"), inQueue("b"))...)
	r := c.request(10)
	r.Kinds, r.Queue = []string{other}, "b"
	equal(c, "jobs started while the key is held", len(c.startBy(r)), 0)
	c.woken(0, mutexKey("m"))
	c.settled(busy.with(done(busy.Claimed)))
	equal(c, "what the wake of a turn says", c.wake(mutexKey("m")), driven.Woken{Jobs: 1, Queues: []string{"b"}})
	for range 3 {
		c.woken(0, mutexKey("m"))
	}
	c.readyAll(next[0])
	c.parkedOn(mutexKey("m"), next[1:]...)
}

// order: of those that wait for a limit the first by priority, due time and id
// is woken, in whatever order they were parked.
func boundOrder(c *rig) {
	c.declare(limited(kind, 1))
	now := c.now()
	c.one(priority(-9))
	busy := c.start(1)[0]
	var jobs []domain.NewJob
	var want []domain.JobID
	for p := range 3 {
		for back := 3; back > 0; back-- {
			jobs = append(jobs, c.job(priority(p), at(now.Add(-time.Duration(back)*time.Second))), c.job(priority(p), at(now.Add(-time.Duration(back)*time.Second))))
		}
	}
	want = idsOfNew(jobs)
	for i := range jobs { // the last one is parked first
		c.add(jobs[len(jobs)-1-i])
		c.startNone()
	}
	for _, id := range want {
		c.over(busy, done)
		c.readyAll(id)
		busy = c.startOnly(id)
	}
}

// apart: a wake of one key leaves every other one alone, however alike they are.
func boundApart(c *rig) {
	c.declare(limited(kind, 1))
	keys := []string{"a", "A", "a ", "a%", "%", "_", "aa", "", "a:", ":a", "'", `\`}
	var held []started
	waiting := map[string]domain.JobID{}
	for _, key := range keys {
		c.one(limitKey(key))
		held = append(held, c.start(1)...)
		waiting[key] = c.one(limitKey(key))
		c.startNone()
	}
	equal(c, "started jobs", len(held), len(keys))
	var outcomes []driven.Outcome
	for _, s := range held {
		outcomes = append(outcomes, s.with(done(s.Claimed)))
	}
	c.settled(outcomes...)
	for i, key := range keys {
		c.woken(1, limit(key))
		c.readyAll(waiting[key])
		for _, later := range keys[i+1:] {
			c.parkedOn(limit(later), waiting[later])
		}
	}
}

// keys: one wake takes more keys than a statement has parameters.
func boundKeys(c *rig) {
	c.declare(limited(kind, 1))
	c.one(limitKey("03333"), mutex("k-04444"))
	busy := c.start(1)
	equal(c, "started jobs", len(busy), 1)
	limits, turns := c.one(limitKey("03333")), c.one(ofKind(other), mutex("k-04444"))
	c.startNone()
	c.settled(busy[0].with(done(busy[0].Claimed)))
	var keys []string
	for i := range 2500 {
		keys = append(keys, limit(fmt.Sprintf("%05d", i+1000)), mutexKey(fmt.Sprintf("k-%05d", i+2000)))
	}
	c.woken(2, keys...)
	c.readyAll(limits, turns)
}

// nothing: a call about nothing, or about what is not there, is no fault.
func boundNothing(c *rig) {
	got, lost := c.admitAll(nil)
	equal(c, "answers of an admission of nothing", len(got.started)+len(got.parked)+len(got.wake)+len(lost), 0)
	c.hold()
	c.hold(driven.Holding{Ticket: domain.Ticket{ID: c.id(), Token: c.token()}, Slot: domain.Slot{Key: limit("")}, End: true})
	c.woken(0)
	c.woken(0, "", "x", ":", "l:", "l:none", "m:", "m9:a", "r:a:b", limit("none"), mutexKey("none"), chainKey("none"))
	equal(c, "expired keys", len(c.expire(10).Keys), 0)
	equal(c, "orphans", c.reap(long), 0)
	c.declareFor(nil)
	c.taken()
	equal(c, "blocked keys", len(c.blockedKeys()), 0)
	equal(c, "blocked chains", len(c.chains()), 0)
	released, err := c.store.Unchain(c.Context(), chainKey("none"))
	c.ok("release a chain", err)
	equal(c, "released jobs and their keys", released.Dead+len(released.Keys), 0)
}
