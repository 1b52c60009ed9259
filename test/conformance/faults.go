package conformance

import (
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/faults"
)

// Faults breaks the store below the adapter, step by step. *faults.Plan is one,
// for every adapter over database/sql.
type Faults interface {
	// At plans a fault at the n-th step from the last Reset.
	At(n int, when faults.When, what faults.Action)
	// Pending is how many planned faults have not struck.
	Pending() int
	// Statements lists the steps since the last Reset, for messages.
	Statements() []string
	// Reset ends every fault and counts from 1 again.
	Reset()
}

func faultsCases() []testCase {
	return []testCase{
		{"insert", func(c *rig) { c.breakSteps(brokenInsert) }},
		{"claim", func(c *rig) { c.breakSteps(brokenClaim) }},
		{"settle", func(c *rig) { c.breakSteps(brokenSettle) }},
		{"renew", func(c *rig) { c.breakSteps(brokenRenew) }},
		{"recover", func(c *rig) { c.breakSteps(brokenRecover) }},
		{"edit", func(c *rig) { c.breakSteps(brokenEdit) }},
		{"prune", func(c *rig) { c.breakSteps(brokenPrune) }},
		{"replace", func(c *rig) { c.breakSteps(brokenReplace) }},
		{"failure", func(c *rig) { c.breakSteps(brokenFailure) }},
		{"stalled", func(c *rig) { c.breakSteps(brokenStall) }},
		{"seal", func(c *rig) { c.breakSteps(brokenSeal) }},
		{"finish", func(c *rig) { c.breakSteps(brokenFinish) }},
		{"advance", func(c *rig) { c.breakSteps(brokenAdvance) }},
	}
}

// The harness alone knows how to break a store: without it nothing is claimed.
func faultsOptional(h Harness) (present bool, missing string) { return h.Faults != nil, "" }

// blow is one way to break a step.
type blow struct {
	name  string
	when  faults.When
	what  faults.Action
	kills bool // the caller with it
}

func blows() []blow {
	return []blow{
		{"fail before", faults.Before, faults.Fail(faults.ErrCut), false},
		{"fail after", faults.After, faults.Fail(faults.ErrCut), false},
		{"cut before", faults.Before, faults.Cut(), false},
		{"cut after", faults.After, faults.Cut(), false},
		{"kill before", faults.Before, faults.Kill(), true},
		{"kill after", faults.After, faults.Kill(), true},
	}
}

// act is one call that will be broken, and what must hold whatever became of it.
type act struct {
	call  func() error // the call; it may be repeated, as a runner does
	took  func() bool  // whether its write is there
	check func()       // once repeated, or left and swept, according to `again`
}

// scene sets up rows and gives the act. With again the caller repeats the call
// until it is answered; without, it died: leases run out and one sweep follows.
type scene func(c *rig, again bool) act

// breakSteps plays the scene once for each step, way of breaking and end. In the
// short form whoever does not repeat its call was killed.
func (c *rig) breakSteps(play scene) {
	c.Helper()
	for _, b := range blows() {
		c.breakEach(play, b, true)
		if b.kills || stress() {
			c.breakEach(play, b, false)
		}
	}
}

// breakEach stops at the first step that the call does not reach.
func (c *rig) breakEach(play scene, b blow, again bool) {
	c.Helper()
	n := 1
	for c.breakStep(play, b, n, again) {
		n++
	}
	if n == 1 {
		c.Fatal("the call reached no step that the harness could break")
	}
}

// breakStep plays the scene with the n-th step broken and says whether the fault struck.
func (c *rig) breakStep(play scene, b blow, n int, again bool) (struck bool) {
	c.Helper()
	a := play(c, again)
	c.Faults.Reset()
	c.Faults.At(n, b.when, b.what)
	err := a.call()
	struck = c.Faults.Pending() == 0
	steps := c.Faults.Statements()
	c.Faults.Reset()
	defer func() {
		if c.Failed() {
			c.Logf("broken by: %s step %d, call repeated: %v; the call said: %v; steps: %q", b.name, n, again, err, steps)
		}
	}()
	c.back()
	c.judgeFault(a, err, struck)
	if again {
		c.ok("repeat of the call", a.call())
	} else {
		c.letLapse()
	}
	a.check()
	c.saneRows()
	c.clear()
	return struck
}

