package conformance

import (
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// mend is one sweep of all that a crash may leave behind.
func (c *rig) mend() {
	c.Helper()
	c.reap(0)
	c.sweepBatches()
}

// brokenReplace: the holder becomes the new job and the call's other rows are there,
// or nothing of it is; repeated, all of it.
func brokenReplace(c *rig, again bool) act {
	holder := c.one(unique("k"), after(long), chain("c"))
	was := c.get(holder)
	n := c.newcomer(uniqueOr("k", domain.Replace), after(2*long))
	jobs := []domain.NewJob{c.job(), n, c.job(unique("new"))}
	fresh := func() int { return c.count(domain.Filter{}) - 1 }
	replaced := func() bool { return c.get(holder).Kind == n.Kind }
	return act{
		call: func() error { _, err := c.store.Insert(c.Context(), jobs); return err },
		took: func() bool { return fresh() > 0 || replaced() },
		check: func() {
			asked, is, there := n, replaced(), fresh()
			if again && (!is || there != 2) || c.Backend.Limits.AtomicBulk && is != (there == 2) || there == 1 && c.Backend.Limits.AtomicBulk {
				c.Fatalf("the holder was replaced: %v; %d of 2 other rows are there", is, there)
			}
			if asked.ID = holder; is {
				checkAsked(c, asked, c.get(holder))
				return
			}
			equal(c, "the holder", c.get(holder), was)
		},
	}
}

// brokenFailure: each that died by its outcome has its failure job, once; each that
// was put back has none.
func brokenFailure(c *rig, again bool) act {
	c.add(c.job(unique("k")), c.job(), c.job())
	r := c.request(3)
	r.Lease = c.short()
	jobs := c.ask(r).Jobs
	outcomes := []driven.Outcome{c.buried(jobs[0]), done(jobs[1]), c.buried(jobs[2])}
	running := domain.Filter{States: []domain.State{domain.Running}}
	return act{
		call: func() error {
			got, err := c.store.Settle(c.Context(), outcomes)
			if err == nil && len(got.Dropped)+len(got.Refused) > 0 {
				c.Fatalf("outcomes were dropped or refused though nobody took the jobs: %+v", got)
			}
			return err
		},
		took: func() bool { return c.count(running) < len(jobs) },
		check: func() {
			c.mend()
			want := 0
			for i, o := range outcomes {
				c.settledOnce(o, jobs[i], again)
				if o.Failure != nil && c.get(o.Ticket.ID).State == domain.Dead {
					c.isFailure(*o.Failure)
					want++
				}
			}
			equal(c, "failure jobs", c.failures(), want)
		},
	}
}

// brokenStall: whom a broken sweep killed has its failure job; the next sweep kills
// the others, each once.
func brokenStall(c *rig, again bool) act {
	c.add(c.job(unique("k"), failing(failureKind)), c.job(failing(failureKind)), c.job())
	jobs := c.claimLapsed(3)
	deadly := parking()
	deadly.Stalls.Max, deadly.Attempts = 0, 5
	running := domain.Filter{States: []domain.State{domain.Running}}
	sweep := func() error { _, err := c.store.Recover(c.Context(), deadly); return err }
	return act{
		call: sweep,
		took: func() bool { return c.count(running) < len(jobs) },
		check: func() {
			c.ok("the next sweep", sweep())
			c.mend()
			want := 0
			for _, j := range jobs {
				row := c.get(j.Job.ID)
				equal(c, "stalls", row.Stalls, 1)
				if row.State == domain.Dead && j.Job.FailureKind != "" {
					c.isFailure(c.failureOf(j, failureKind, row.Error, 5))
					want++
				}
			}
			equal(c, "failure jobs", c.failures(), want)
			if again {
				equal(c, "dead jobs with a failure job", want, 2)
			}
		},
	}
}

// brokenSeal: the batch is sealed with all its members, or open and takes more.
func brokenSeal(c *rig, again bool) act {
	id := c.batch(withCallback)
	c.add(c.jobs(2, inBatch(id), after(long))...)
	sealed := func() bool { return c.look(id).State() != domain.BatchOpen }
	return act{
		call: func() error {
			got, err := c.store.SealBatch(c.Context(), id, "")
			if err == nil {
				equal(c, "members that the seal counted", got.Total, int64(2))
			}
			return err
		},
		took: sealed,
		check: func() {
			c.mend()
			members := int64(2)
			if !sealed() {
				equal(c, "whether the seal may be missing", again, false)
				c.one(inBatch(id), after(long))
				members = 3
				c.seal(id, members)
			}
			equal(c, "members in all and waiting", [2]int64{c.look(id).Total, c.look(id).Pending}, [2]int64{members, members})
			c.waits("its members wait", id)
			c.cancelWaiting(id)
			c.ends(id, members, 0)
			c.forget(id)
		},
	}
}

// brokenFinish: the batch is finished once, with one callback, at the latest by the
// next sweep.
func brokenFinish(c *rig, again bool) act {
	id := c.batch(withCallback, named("n"))
	c.member(id, done)
	c.member(id, died)
	c.seal(id, 2)
	return act{
		call: func() error { _, err := c.store.FinishBatches(c.Context(), []domain.BatchID{id}); return err },
		took: func() bool { return c.look(id).State() == domain.BatchFinished },
		check: func() {
			if !again {
				c.mend()
			}
			b := c.look(id)
			equal(c, "state, members in all and done", fmt.Sprint(b.State(), b.Total, b.Done), fmt.Sprint(domain.BatchFinished, 2, 1))
			c.isCallback(b)
			equal(c, "callbacks", len(c.callbacks()), 1)
			equal(c, "batches that a sweep finishes", len(c.sweepBatches()), 0)
			c.forget(id)
		},
	}
}

// brokenAdvance: the schedule has moved with its jobs, or the next one who sees the
// tick moves it; each job is there once.
func brokenAdvance(c *rig, again bool) act {
	key := planKey("s")
	c.addSchedule(c.plan("s"))
	s := c.standsAt(key, -time.Hour)
	jobs := []domain.NewJob{c.job(after(long)), c.job(after(long))}
	t := tick(s, s.NextAt.Add(time.Minute), jobs...)
	t.Skipped = 3
	moved := func() bool { return !c.planned(key).NextAt.Equal(s.NextAt) }
	return act{
		call: func() error { _, err := c.store.Advance(c.Context(), t); return err },
		took: moved,
		check: func() {
			if !again {
				left := !moved()
				equal(c, "whether the next one moves it", c.advance(t).Moved, left)
			}
			got := c.planned(key)
			equal(c, "ticks, last job, skipped", fmt.Sprint(got.NextAt, got.LastAt, got.LastJob, got.Skipped), fmt.Sprint(t.To, t.Fired, jobs[1].ID, 3))
			equal(c, "jobs", c.list(domain.Filter{}), []domain.JobID{jobs[1].ID, jobs[0].ID})
			c.ok("delete", c.store.DeleteSchedule(c.Context(), key))
		},
	}
}
