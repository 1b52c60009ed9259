package conformance

import (
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func insertCases() []testCase {
	return []testCase{
		{"fields", insertFields},
		{"due", insertDue},
		{"many", insertMany},
		{"nothing", insertNothing},
		{"atomic", insertAtomic},
		{"again", insertAgain},
	}
}

// fields: what was asked for is what the row holds, to the byte and the millisecond.
func insertFields(c *rig) {
	n := c.job(ofKind("mail/welcome"), inQueue("mail"), ofTenant("acme"), priority(-7), after(90*time.Minute),
		withArgs(`{"to": [1, 2]}`), withMeta(`{"trace":"x"}`), withTags("b", "a", "b2"), unique("welcome:42"),
		keep(domain.Retention{Done: time.Minute, Dead: domain.KeepForever, Cancelled: time.Hour}))
	n.MaxAttempts, n.Timeout, n.ForgetArgs = 8, 30*time.Second, true
	n.FailureKind, n.LimitKey = "mail/failed", "eu"
	c.add(n)
	got := c.get(n.ID)
	checkAsked(c, n, got)
	equal(c, "state", got.State, domain.Scheduled)
	equal(c, "due time", got.RunAt, got.CreatedAt.Add(90*time.Minute))
	checkUntouched(c, got)

	plain := c.get(c.one())
	equal(c, "state of a job without options", plain.State, domain.Ready)
	equal(c, "due time of a job without options", plain.RunAt, plain.CreatedAt)
	checkUntouched(c, plain)
}

// checkAsked compares a row with the job that was asked for.
func checkAsked(c *rig, n domain.NewJob, got domain.Job) {
	c.Helper()
	equal(c, "id", got.ID, n.ID)
	equal(c, "kind", got.Kind, n.Kind)
	equal(c, "queue", got.Queue, n.Queue)
	equal(c, "tenant", got.Tenant, n.Tenant)
	equal(c, "priority", got.Priority, n.Priority)
	equal(c, "args", string(got.Args), string(n.Args))
	equal(c, "metadata", string(got.Meta), string(n.Meta))
	equal(c, "number of tags", len(got.Tags), len(n.Tags))
	for i := range n.Tags {
		equal(c, "tag", got.Tags[i], n.Tags[i])
	}
	equal(c, "max attempts", got.MaxAttempts, n.MaxAttempts)
	equal(c, "timeout", got.Timeout, n.Timeout)
	equal(c, "retention", got.Keep, n.Keep)
	equal(c, "forget args", got.ForgetArgs, n.ForgetArgs)
	equal(c, "own key of its bounds", got.LimitKey, n.LimitKey)
	equal(c, "failure kind", got.FailureKind, n.FailureKind)
	equal(c, "batch", got.Batch, n.Batch)
	key := ""
	if n.Unique != nil {
		key = n.Unique.Key
	}
	equal(c, "unique key", got.UniqueKey, key)
}

// checkUntouched checks that a row shows no trace of a run.
func checkUntouched(c *rig, got domain.Job) {
	c.Helper()
	equal(c, "attempts, stalls, snoozes", [3]int{got.Attempts, got.Stalls, got.Snoozes}, [3]int{})
	equal(c, "history", got.History, "")
	equal(c, "last error", got.Error, "")
	equal(c, "result", string(got.Result), "")
	equal(c, "forgotten and stuck", [2]bool{got.Forgotten, got.Stuck}, [2]bool{})
	equal(c, "claimed, finished and lease times", [3]time.Time{got.ClaimedAt, got.FinishedAt, got.LeaseUntil}, [3]time.Time{})
	if got.CreatedAt.IsZero() {
		c.Fatal("the row does not say when it was created")
	}
}

// due: the store's own clock gives the due time, and what is due is ready.
func insertDue(c *rig) {
	made := c.now()
	for _, k := range []struct {
		what string
		set  set
		want domain.State
	}{
		{"no due time", after(0), domain.Ready},
		{"a delay of an hour", after(time.Hour), domain.Scheduled},
		{"a moment in the past", at(made.Add(-time.Hour)), domain.Ready},
		{"a moment in the future", at(made.Add(time.Hour)), domain.Scheduled},
	} {
		c.Logf("a job with %s", k.what)
		n := c.job(k.set)
		c.add(n)
		got := c.inState(n.ID, k.want)
		want := got.CreatedAt.Add(n.Due.After)
		if !n.Due.At.IsZero() {
			want = n.Due.At
		}
		equal(c, "due time of "+k.what, got.RunAt, want)
	}
}

// many: the answers are in the order of the call, whatever the mix of new and held rows is.
func insertMany(c *rig) {
	held := c.one(unique("held"))
	jobs := c.jobs(25)
	for i := range jobs {
		if i%3 == 1 {
			jobs[i].Unique = &domain.Unique{Key: "held"}
		}
		if i%5 == 2 {
			jobs[i].Queue = "other"
		}
	}
	for i, got := range c.insert(jobs...) {
		want := driven.Inserted{ID: jobs[i].ID}
		if i%3 == 1 {
			want = driven.Inserted{ID: held, Result: domain.Existing}
		}
		equal(c, "answer", got, want)
	}
	equal(c, "rows", c.count(domain.Filter{}), 1+25-8)
}

// nothing: no rows is no fault.
func insertNothing(c *rig) {
	c.insert()
	equal(c, "rows", c.count(domain.Filter{}), 0)
}

// atomic: one refused row keeps all others out.
func insertAtomic(c *rig) {
	held := c.one(unique("held"))
	jobs := c.jobs(40)
	jobs[39].Unique = &domain.Unique{Key: "held", OnConflict: domain.Error}
	_, err := c.store.Insert(c.Context(), jobs)
	c.wantCode("insert with one clash", err, domain.Conflict)
	equal(c, "rows after the refused call", c.list(domain.Filter{}), []domain.JobID{held})
	jobs[39].Unique = nil
	c.add(jobs...)
}

// again: an id that is there already is Existing and changes nothing, so a
// caller may repeat a call whose answer was lost.
func insertAgain(c *rig) {
	first := c.job(withArgs(`{"n":1}`))
	c.add(first)
	second := c.job(withID(first.ID), withArgs(`{"n":2}`), priority(9))
	want := driven.Inserted{ID: first.ID, Result: domain.Existing}
	equal(c, "answer for a repeated id", c.insert(second)[0], want)
	checkAsked(c, first, c.get(first.ID))

	fresh := c.job()
	got := c.insert(fresh, fresh)
	equal(c, "answer for the first of two alike", got[0], driven.Inserted{ID: fresh.ID})
	equal(c, "answer for the second of two alike", got[1], driven.Inserted{ID: fresh.ID, Result: domain.Existing})

	keyed := c.job(unique("k"))
	c.add(keyed)
	equal(c, "answer for a repeated call with its key", c.insert(keyed)[0], driven.Inserted{ID: keyed.ID, Result: domain.Existing})

	ended := c.ended(done, inQueue("own"))
	equal(c, "answer for the id of a finished job", c.insert(c.job(withID(ended)))[0], driven.Inserted{ID: ended, Result: domain.Existing})
	c.inState(ended, domain.Done)
}