// back waits until the store answers again, for reads and for writes.
func (c *rig) back() {
	c.Helper()
	r := c.request(1)
	r.Queue = "nobody's"
	deadline := time.After(patience)
	for {
		_, err := c.store.Claim(c.Context(), r)
		if err == nil {
			_, _, err = c.store.Count(c.Context(), domain.Filter{}, 10)
		}
		if err == nil {
			return
		}
		select {
		case <-deadline:
			c.Fatalf("the store does not come back after a fault: %v (cause: %v)", err, errors.Unwrap(err))
		case <-time.After(time.Millisecond):
		}
	}
}

// judgeFault checks what the call said against what it did.
func (c *rig) judgeFault(a act, err error, struck bool) {
	c.Helper()
	took := a.took()
	switch code := domain.CodeOf(err); code {
	case "":
		if !took {
			c.Fatal("the call said that it was done, and its write is not there")
		}
	case domain.Contended:
		c.wantCode("the broken call", err, code)
		if took {
			c.Fatalf("the call said that nothing was written, and its write is there: %v", err)
		}
	default:
		c.wantCode("the broken call", err, domain.Unavailable)
	}
	if err != nil && !struck {
		c.Fatalf("the call failed without a fault: %v", err)
	}
}

// letLapse is what happens once a runner died: its leases run out, one sweep follows.
func (c *rig) letLapse() {
	c.Helper()
	c.pass(2*c.short() + time.Millisecond)
	c.recover(deadlyAtSecond())
}

// deadlyAtSecond is a sweep that kills at the second stall in a row.
func deadlyAtSecond() driven.RecoverRequest {
	r := parking()
	r.Stalls.Max = 1
	return r
}

// saneRows checks each row for what holds at every moment: a lease exactly while
// it runs, an end exactly when terminal, its key held exactly until then.
func (c *rig) saneRows() {
	c.Helper()
	for _, row := range c.all() {
		runs := row.State == domain.Running
		if row.LeaseUntil.IsZero() == runs || row.State.Terminal() == row.FinishedAt.IsZero() || (runs && row.Runner == "") {
			c.Fatalf("row in an illegal shape: %+v", row)
		}
		if row.UniqueKey == "" {
			continue
		}
		probe := c.job(unique(row.UniqueKey), after(long))
		got := c.insert(probe)[0]
		if held := got.Result == domain.Existing; held == row.State.Terminal() || (held && got.ID != row.ID) {
			c.Fatalf("the key of a job that is %s is held: %v, by %s", row.State, held, got.ID)
		}
		if got.Result == domain.InsertedNew {
			c.wantNil("delete of the probe", c.delete(probe.ID)...)
		}
	}
}

// clear ends and removes every row, for the next scene.
func (c *rig) clear() {
	c.Helper()
	for _, row := range c.all() {
		if row.State == domain.Running {
			c.Fatalf("job %s still runs at the end of its scene", row.ID)
		}
		c.wantNil("delete", c.delete(row.ID)...)
	}
}

// finish claims every job that is left and ends it, so that a job which is lost
// or run twice shows.
func (c *rig) finish(want ...domain.JobID) {
	c.Helper()
	for _, row := range c.all() {
		if row.State == domain.Scheduled {
			c.wantNil("retry", c.retry(domain.Due{}, row.ID)...)
		}
	}
	got := c.claimAll(c.request(10))
	equal(c, "jobs that can still be run", sorted(idsOf(got)), sorted(want))
	for _, j := range got {
		c.settled(done(j))
	}
}

