package conformance

import (
	"context"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func editCases() []testCase {
	return []testCase{
		{"retry", editRetry},
		{"now", editNow},
		{"running", editRunning},
		{"clash", editClash},
		{"forgotten", editForgotten},
		{"cancel", editCancel},
		{"cancel-running", editCancelRunning},
		{"delete", editDelete},
		{"reschedule", editReschedule},
		{"partial", editPartial},
		{"tenant", editTenant},
		{"states", editStates},
		{"twice", editTwice},
		{"nothing", editNothing},
	}
}

// names checks that a refusal is a Conflict that names what is in the way.
func (c *rig) names(what string, err error, name string) {
	c.Helper()
	c.wantCode(what, err, domain.Conflict)
	if !strings.Contains(err.Error(), name) {
		c.Fatalf("%s: the refusal %q does not name %q", what, err, name)
	}
}

// retry: a terminal job is due as asked, attempts and stalls 0, its history
// kept, its key retaken; the rest of the row is untouched.
func editRetry(c *rig) {
	for _, end := range []func(driven.Claimed) driven.Outcome{done, died, gaveUp} {
		j := c.running(unique("k"), withArgs(`{"n":1}`), ofTenant("acme"), withTags("t"))
		c.settled(failed(j, time.Millisecond))
		j = c.claimDueSoon()
		c.settled(end(j))
		before, was := c.now(), c.get(j.Job.ID)
		c.wantNil("retry of the "+was.State.String(), c.retry(domain.Due{After: 10 * time.Minute}, j.Job.ID)...)
		got := c.inState(j.Job.ID, domain.Scheduled)
		equal(c, "attempts and stalls", [2]int{got.Attempts, got.Stalls}, [2]int{})
		equal(c, "history", got.History, was.History)
		equal(c, "args, tenant, tag", [3]string{string(got.Args), got.Tenant, got.Tags[0]}, [3]string{`{"n":1}`, "acme", "t"})
		equal(c, "finished at", got.FinishedAt, time.Time{})
		c.dueIn(got, before, 10*time.Minute)
		c.held("k", j.Job.ID, ofTenant("acme"))
		c.wantNil("delete", c.delete(j.Job.ID)...)
	}
}

// now: a waiting job runs now, and a retried one can live its whole life again.
func editNow(c *rig) {
	id := c.one(after(time.Hour))
	c.wantNil("retry of a delayed job", c.retry(domain.Due{}, id)...)
	c.inState(id, domain.Ready)
	j := c.claimOne()
	c.settled(failed(j, time.Hour))
	c.wantNil("retry of a failed job", c.retry(domain.Due{}, id)...)
	equal(c, "attempts", c.inState(id, domain.Ready).Attempts, 0)
	c.settled(died(c.claimOne()))
	c.wantNil("retry of a dead job", c.retry(domain.Due{}, id)...)
	c.settled(done(c.claimOne()))
	equal(c, "attempts", c.inState(id, domain.Done).Attempts, 1)
	when := c.now().Add(2 * time.Hour)
	c.wantNil("retry at a moment", c.retry(domain.Due{At: when}, id)...)
	equal(c, "due time", c.inState(id, domain.Scheduled).RunAt, when)
}

// running: what runs is refused with the runner's name, and the claim goes on.
func editRunning(c *rig) {
	j := c.running()
	before := c.get(j.Job.ID)
	c.names("retry", c.retry(domain.Due{}, j.Job.ID)[0], runnerID)
	c.names("delete", c.delete(j.Job.ID)[0], runnerID)
	c.wantCode("reschedule of a running job", c.reschedule(domain.Due{}, j.Job.ID)[0], domain.Conflict)
	equal(c, "the row", c.get(j.Job.ID), before)
	c.settled(done(j))
}

// clash: a key that another job took meanwhile is a conflict naming the holder,
// and of two rows that want one key only one comes back.
func editClash(c *rig) {
	first := c.ended(died, unique("k"))
	second := c.ended(died, unique("k"))
	holder := c.one(unique("k"), after(time.Hour))
	before := c.get(first)
	for _, err := range c.retry(domain.Due{}, first, second) {
		c.names("retry while the key is held", err, holder.String())
	}
	equal(c, "the row that was refused", c.get(first), before)
	c.wantNil("cancel of the holder", c.cancel(holder)...)
	errs := c.retry(domain.Due{}, first, second, holder)
	c.wantNil("retry of the first", errs[0])
	c.names("retry of the second", errs[1], first.String())
	c.names("retry of the third", errs[2], first.String())
	c.held("k", first)
}

// forgotten: without its args a job cannot run again.
func editForgotten(c *rig) {
	j := c.running(withArgs(`{"secret":1}`))
	o := done(j)
	o.ForgetArgs = true
	c.settled(o)
	c.wantCode("retry of a job whose args are gone", c.retry(domain.Due{}, j.Job.ID)[0], domain.Conflict)
	c.inState(j.Job.ID, domain.Done)
}

// cancel: a waiting job is given up for good; twice is no fault; what ended is refused.
func editCancel(c *rig) {
	ready, later := c.one(unique("k")), c.one(after(time.Hour))
	c.wantNil("cancel", c.cancel(ready, later)...)
	row := c.inState(ready, domain.Cancelled)
	if row.FinishedAt.IsZero() {
		c.Fatal("the cancelled row does not say when it finished")
	}
	equal(c, "the key as an operator sees it", row.UniqueKey, "k")
	c.wantNil("cancel of the cancelled", c.cancel(ready)...)
	equal(c, "the row cancelled twice", c.get(ready), row)
	equal(c, "jobs to claim", len(c.claim(10)), 0)
	for _, end := range []func(driven.Claimed) driven.Outcome{done, died} {
		id := c.ended(end)
		before := c.get(id)
		c.wantCode("cancel of the "+before.State.String(), c.cancel(id)[0], domain.Conflict)
		equal(c, "the row that was refused", c.get(id), before)
	}
	r := edits(c.one(), c.one(keep(domain.Retention{Cancelled: domain.KeepForever})))
	r.Keep = c.short()
	got, err := c.store.Cancel(c.Context(), r)
	c.wantNil("cancel with a retention", c.edit("cancel", got, err, r.IDs...)...)
	c.pass(r.Keep + time.Millisecond)
	equal(c, "pruned rows", c.prune(10, ""), 1)
	c.inState(r.IDs[1], domain.Cancelled)
}

// delete: the row is gone in any state that does not run, and its id may be used again.
func editDelete(c *rig) {
	ids := []domain.JobID{c.ended(done), c.ended(died), c.ended(gaveUp), c.one(), c.one(after(time.Hour))}
	c.wantNil("delete", c.delete(ids...)...)
	equal(c, "rows", c.count(domain.Filter{}), 0)
	for _, err := range c.delete(ids...) {
		c.wantCode("delete of what is gone", err, domain.NotFound)
	}
	c.one(withID(ids[0]))
}

// reschedule: a waiting job moves to the new due time, with its attempts; others are refused.
func editReschedule(c *rig) {
	ready, later := c.one(), c.one(after(time.Hour))
	before := c.now()
	c.wantNil("reschedule", c.reschedule(domain.Due{After: 20 * time.Minute}, ready)...)
	c.dueIn(c.inState(ready, domain.Scheduled), before, 20*time.Minute)
	c.wantNil("reschedule to now", c.reschedule(domain.Due{}, later)...)
	c.inState(later, domain.Ready)
	j := c.claimOne()
	equal(c, "claimed job", j.Job.ID, later)
	c.settled(failed(j, time.Hour))
	past := c.now().Add(-time.Hour)
	c.wantNil("reschedule of a failed job", c.reschedule(domain.Due{At: past}, later)...)
	row := c.inState(later, domain.Ready)
	equal(c, "attempts", row.Attempts, 1)
	equal(c, "due time", row.RunAt, past)
	for _, end := range []func(driven.Claimed) driven.Outcome{done, died, gaveUp} {
		id := c.ended(end, inQueue("own"))
		was := c.get(id)
		c.wantCode("reschedule of the "+was.State.String(), c.reschedule(domain.Due{}, id)[0], domain.Conflict)
		equal(c, "the row that was refused", c.get(id), was)
	}
}

// partial: one refusal never keeps the rest, and each id has its own answer.
func editPartial(c *rig) {
	running := c.running()
	absent := c.id()
	var ids []domain.JobID
	for i := range 30 {
		switch i {
		case 7:
			ids = append(ids, running.Job.ID)
		case 19:
			ids = append(ids, absent)
		default:
			ids = append(ids, c.one(after(time.Hour)))
		}
	}
	check := func(what string, errs []error, rest domain.State) {
		c.Helper()
		for i, err := range errs {
			switch i {
			case 7:
				c.wantCode(what+" of a running job", err, domain.Conflict)
			case 19:
				c.wantCode(what+" of an unknown id", err, domain.NotFound)
			default:
				c.wantNil(what, err)
				c.inState(ids[i], rest)
			}
		}
	}
	check("reschedule", c.reschedule(domain.Due{After: 2 * time.Hour}, ids...), domain.Scheduled)
	check("retry", c.retry(domain.Due{}, ids...), domain.Ready)
	waiting := edits(ids...)
	waiting.States = []domain.State{domain.Ready, domain.Scheduled}
	check("cancel", c.edits(waiting)["cancel"](), domain.Cancelled)
	errs := c.delete(ids...)
	c.wantCode("delete of a running job", errs[7], domain.Conflict)
	c.wantCode("delete of an unknown id", errs[19], domain.NotFound)
	equal(c, "rows left", c.list(domain.Filter{}), []domain.JobID{running.Job.ID})
}

// tenant: with a tenant in the request, another tenant's job is not there.
func editTenant(c *rig) {
	own, foreign, none := c.one(ofTenant("acme"), after(long)), c.one(ofTenant("Acme"), after(long)), c.one(after(long))
	before := [2]domain.Job{c.get(foreign), c.get(none)}
	r := edits(own, foreign, none)
	r.Tenant = "acme"
	s := c.store
	for _, k := range []struct {
		what string
		call func() ([]domain.Edited, error)
	}{
		{"reschedule", func() ([]domain.Edited, error) { return s.Reschedule(c.Context(), r) }},
		{"retry", func() ([]domain.Edited, error) { return s.Retry(c.Context(), r) }},
		{"cancel", func() ([]domain.Edited, error) { return s.Cancel(c.Context(), r) }},
		{"delete", func() ([]domain.Edited, error) { return s.Delete(c.Context(), r) }},
	} {
		got, err := k.call()
		errs := c.edit(k.what, got, err, r.IDs...)
		c.wantNil(k.what+" of the own job", errs[0])
		c.wantCode(k.what+" of a foreign job", errs[1], domain.NotFound)
		c.wantCode(k.what+" of a job without tenant", errs[2], domain.NotFound)
		equal(c, "rows of others", [2]domain.Job{c.get(foreign), c.get(none)}, before)
	}
}

// edits are the four edits of one request.
func (c *rig) edits(r driven.EditRequest) map[string]func() []error {
	s := c.store
	answer := func(what string, do func(context.Context, driven.EditRequest) ([]domain.Edited, error)) func() []error {
		return func() []error {
			c.Helper()
			got, err := do(c.Context(), r)
			return c.edit(what, got, err, r.IDs...)
		}
	}
	return map[string]func() []error{
		"reschedule": answer("reschedule", s.Reschedule), "retry": answer("retry", s.Retry),
		"cancel": answer("cancel", s.Cancel), "delete": answer("delete", s.Delete),
	}
}

// states: whoever chose a job by its state changes it in that state alone: what
// left it since the choice is refused by what it is now, and is as it was.
func editStates(c *rig) {
	for _, name := range []string{"reschedule", "retry", "cancel", "delete"} {
		later, dead, gone := c.one(after(long)), c.ended(died), c.ended(done)
		running := c.running()
		r := edits(later, dead, gone, running.Job.ID)
		if r.States = []domain.State{domain.Blocked, domain.Running}; name == "cancel" { // which takes running ones
			r.States = r.States[:1]
		}
		for i, err := range c.edits(r)[name]() {
			c.wantCode(name+" of a job in another state", err, domain.Conflict)
			if state := c.get(r.IDs[i]).State; state != domain.Running && !strings.Contains(err.Error(), state.String()) {
				c.Fatalf("%s: %v does not say that the job is %v", name, err, state)
			}
		}
		c.inState(later, domain.Scheduled)
		c.inState(dead, domain.Dead)
		c.inState(gone, domain.Done)
		c.settled(done(running))

		meant := domain.Scheduled
		if name == "retry" || name == "delete" {
			meant = domain.Dead
		}
		r.States = []domain.State{meant, domain.Cancelled}
		for i, err := range c.edits(r)[name]() {
			if asked := i == 0 && meant == domain.Scheduled || i == 1 && meant == domain.Dead; asked {
				c.wantNil(name+" of a job that is as asked", err)
			} else {
				c.wantCode(name+" of a job in another state", err, domain.Conflict)
			}
		}
		c.inState(gone, domain.Done)
		c.delete(r.IDs...)
	}
}

// twice: an id that is named twice in one call is changed once and has the same
// answer in both places.
func editTwice(c *rig) {
	for _, name := range []string{"reschedule", "retry", "cancel", "delete"} {
		job, absent := c.one(after(long)), c.id()
		errs := c.edits(edits(job, absent, job, absent))[name]()
		c.wantNil(name+" of an id named twice", errs[0], errs[2])
		c.wantCode(name+" of an absent id", errs[1], domain.NotFound)
		c.wantCode(name+" of an absent id named twice", errs[3], domain.NotFound)
		c.delete(job)
	}
}

// nothing: no ids is no fault.
func editNothing(c *rig) {
	c.retry(domain.Due{})
	c.cancel()
	c.delete()
	c.reschedule(domain.Due{})
}
