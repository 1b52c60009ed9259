package conformance

import (
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// waiters bring a job with the key into each way of waiting.
func (c *rig) waiters(sets ...set) map[string]func() domain.JobID {
	return map[string]func() domain.JobID{
		"ready":     func() domain.JobID { return c.one(sets...) },
		"scheduled": func() domain.JobID { return c.one(append(sets, after(long))...) },
		"retrying": func() domain.JobID {
			j := c.running(sets...)
			c.settled(failed(j, long))
			return j.Job.ID
		},
		"stalled": func() domain.JobID {
			j := c.stalled(sets...)
			c.recover(parking())
			return j.Job.ID
		},
	}
}

// newcomer asks for all that a job can ask for, otherwise than the usual job does.
func (c *rig) newcomer(sets ...set) domain.NewJob {
	c.Helper()
	n := c.job(append([]set{
		ofKind(other), inQueue("other"), priority(5), withArgs(`{"n":  2}`), withMeta(`{"m":2}`), withTags("y", "x"), failing("test/failed"), limitKey("eu"),
		keep(domain.Retention{Done: time.Minute, Dead: time.Hour, Cancelled: domain.KeepForever}),
	}, sets...)...)
	n.MaxAttempts, n.Timeout, n.ForgetArgs = 9, 77*time.Second, true
	return n
}

// replace: whoever waits with the key becomes the new job under its own id, as if
// it had never run: only its age and its history stay.
func uniqueReplace(c *rig) {
	for how, bring := range c.waiters(unique("k"), ofTenant("acme"), withTags("old"), withMeta(`{"old":1}`)) {
		c.Logf("the holder is %s", how)
		holder := bring()
		was, before := c.get(holder), c.now()
		n := c.newcomer(uniqueOr("k", domain.Replace), ofTenant("acme"), after(10*time.Minute))
		equal(c, "answer for the held key", c.insert(n)[0], driven.Inserted{ID: holder, Result: domain.Replaced})
		got := c.inState(holder, domain.Scheduled)
		asked := n
		asked.ID = holder
		checkAsked(c, asked, got)
		c.dueIn(got, before, 10*time.Minute)
		equal(c, "attempts and stalls", [2]int{got.Attempts, got.Stalls}, [2]int{})
		equal(c, "history", got.History, was.History)
		equal(c, "created at", got.CreatedAt, was.CreatedAt)
		equal(c, "rows", c.count(domain.Filter{}), 1)
		c.held("k", holder, ofTenant("acme"))

		equal(c, "answer for one that is due now", c.insert(c.newcomer(uniqueOr("k", domain.Replace), ofTenant("acme")))[0], driven.Inserted{ID: holder, Result: domain.Replaced})
		equal(c, "jobs of the old queue and kind", len(c.claim(10)), 0)
		r := c.request(10)
		r.Queue, r.Kinds = "other", []string{other}
		j := c.ask(r).Jobs
		equalIDs(c, "jobs of the new queue and kind", idsOf(j), []domain.JobID{holder})
		equal(c, "args of the claim", string(j[0].Job.Args), `{"n":  2}`)
		c.settled(done(j[0]))
		c.wantNil("delete", c.delete(holder)...)
	}
}

// reschedule: whoever waits with the key is due when the new job would be, and is
// the same otherwise.
func uniqueReschedule(c *rig) {
	for how, bring := range c.waiters(unique("k"), ofTenant("acme"), withTags("old"), withArgs(`{"n":1}`)) {
		c.Logf("the holder is %s", how)
		holder := bring()
		was, before := c.get(holder), c.now()
		want := driven.Inserted{ID: holder, Result: domain.Rescheduled}
		equal(c, "answer for the held key", c.insert(c.newcomer(uniqueOr("k", domain.Reschedule), ofTenant("acme"), after(10*time.Minute)))[0], want)
		got := c.inState(holder, domain.Scheduled)
		c.dueIn(got, before, 10*time.Minute)
		moment := c.now().Add(long).Truncate(time.Second)
		equal(c, "answer for a moment", c.insert(c.newcomer(uniqueOr("k", domain.Reschedule), ofTenant("acme"), at(moment)))[0], want)
		got = c.inState(holder, domain.Scheduled)
		equal(c, "due time", got.RunAt, moment)
		got.RunAt, got.State = was.RunAt, was.State
		equal(c, "the rest of the row", got, was)
		equal(c, "answer for one that is due now", c.insert(c.newcomer(uniqueOr("k", domain.Reschedule), ofTenant("acme")))[0], want)
		c.inState(holder, domain.Ready)
		j := c.claimOne()
		equal(c, "claimed job", j.Job.ID, holder)
		equal(c, "attempts and stalls of the claim", [2]int{j.Job.Attempts, j.Job.Stalls}, [2]int{was.Attempts, was.Stalls})
		c.settled(done(j))
		equal(c, "rows", c.count(domain.Filter{}), 1)
		c.wantNil("delete", c.delete(holder)...)
	}
}

// turns: a holder that is moved keeps its turns, takes its place in its chains
// anew, waits for no bound any more, and the answer names its keys for Wake.
func uniqueTurns(c *rig) {
	for _, how := range []domain.OnConflict{domain.Replace, domain.Reschedule} {
		result := map[domain.OnConflict]domain.Inserted{domain.Replace: domain.Replaced, domain.Reschedule: domain.Rescheduled}[how]
		busy := c.startOnly(c.one(mutex("m", "a")))
		holder := c.one(unique("k"), mutex("m", "a"))
		c.startNone()
		equal(c, "state of one that waits for its turn", c.get(holder).State, domain.Blocked)
		got := c.insert(c.job(uniqueOr("k", how), chain("c")))[0]
		equal(c, "answer", got, driven.Inserted{ID: holder, Result: result, Keys: []string{mutexKey("a"), mutexKey("m")}})
		row := c.inState(holder, domain.Ready)
		equal(c, "what it waits for, and its turn", fmt.Sprint(row.BlockedOn, row.Turn, len(row.Keys)), fmt.Sprint("", domain.TurnMutex, 2))
		c.startNone()
		c.over(busy, done)
		c.over(c.startOnly(holder), done)

		first := c.startOnly(c.one(unique("k"), chain("c")))
		c.over(first, in(long, failed))
		second := c.one(chain("c"))
		c.startNone()
		c.parkedOn(chainKey("c"), second)
		got = c.insert(c.job(uniqueOr("k", how), after(2*long)))[0]
		equal(c, "answer", got, driven.Inserted{ID: first.Job.ID, Result: result, Keys: []string{chainKey("c")}})
		c.woken(1, got.Keys...)
		c.over(c.startOnly(second), done)
		third := c.one(chain("c"))
		c.over(c.startOnly(third), done)
		c.wantNil("delete", c.delete(first.Job.ID)...)
	}
}

// busy: a holder that runs or is terminal is never touched.
func uniqueBusy(c *rig) {
	running := c.running(unique("running"))
	ended := []driven.Claimed{c.running(windowed("done", long, domain.Skip)), c.running(windowed("dead", long, domain.Skip)), c.running(windowed("cancelled", long, domain.Skip))}
	c.settled(done(ended[0]), died(ended[1]), gaveUp(ended[2]))
	for _, how := range []domain.OnConflict{domain.Skip, domain.Replace, domain.Reschedule} {
		for id, key := range map[domain.JobID]set{
			running.Job.ID:  uniqueOr("running", how),
			ended[0].Job.ID: windowed("done", long, how),
			ended[1].Job.ID: windowed("dead", long, how),
			ended[2].Job.ID: windowed("cancelled", long, how),
		} {
			was := c.get(id)
			got := c.insert(c.newcomer(key, after(time.Minute)))[0]
			equal(c, fmt.Sprintf("answer for a holder that is %v, with %v", was.State, how), got, driven.Inserted{ID: id, Result: domain.Existing})
			equal(c, "the holder's row", c.get(id), was)
		}
	}
	equal(c, "rows", c.count(domain.Filter{}), 4)
	c.settled(done(running))
}

// window: the key of a window stays with its row, whatever becomes of that, and
// frees when the row goes.
func uniqueWindow(c *rig) {
	key := windowed("k", long, domain.Skip)
	deadly := sweep()
	deadly.Stalls.Max = 0
	for how, end := range map[string]func() domain.JobID{
		"done":      func() domain.JobID { return c.ended(done, key) },
		"dead":      func() domain.JobID { return c.ended(died, key) },
		"cancelled": func() domain.JobID { return c.ended(gaveUp, key) },
		"cancelled by an operator": func() domain.JobID {
			id := c.one(key)
			c.wantNil("cancel", c.cancel(id)...)
			return id
		},
		"dead by stalls": func() domain.JobID {
			id := c.stalled(key).Job.ID
			equal(c, "recovered jobs", len(c.recover(deadly).Jobs), 1)
			return id
		},
	} {
		c.Logf("the holder is %s", how)
		holder := end()
		want := driven.Inserted{ID: holder, Result: domain.Existing}
		equal(c, "answer for the key", c.insert(c.job(key))[0], want)
		_, err := c.store.Insert(c.Context(), []domain.NewJob{c.job(windowed("k", long, domain.Error))})
		c.wantCode("insert of the key with Error", err, domain.Conflict)
		var f *domain.Fault
		errors.As(err, &f)
		equal(c, "subject of the conflict", f.Subject, holder.String())
		c.wantNil("retry", c.retry(domain.Due{After: long}, holder)...)
		equal(c, "answer for the key of the retried", c.insert(c.job(key))[0], want)
		c.wantNil("delete", c.delete(holder)...)
		c.wantNil("delete of the next holder", c.delete(c.one(key))...)
	}
	j := c.running(key)
	c.endAll([]driven.Claimed{j}, done, c.short())
	c.pass(c.short() + time.Millisecond)
	equal(c, "answer for the key of a row that is over", c.insert(c.job(key))[0], driven.Inserted{ID: j.Job.ID, Result: domain.Existing})
	equal(c, "pruned rows", c.prune(10, ""), 1)
	c.one(key)
}

// buckets: each bucket of each window has a key of its own, and so have the
// tenants and the key without a window.
func uniqueBuckets(c *rig) {
	bucket := func(window time.Duration, n int64) set {
		return func(j *domain.NewJob) { j.Unique = &domain.Unique{Key: "k", Window: window, Bucket: n} }
	}
	var ids []domain.JobID
	keys := [][]set{
		{unique("k")},
		{bucket(long, 7)},
		{bucket(long, 8)},
		{bucket(2*long, 7)},
		{bucket(time.Second, 0)},
		{bucket(long, 7), ofTenant("t")},
		{bucket(long, 7), ofTenant("T")},
		{bucket(domain.MaxUniqueWindow, 1)},
	}
	for _, key := range keys {
		ids = append(ids, c.one(key...))
	}
	for i, key := range keys {
		equal(c, "answer for the key", c.insert(c.job(key...))[0], driven.Inserted{ID: ids[i], Result: domain.Existing})
		equal(c, "unique key of the row", c.get(ids[i]).UniqueKey, "k")
	}
}

// twice: of rows of one call that meet one holder each is answered by its own
// policy, and the last word counts.
func uniqueTwice(c *rig) {
	for _, there := range []bool{false, true} {
		c.Logf("the holder is there before the call: %v", there)
		jobs := []domain.NewJob{
			c.job(unique("k"), withArgs(`{"n":0}`)),
			c.newcomer(uniqueOr("k", domain.Replace), withArgs(`{"n":1}`), priority(1), after(time.Minute)),
			c.newcomer(uniqueOr("other", domain.Replace), after(long)),
			c.newcomer(uniqueOr("k", domain.Reschedule), withArgs(`{"n":2}`), priority(2), after(2*time.Minute)),
			c.newcomer(unique("k"), withArgs(`{"n":3}`), after(3*time.Minute)),
		}
		want := []driven.Inserted{{ID: jobs[0].ID}, {ID: jobs[0].ID, Result: domain.Replaced}, {ID: jobs[2].ID}, {ID: jobs[0].ID, Result: domain.Rescheduled}, {ID: jobs[0].ID, Result: domain.Existing}}
		holder := jobs[0].ID
		if there {
			holder = c.one(unique("k"), after(long))
			for i := range want {
				if i != 2 {
					want[i].ID = holder
				}
			}
			want[0].Result = domain.Existing
		}
		before := c.now()
		equal(c, "answers", c.insert(jobs...), want)
		got := c.inState(holder, domain.Scheduled)
		equal(c, "args, priority", fmt.Sprint(string(got.Args), got.Priority), `{"n":1}1`)
		c.dueIn(got, before, 2*time.Minute)
		jobs = []domain.NewJob{
			c.newcomer(uniqueOr("k", domain.Reschedule), after(long)),
			c.newcomer(uniqueOr("k", domain.Replace), withArgs(`{"n":4}`), priority(4)),
			c.newcomer(uniqueOr("k", domain.Replace), withArgs(`{"n":5}`), priority(5), after(5*time.Minute)),
		}
		before = c.now()
		for i, a := range c.insert(jobs...) {
			equal(c, "answer", a, driven.Inserted{ID: holder, Result: []domain.Inserted{domain.Rescheduled, domain.Replaced, domain.Replaced}[i]})
		}
		got = c.inState(holder, domain.Scheduled)
		equal(c, "args, priority", fmt.Sprint(string(got.Args), got.Priority), `{"n":5}5`)
		c.dueIn(got, before, 5*time.Minute)
		equal(c, "rows", c.count(domain.Filter{}), 2)
		c.wantNil("delete", c.delete(c.list(domain.Filter{})...)...)
	}
}

// table: what each policy answers for a holder in each state.
func uniqueTable(c *rig) {
	const waits, runs, ended = 0, 1, 2
	holders := c.waiters(unique("k"))
	states := map[string]int{"ready": waits, "scheduled": waits, "retrying": waits, "stalled": waits, "running": runs, "done": ended, "dead": ended}
	var claim driven.Claimed
	holders["running"] = func() domain.JobID { claim = c.running(unique("k")); return claim.Job.ID }
	holders["done"] = func() domain.JobID { return c.ended(done, unique("k")) }
	holders["dead"] = func() domain.JobID { return c.ended(died, unique("k")) }
	answers := map[domain.OnConflict][2]domain.Inserted{
		domain.Skip:       {domain.Existing, domain.Existing},
		domain.Replace:    {domain.Replaced, domain.Existing},
		domain.Reschedule: {domain.Rescheduled, domain.Existing},
	}
	for state, bring := range holders {
		for _, how := range []domain.OnConflict{domain.Skip, domain.Error, domain.Replace, domain.Reschedule} {
			what := fmt.Sprintf("%v on a holder that is %s", how, state)
			holder, n := bring(), c.job(uniqueOr("k", how), after(long))
			got, err := c.store.Insert(c.Context(), []domain.NewJob{n})
			switch {
			case states[state] == ended:
				c.ok(what, err)
				equal(c, what, got[0].ID, n.ID)
				equal(c, what, got[0].Result, domain.InsertedNew)
			case how == domain.Error:
				c.wantCode(what, err, domain.Conflict)
			default:
				c.ok(what, err)
				equal(c, what, got[0].ID, holder)
				equal(c, what, got[0].Result, answers[how][states[state]])
			}
			if states[state] == runs {
				c.settled(done(claim))
			}
			c.wantNil("delete", c.delete(c.list(domain.Filter{})...)...)
		}
	}
}

// rivals: a job lives its whole life whatever others have, or had, its key; an
// operator's clash alone is refused, naming the holder, and keeps nobody else.
func uniqueRivals(c *rig) {
	for _, how := range []domain.OnConflict{domain.Skip, domain.Replace, domain.Reschedule} {
		var old []domain.JobID
		for _, end := range []func(driven.Claimed) driven.Outcome{died, done, gaveUp} {
			old = append(old, c.ended(end, uniqueOr("k", how)))
		}
		j := c.running(uniqueOr("k", how))
		refuse := func(state string) {
			c.Helper()
			free := c.ended(died, priority(-9))
			errs := c.retry(domain.Due{After: long}, append(old, free)...)
			for _, err := range errs[:len(old)] {
				c.names("retry while the holder is "+state, err, j.Job.ID.String())
			}
			c.wantNil("retry of one without the key", errs[len(old)])
			c.wantNil("delete", c.delete(free)...)
		}
		refuse("running")
		c.settled(failed(j, c.short()))
		refuse("retrying")
		c.pass(c.short() + time.Millisecond)
		j = c.claimLapsed(1)[0]
		quick := sweep()
		quick.Stalls.Base = time.Millisecond
		equal(c, "recovered jobs", len(c.recover(quick).Jobs), 1)
		j = c.claimDueSoon()
		c.settled(snoozed(j, time.Millisecond))
		j = c.claimDueSoon()
		c.settled(released(j))
		refuse("waiting")
		c.wantNil("cancel", c.cancel(j.Job.ID)...)
		c.wantNil("retry", c.retry(domain.Due{}, j.Job.ID)...)
		c.wantNil("reschedule", c.reschedule(domain.Due{}, j.Job.ID)...)
		j = c.claimOne()
		c.settled(died(j))
		c.wantNil("retry of an old one", c.retry(domain.Due{}, old[0])...)
		c.names("retry of the last one", c.retry(domain.Due{}, j.Job.ID)[0], old[0].String())
		c.settled(done(c.claimOne()))
		c.wantNil("delete", c.delete(append(old, j.Job.ID)...)...)
	}
}