// brokenInsert: all rows of the call or none; repeated, all of them once.
func brokenInsert(c *rig, again bool) act {
	held := c.one(unique("held"), after(long))
	jobs := []domain.NewJob{c.job(), c.job(unique("k")), c.job(unique("held")), c.job(ofTenant("t"))}
	fresh := []domain.JobID{jobs[0].ID, jobs[1].ID, jobs[3].ID}
	there := func() int { return c.count(domain.Filter{}) - 1 }
	return act{
		call: func() error {
			got, err := c.store.Insert(c.Context(), jobs)
			if err == nil {
				equal(c, "answer for the held key", got[2], driven.Inserted{ID: held, Result: domain.Existing})
			}
			return err
		},
		took: func() bool { return there() > 0 },
		check: func() {
			n := there()
			if n != len(fresh) && (again || n != 0) {
				c.Fatalf("%d of %d rows are there", n, len(fresh))
			}
			c.wantNil("delete", c.delete(held)...)
			c.finish(fresh[:n]...)
		},
	}
}

// brokenClaim: a claim whose answer is lost is put back by one sweep, as a stall
// and not as an attempt; no job is lost and none is held by two.
func brokenClaim(c *rig, again bool) act {
	ids := c.add(c.job(unique("k")), c.job(), c.job(after(c.short())), c.job(), c.job())
	c.pass(c.short() + time.Millisecond)
	running := domain.Filter{States: []domain.State{domain.Running}}
	seen := map[domain.JobID]bool{}
	return act{
		call: func() error {
			r := c.request(3)
			r.Lease = c.short()
			got, err := c.store.Claim(c.Context(), r)
			if err != nil {
				return err
			}
			for _, j := range got.Jobs {
				if seen[j.Job.ID] {
					c.Fatalf("job %s was given twice", j.Job.ID)
				}
				seen[j.Job.ID] = true
			}
			return nil
		},
		took: func() bool { return c.count(running) > 0 },
		check: func() {
			if again {
				c.letLapse()
			}
			equal(c, "running jobs after the sweep", c.count(running), 0)
			for _, id := range ids {
				row := c.get(id)
				if !row.State.Pending() || row.Attempts != 0 || row.Stalls > 1 {
					c.Fatalf("job %s is %s with %d attempts and %d stalls", id, row.State, row.Attempts, row.Stalls)
				}
			}
			c.finish(ids...)
		},
	}
}

// brokenSettle: each outcome is written once or not at all; repeated, once.
func brokenSettle(c *rig, again bool) act {
	ends := []func(driven.Claimed) driven.Outcome{
		done, died, gaveUp, released,
		func(j driven.Claimed) driven.Outcome { return failed(j, 100*long) },
		func(j driven.Claimed) driven.Outcome { return snoozed(j, 100*long) },
	}
	for i := range ends {
		c.one(unique(fmt.Sprint("k", i)))
	}
	r := c.request(len(ends))
	r.Lease = c.short()
	jobs := c.ask(r).Jobs
	equal(c, "claimed jobs", len(jobs), len(ends))
	outcomes := make([]driven.Outcome, len(jobs))
	for i, j := range jobs {
		outcomes[i] = ends[i](j)
	}
	return act{
		call: func() error {
			got, err := c.store.Settle(c.Context(), outcomes)
			if err == nil && len(got.Dropped) > 0 {
				c.Fatalf("outcomes were dropped though nobody took the jobs: %v", got.Dropped)
			}
			return err
		},
		took: func() bool { return c.count(domain.Filter{States: []domain.State{domain.Running}}) < len(jobs) },
		check: func() {
			for i, o := range outcomes {
				c.settledOnce(o, jobs[i], again)
			}
		},
	}
}

