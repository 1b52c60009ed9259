package conformance

import (
	"errors"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func uniqueCases() []testCase {
	return []testCase{
		{"skip", uniqueSkip},
		{"error", uniqueError},
		{"call", uniqueCall},
		{"holds", uniqueHolds},
		{"frees", uniqueFrees},
		{"self", uniqueSelf},
		{"none", uniqueNone},
		{"replace", uniqueReplace},
		{"reschedule", uniqueReschedule},
		{"turns", uniqueTurns},
		{"busy", uniqueBusy},
		{"window", uniqueWindow},
		{"buckets", uniqueBuckets},
		{"twice", uniqueTwice},
		{"table", uniqueTable},
		{"rivals", uniqueRivals},
	}
}

// held checks that an insert of the key is answered with the holder's id.
func (c *rig) held(key string, holder domain.JobID, sets ...set) {
	c.Helper()
	got := c.insert(c.job(append(sets, unique(key))...))[0]
	equal(c, "answer for the held key "+key, got, driven.Inserted{ID: holder, Result: domain.Existing})
}

// skip: a held key is Existing with the holder's id, and nothing changes.
func uniqueSkip(c *rig) {
	n := c.job(unique("k"), withArgs(`{"n":1}`))
	c.add(n)
	before := c.get(n.ID)
	c.held("k", n.ID, withArgs(`{"n":2}`), priority(5), after(time.Hour), inQueue("other"), ofKind("test/other"))
	equal(c, "the holder's row", c.get(n.ID), before)
	equal(c, "rows", c.count(domain.Filter{}), 1)
	c.one(unique("another"))
}

// error: with domain.Error a held key is a Conflict whose Subject is the holder's id.
func uniqueError(c *rig) {
	holder := c.one(unique("k"))
	_, err := c.store.Insert(c.Context(), []domain.NewJob{c.job(), c.job(uniqueOrError("k"))})
	c.wantCode("insert of a held key", err, domain.Conflict)
	var f *domain.Fault
	errors.As(err, &f)
	equal(c, "subject of the conflict", f.Subject, holder.String())
	equal(c, "rows after the conflict", c.count(domain.Filter{}), 1)

	c.ended(done, unique("free"), inQueue("own"))
	equal(c, "answer for a free key", c.insert(c.job(uniqueOrError("free")))[0].Result, domain.InsertedNew)
}

// call: an earlier row of the same call holds the key just as well.
func uniqueCall(c *rig) {
	jobs := []domain.NewJob{c.job(unique("k")), c.job(), c.job(unique("k")), c.job(unique("k2"))}
	got := c.insert(jobs...)
	equal(c, "answer for the first of the key", got[0], driven.Inserted{ID: jobs[0].ID})
	equal(c, "answer for the second of the key", got[2], driven.Inserted{ID: jobs[0].ID, Result: domain.Existing})
	equal(c, "answer for the other key", got[3], driven.Inserted{ID: jobs[3].ID})

	_, err := c.store.Insert(c.Context(), []domain.NewJob{c.job(unique("new")), c.job(uniqueOrError("new"))})
	c.wantCode("a key twice in one call, the second with Error", err, domain.Conflict)
	equal(c, "rows", c.count(domain.Filter{}), 3)
}

// holds: every state that is not terminal holds the key.
func uniqueHolds(c *rig) {
	later := c.one(unique("scheduled"), after(time.Hour))
	c.held("scheduled", later)
	ready := c.one(unique("ready"), priority(100))
	c.held("ready", ready)
	j := c.running(unique("k"), inQueue("own"))
	c.held("k", j.Job.ID)
	c.settled(failed(j, time.Hour))
	c.held("k", j.Job.ID)
	c.wantNil("retry", c.retry(domain.Due{}, j.Job.ID)...)
	c.held("k", j.Job.ID)
	r := c.request(1)
	r.Queue, r.Lease = "own", c.short()
	equal(c, "claimed jobs", len(c.ask(r).Jobs), 1)
	c.pass(r.Lease + time.Millisecond)
	equal(c, "recovered jobs", len(c.recover(sweep()).Jobs), 1)
	c.held("k", j.Job.ID)
}

// frees: the write that makes the row terminal frees the key, a death by stalls included.
func uniqueFrees(c *rig) {
	deadly := sweep()
	deadly.Stalls.Max = 0
	ends := map[string]func(){
		"done":      func() { c.ended(done, unique("k")) },
		"dead":      func() { c.ended(died, unique("k")) },
		"cancelled": func() { c.ended(gaveUp, unique("k")) },
		"cancelled by an operator": func() {
			c.wantNil("cancel", c.cancel(c.one(unique("k"), after(time.Hour)))...)
		},
		"deleted": func() { c.wantNil("delete", c.delete(c.one(unique("k"), after(time.Hour)))...) },
		"dead by stalls": func() {
			c.stalled(unique("k"))
			equal(c, "fate of the stalled job", c.recover(deadly).Jobs[0].To, domain.Dead)
		},
	}
	for how, end := range ends {
		c.Logf("the holder is %s", how)
		end()
		next := c.job(unique("k"), after(time.Hour))
		equal(c, "answer for the key once its holder is "+how, c.insert(next)[0], driven.Inserted{ID: next.ID})
		c.wantNil("delete", c.delete(next.ID)...)
	}
}

// self: a row never clashes with its own key, whatever moves it.
func uniqueSelf(c *rig) {
	j := c.running(unique("k"))
	c.settled(snoozed(j, c.short()))
	c.pass(c.short() + time.Millisecond)
	j = c.claimOne()
	c.settled(failed(j, c.short()))
	c.pass(c.short() + time.Millisecond)
	j = c.claimOne()
	c.settled(released(j))
	c.wantNil("reschedule", c.reschedule(domain.Due{After: time.Hour}, j.Job.ID)...)
	c.wantNil("retry", c.retry(domain.Due{}, j.Job.ID)...)
	j = c.claimOne()
	c.settled(died(j))
	c.wantNil("retry of the dead", c.retry(domain.Due{}, j.Job.ID)...)
	c.held("k", j.Job.ID)
	c.settled(done(c.claimOne()))
	c.inState(j.Job.ID, domain.Done)
}

// none: jobs without a key never meet.
func uniqueNone(c *rig) {
	c.add(c.jobs(20)...)
	equal(c, "rows", c.count(domain.Filter{}), 20)
}