// settledOnce checks the row of an outcome that was written, or, unless it was
// repeated, of a claim that a sweep put back instead.
func (c *rig) settledOnce(o driven.Outcome, j driven.Claimed, again bool) {
	c.Helper()
	row := c.get(j.Job.ID)
	if row.Stalls == 1 && !again {
		equal(c, "state and attempts of a job that was put back", fmt.Sprint(row.State, row.Attempts), "scheduled 0")
		return
	}
	attempts := 0
	if o.Counts {
		attempts = 1
	}
	equal(c, "state of the settled job", row.State, o.To)
	equal(c, "attempts and stalls of the settled job", [2]int{row.Attempts, row.Stalls}, [2]int{attempts, 0})
	equal(c, "history of the settled job", row.History, o.History)
}

// brokenRenew: a renewal whose answer is lost loses no claim.
func brokenRenew(c *rig, again bool) act {
	c.add(c.job(unique("k")), c.job(), c.job())
	r := c.request(3)
	r.Lease = c.short()
	jobs := c.ask(r).Jobs
	lapsed := jobs[0].Job.ClaimedAt.Add(r.Lease)
	return act{
		call: func() error {
			got, err := c.store.Renew(c.Context(), driven.RenewRequest{Tickets: renewals(jobs...), Lease: 2 * c.short()})
			if err == nil && len(got.Lost) > 0 {
				c.Fatalf("claims were lost though nobody took the jobs: %v", got.Lost)
			}
			return err
		},
		took: func() bool { return c.get(jobs[0].Job.ID).LeaseUntil.After(lapsed) },
		check: func() {
			if again {
				for _, j := range jobs {
					equal(c, "dropped outcomes", len(c.settle(done(j))), 0)
				}
				return
			}
			for _, j := range jobs {
				equal(c, "stalls", c.inState(j.Job.ID, domain.Scheduled).Stalls, 1)
			}
		},
	}
}

// brokenRecover: what a broken sweep put back stays put back, and the next one
// does the rest: one stall each.
func brokenRecover(c *rig, again bool) act {
	first := c.stalled(unique("k"))
	quick := deadlyAtSecond()
	quick.Stalls.Base = time.Millisecond
	c.recover(quick)
	c.pass(5 * time.Millisecond)
	c.add(c.jobs(3)...)
	jobs := c.claimLapsed(4)
	running := domain.Filter{States: []domain.State{domain.Running}}
	return act{
		call: func() error { _, err := c.store.Recover(c.Context(), deadlyAtSecond()); return err },
		took: func() bool { return c.count(running) < len(jobs) },
		check: func() {
			for _, j := range jobs {
				want, stalls := domain.Scheduled, 1
				if j.Job.ID == first.Job.ID {
					want, stalls = domain.Dead, 2
				}
				equal(c, "stalls", c.inState(j.Job.ID, want).Stalls, stalls)
			}
		},
	}
}

// brokenEdit: an operator's call is written or not; repeated, it is.
func brokenEdit(c *rig, again bool) act {
	dead := c.ended(died, unique("k"))
	holder := c.one(unique("other"), after(long))
	return act{
		call: func() error {
			r := edits(dead, holder)
			r.Due.After = long
			_, err := c.store.Retry(c.Context(), r)
			return err
		},
		took: func() bool { return c.get(dead).State == domain.Scheduled },
		check: func() {
			row := c.get(dead)
			if row.State != domain.Scheduled && (again || row.State != domain.Dead) {
				c.Fatalf("the job to retry is %s", row.State)
			}
			c.inState(holder, domain.Scheduled)
		},
	}
}

// brokenPrune: a broken pass removed what it removed, and nothing that lives.
func brokenPrune(c *rig, again bool) act {
	c.endAll(c.claimSet(4), done, c.short())
	forEver := c.ended(died)
	c.pass(c.short() + time.Millisecond)
	left := func() int { return c.count(domain.Filter{}) }
	return act{
		call: func() error { _, err := c.store.Prune(c.Context(), driven.PruneRequest{Limit: 10}); return err },
		took: func() bool { return left() < 5 },
		check: func() {
			if n := left(); n != 1 && (again || n != 5) {
				c.Fatalf("%d of 5 rows are left", n)
			}
			c.inState(forEver, domain.Dead)
		},
	}
}
