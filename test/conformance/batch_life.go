package conformance

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// table: each way in which a batch can end has its one outcome.
func batchTable(c *rig) {
	cancelled := func(id domain.BatchID) { c.wantNil("cancel", c.cancel(c.one(inBatch(id), after(long)))...) }
	deleted := func(id domain.BatchID) { c.wantNil("delete", c.delete(c.one(inBatch(id), after(long)))...) }
	ended := func(outcome func(driven.Claimed) driven.Outcome) func(domain.BatchID) {
		return func(id domain.BatchID) { c.member(id, outcome) }
	}
	type acts []func(domain.BatchID)
	for how, k := range map[string]struct {
		before acts // the seal
		after  acts
		done   int64
	}{
		"empty":                   {nil, nil, 0},
		"all done":                {acts{ended(done), ended(done)}, nil, 2},
		"some dead":               {acts{ended(done), ended(died)}, nil, 1},
		"all dead":                {acts{ended(died)}, nil, 0},
		"given up by its handler": {acts{ended(gaveUp), ended(done)}, nil, 1},
		"cancelled":               {acts{cancelled, ended(done)}, nil, 1},
		"cancelled late":          {acts{ended(done), func(id domain.BatchID) { c.one(inBatch(id), after(long)) }}, acts{c.cancelWaiting}, 1},
		"deleted late":            {acts{ended(done), func(id domain.BatchID) { c.one(inBatch(id), after(long)) }}, acts{c.deleteWaiting}, 1},
		"ended late":              {acts{func(id domain.BatchID) { c.one(inBatch(id), priority(-9)) }}, acts{func(domain.BatchID) { c.settled(done(c.claimOne())) }}, 1},
	} {
		for _, callback := range []setBatch{withCallback, func(*domain.NewBatch) {}} {
			c.Logf("a batch that is %s", how)
			id := c.batch(callback)
			for _, act := range k.before {
				act(id)
			}
			c.seal(id, int64(len(k.before)))
			for _, act := range k.after {
				c.waits("a member waits", id)
				act(id)
			}
			_, err := c.store.Insert(c.Context(), []domain.NewJob{c.job(inBatch(id))})
			c.wantCode("insert after the seal", err, domain.Conflict)
			b := c.ends(id, int64(len(k.before)), k.done)
			got, err := c.store.SealBatch(c.Context(), id, "")
			c.ok("seal of a finished batch", err)
			equal(c, "seal of a finished batch", got, domain.Sealed{Total: b.Total, Again: true})
			_, err = c.store.Insert(c.Context(), []domain.NewJob{c.job(inBatch(id))})
			c.wantCode("insert after the end", err, domain.Conflict)
			c.wantNil("delete", c.delete(c.list(domain.Filter{})...)...)
		}
	}
	id := c.batch()
	deleted(id)
	c.member(id, done)
	c.seal(id, 1) // what is gone before the seal is no member
	c.ends(id, 1, 1)
}

func (c *rig) cancelWaiting(id domain.BatchID) {
	c.Helper()
	c.wantNil("cancel", c.cancel(c.list(domain.Filter{Batch: id, States: []domain.State{domain.Scheduled}})...)...)
}

func (c *rig) deleteWaiting(id domain.BatchID) {
	c.Helper()
	c.wantNil("delete", c.delete(c.list(domain.Filter{Batch: id, States: []domain.State{domain.Scheduled}})...)...)
}

// race: of calls that add and one that seals at once each add is counted or refused
// as a whole.
func batchRace(c *rig) {
	const adders, per, calls = 8, 3, 20
	stores := c.handles(adders + 1)
	for range size(3, 20) {
		id := c.batch()
		var added atomic.Int64
		var over atomic.Bool
		var sealed domain.Sealed
		add := func(s driven.Store, k int) (refused bool, err error) {
			jobs := c.jobs(per, inBatch(id), after(long))
			if k%2 == 1 {
				jobs = append(jobs, c.job(after(long)))
			}
			err = uncontended(func() error { _, err := s.Insert(c.Context(), jobs); return err })
			if domain.CodeOf(err) == domain.Conflict {
				return true, nil
			}
			if err == nil {
				added.Add(per)
			}
			return false, err
		}
		c.race(adders+1, func(i int) (err error) {
			if i == adders {
				if err := c.until(func() bool { return added.Load() > 0 }, func() error { return nil }); err != nil {
					return err
				}
				defer over.Store(true)
				return uncontended(func() (err error) { sealed, err = stores[i].SealBatch(c.Context(), id, ""); return err })
			}
			for k := range calls {
				if refused, err := add(stores[i], k); refused || err != nil {
					return err
				}
			}
			if err := c.until(over.Load, func() error { wait(time.Millisecond); return nil }); err != nil {
				return err
			}
			_, err = add(stores[i], 0) // it comes too late
			return err
		})
		equal(c, "members that the seal counted, beside those that were added", sealed, domain.Sealed{Total: added.Load()})
		equal(c, "rows of the batch", c.count(domain.Filter{Batch: id}), int(added.Load()))
		equal(c, "total of the row", c.look(id).Total, added.Load())
	}
}

// barrier: members that end at once on several processes, each of which looks at the
// batch afterwards, end it once, with one callback, and never too early.
func batchBarrier(c *rig) {
	const members = 50
	stores := c.handles(4)
	for round := range size(3, 20) {
		id := c.batch(withCallback)
		c.add(c.jobs(members, inBatch(id))...)
		c.seal(id, members)
		jobs := c.claim(members)
		equal(c, "claimed members", len(jobs), members)
		var finished atomic.Int64
		c.race(len(stores), func(i int) error {
			for k := i; k < members; k += len(stores) {
				if err := c.endNow(stores[i], jobs[k]); err != nil {
					return err
				}
				if err := uncontended(func() error {
					got, err := stores[i].FinishBatches(c.Context(), []domain.BatchID{id})
					finished.Add(int64(len(got)))
					return err
				}); err != nil {
					return err
				}
				if b, err := stores[i].Batch(c.Context(), id, ""); err == nil && !b.FinishedAt.IsZero() && b.Done != members {
					return fmt.Errorf("finished with %d of %d members done", b.Done, members)
				}
			}
			return nil
		})
		equal(c, "calls that finished the batch", finished.Load(), int64(1))
		b := c.look(id)
		equal(c, "members done", b.Done, int64(members))
		c.isCallback(b)
		equal(c, "callbacks", len(c.callbacks()), round+1)
	}
}

// crossed: of a retry of the last member and those who finish its batch at once one
// comes first: the batch is finished as it was, or waits for the member again.
func batchCrossed(c *rig) {
	stores := c.handles(6)
	for round := range size(6, 40) {
		id := c.batch(withCallback)
		member := c.member(id, died)
		c.seal(id, 1)
		var finished atomic.Int64
		c.race(len(stores), func(i int) error {
			if i == round%2 {
				r := edits(member)
				r.Due.After = long
				got, err := stores[i].Retry(c.Context(), r)
				if err == nil {
					err = got[0].Err
				}
				return err
			}
			got, err := stores[i].FinishBatches(c.Context(), []domain.BatchID{id})
			finished.Add(int64(len(got)))
			return err
		})
		c.inState(member, domain.Scheduled)
		was := c.look(id)
		equal(c, "calls that finished the batch", finished.Load() == 1, was.State() == domain.BatchFinished)
		if was.State() == domain.BatchFinished {
			equal(c, "members done", was.Done, int64(0))
		}
		c.wantNil("retry", c.retry(domain.Due{}, member)...)
		c.settled(died(c.claimOne()))
		if was.State() == domain.BatchFinished {
			equal(c, "batches that finish again", len(c.finishBatches(id)), 0)
			c.isCallback(was)
		} else {
			c.ends(id, 1, 0)
		}
		equal(c, "callbacks", len(c.callbacks()), round+1)
	}
}

// sweep: sealed batches that are not finished are listed, by id, in pages; what a
// crash left is finished by who looks.
func batchSweep(c *rig) {
	var open []domain.BatchID
	for i := range 7 {
		id := c.batch(withCallback)
		if i == 2 {
			continue // it is not sealed
		}
		c.one(inBatch(id), after(long))
		c.seal(id, 1)
		open = append(open, id)
	}
	over := c.batch()
	c.seal(over, 0)
	c.ends(over, 0, 0)
	equal(c, "open batches", fmt.Sprint(c.openBatches(domain.BatchID{}, 100)), fmt.Sprint(open))
	equal(c, "the first page", fmt.Sprint(c.openBatches(domain.BatchID{}, 4)), fmt.Sprint(open[:4]))
	equal(c, "the second page", fmt.Sprint(c.openBatches(open[3], 4)), fmt.Sprint(open[4:]))
	equal(c, "behind the last", len(c.openBatches(open[5], 4)), 0)
	equal(c, "batches that a sweep finishes", len(c.sweepBatches()), 0)
	for _, id := range open[1:4] {
		c.cancelWaiting(id)
	}
	equal(c, "batches that the next sweep finishes", len(c.sweepBatches()), 3)
	equal(c, "callbacks", len(c.callbacks()), 3)
	equal(c, "open batches", fmt.Sprint(c.openBatches(domain.BatchID{}, 100)), fmt.Sprint([]domain.BatchID{open[0], open[4], open[5]}))
}

// edited: an operator's call names the batch of a job that it made terminal or
// removed, and of no other.
func batchEdited(c *rig) {
	id := c.batch()
	member := func() domain.JobID { return c.one(inBatch(id), after(long)) }
	edited := func(what string, call func(driven.EditRequest) ([]domain.Edited, error), want domain.BatchID, jobs ...domain.JobID) {
		c.Helper()
		r := edits(jobs...)
		r.Due.After = long
		got, err := call(r)
		c.ok(what, err)
		for _, a := range got {
			equal(c, "batch that the "+what+" names", a.Batch, want)
		}
	}
	s, ctx := c.store, c.Context()
	cancel := func(r driven.EditRequest) ([]domain.Edited, error) { return s.Cancel(ctx, r) }
	remove := func(r driven.EditRequest) ([]domain.Edited, error) { return s.Delete(ctx, r) }
	retry := func(r driven.EditRequest) ([]domain.Edited, error) { return s.Retry(ctx, r) }
	move := func(r driven.EditRequest) ([]domain.Edited, error) { return s.Reschedule(ctx, r) }
	none := domain.BatchID{}
	edited("cancel", cancel, id, member(), member())
	edited("delete", remove, id, member(), member())
	waiting := member()
	edited("retry", retry, none, waiting, c.member(id, died))
	edited("reschedule", move, none, waiting)
	edited("cancel of jobs of none", cancel, none, c.one(), c.one(after(long)))
	edited("delete of jobs of none", remove, none, c.one(), c.one(after(long)))
	running := c.running(inBatch(id), priority(-9))
	edited("refused delete", remove, none, running.Job.ID)
	edited("cancel of a running job", cancel, id, running.Job.ID)
	edited("refused cancel", cancel, none, c.member(id, done))
}

// retried: a batch that is not finished waits for a member that is retried; a
// finished one never moves, and its member runs all the same.
func batchRetried(c *rig) {
	id := c.batch(withCallback)
	early, late := c.member(id, died), c.member(id, died)
	c.wantNil("retry before the seal", c.retry(domain.Due{After: long}, early)...)
	c.seal(id, 2)
	c.waits("a member was retried before the seal", id)
	c.cancelWaiting(id)
	c.wantNil("retry after the seal", c.retry(domain.Due{}, late)...)
	c.waits("a member was retried after the seal", id)
	c.settled(done(c.claimOne()))
	b := c.ends(id, 2, 1)
	c.wantNil("retry of members of a finished batch", c.retry(domain.Due{}, early, late)...)
	equal(c, "batches that finish again", len(c.finishBatches(id)), 0)
	for _, j := range c.claim(2) {
		equal(c, "batch of a member that runs again", j.Job.Batch, id)
		c.settled(done(j))
	}
	equal(c, "batches that finish again", len(c.finishBatches(id)), 0)
	got := c.look(id)
	equal(c, "the batch once its members ran again", fmt.Sprint(got.FinishedAt, got.Done, got.CallbackJob), fmt.Sprint(b.FinishedAt, b.Done, b.CallbackJob))
	equal(c, "callbacks", len(c.callbacks()), 1)
	c.forget(id)
	c.wantNil("retry of a member of a batch that is gone", c.retry(domain.Due{}, early)...)
}

// pruned: a member of a batch that is not finished is put off, also when others have
// to be looked at after it, and keeps nobody else; once the batch is finished, or
// gone, it goes.
func batchPruned(c *rig) {
	sealed, open, lost := c.batch(), c.batch(), c.batch()
	c.one(inBatch(sealed), after(100*long))
	c.seal(sealed, 1)
	end := func(n int, sets ...set) {
		c.Helper()
		c.endAll(c.claimSet(n, sets...), done, c.short())
	}
	end(3, inBatch(open))
	end(2, inBatch(lost))
	c.forget(lost)
	end(4)
	c.pass(c.short() + time.Millisecond)
	r := driven.PruneRequest{Limit: 3, Defer: c.short()}
	removed, passes := 0, 0
	for more := true; more; passes++ {
		got := c.pruned(r)
		removed, more = removed+got.Removed, got.More
		if passes > 10 {
			c.Fatal("a pruning says More for ever")
		}
	}
	equal(c, "removed rows", removed, 6)
	if passes < 3 {
		c.Fatalf("%d passes of at most %d rows looked at 9 rows", passes, r.Limit)
	}
	equal(c, "members of the open batch", c.count(domain.Filter{Batch: open}), 3)
	equal(c, "rows that a pass looks at which were put off", c.pruned(driven.PruneRequest{Limit: 100, Defer: c.short()}), driven.Pruned{})
	c.seal(open, 3)
	c.ends(open, 3, 3)
	c.pass(c.short() + time.Millisecond)
	equal(c, "removed rows once their batch is finished", c.prune(100, ""), 3)
	equal(c, "rows left", c.count(domain.Filter{}), 1)
}

// forgotten: a batch that is forgotten, or finished and over, is gone, and its jobs
// stay; one that was not finished has no callback then.
func batchForgotten(c *rig) {
	id := c.batch(withCallback, batchOf("t"))
	member := c.one(inBatch(id), ofTenant("t"))
	c.seal(id, 1)
	c.wantCode("forgetting of another tenant's", c.store.ForgetBatch(c.Context(), id, "T"), domain.NotFound)
	c.look(id)
	c.ok("forget", c.store.ForgetBatch(c.Context(), id, "t"))
	c.goneBatch(id)
	c.wantCode("forgetting twice", c.store.ForgetBatch(c.Context(), id, ""), domain.NotFound)
	equal(c, "batch of its member", c.inState(member, domain.Ready).Batch, id)
	c.settled(done(c.claimOne()))
	equal(c, "batches that finish", len(c.finishBatches(id)), 0)
	equal(c, "rows", c.list(domain.Filter{}), []domain.JobID{member})

	short := func(n *domain.NewBatch) { n.Keep = c.short() }
	keeps := []setBatch{short, short, short, func(n *domain.NewBatch) { n.Keep = domain.KeepForever }, func(n *domain.NewBatch) { n.Keep = 100 * long }}
	var ended []domain.BatchID
	for i, k := range keeps {
		b := c.batch(k, withCallback, batchOf(fmt.Sprint("t", i%2)))
		c.seal(b, 0)
		c.ends(b, 0, 0)
		ended = append(ended, b)
	}
	open, waiting := c.batch(short), c.batch(short)
	c.one(inBatch(waiting), after(100*long))
	c.seal(waiting, 1)
	c.settled(outcomes(c.calledBack(), done)...)
	c.pass(c.short() + time.Millisecond)
	equal(c, "pruned batches of a tenant", c.pruneBatches(100, "t1"), 1)
	c.goneBatch(ended[1])
	one := driven.PruneRequest{Limit: 1, Defer: c.short()}
	equal(c, "batches pruned by a pass for one", c.prunedBatches(one).Removed, 1)
	equal(c, "pruned batches", c.pruneBatches(100, ""), 1)
	equal(c, "batches pruned again", c.prunedBatches(one), driven.Pruned{})
	for _, id := range []domain.BatchID{open, waiting, ended[3], ended[4]} {
		c.look(id)
	}
	equal(c, "callbacks that stay", len(c.callbacks()), len(keeps))
}

// kept: a finished batch whose time is over stays while its callback waits or runs, in
// nobody's way; once that is terminal, or gone, it goes.
func batchKept(c *rig) {
	ended := func(sets ...setBatch) domain.BatchID {
		c.Helper()
		id := c.batch(append(sets, func(n *domain.NewBatch) { n.Keep = c.short() })...)
		c.seal(id, 0)
		c.ends(id, 0, 0)
		return id
	}
	var calling []domain.BatchID
	for range 6 {
		calling = append(calling, ended(withCallback))
	}
	got := c.calledBack()
	c.settled(failed(got[0], 100*long), snoozed(got[1], 100*long), released(got[2]), released(got[3]))
	for i, want := range []domain.State{domain.Scheduled, domain.Scheduled, domain.Ready, domain.Ready, domain.Running, domain.Running} {
		c.inState(got[i].Job.ID, want)
	}
	none := ended()
	c.pass(c.short() + time.Millisecond)
	equal(c, "pruned batches beside those that are kept", c.pruneBatches(2, ""), 1)
	c.goneBatch(none)
	for _, id := range calling {
		c.look(id)
	}
	c.settled(done(got[4]), died(got[5]))
	c.wantNil("cancel of callbacks", c.cancel(got[0].Job.ID, got[2].Job.ID)...)
	c.wantNil("delete of a callback", c.delete(got[1].Job.ID)...)
	c.pass(c.short() + time.Millisecond)
	equal(c, "pruned batches whose callbacks are over", c.pruneBatches(2, ""), 5)
	equal(c, "batches that are left", len(c.stay(calling)), 1)
	equal(c, "callback of the one that is left", c.look(c.stay(calling)[0]).CallbackJob, got[3].Job.ID)
	equal(c, "callbacks that are left", len(c.callbacks()), 5)
}

// find: batches are read one by one, also by tenant, with what they wait for, and
// listed newest first in pages, by state and tenant.
func batchFind(c *rig) {
	var ids []domain.BatchID
	for i := range 9 {
		id := c.batch(named(fmt.Sprint("n", i)), batchOf([]string{"t", "T", "t "}[i%3]))
		if i >= 3 {
			c.seal(id, 0)
		}
		if i >= 6 {
			c.ends(id, 0, 0)
		}
		ids = append([]domain.BatchID{id}, ids...)
	}
	list := func(f domain.BatchFilter, p domain.BatchPage) (got []domain.BatchID) {
		c.Helper()
		all, err := c.store.ListBatches(c.Context(), f, p)
		c.ok("list batches", err)
		for i := range all {
			one := c.look(all[i].ID)
			equal(c, "a batch of a list", fmt.Sprint(all[i].Name, all[i].Tenant, all[i].State(), all[i].Total), fmt.Sprint(one.Name, one.Tenant, one.State(), one.Total))
			got = append(got, all[i].ID)
		}
		return got
	}
	page := domain.BatchPage{Size: 100}
	equal(c, "all", list(domain.BatchFilter{}, page), ids)
	equal(c, "the default page", list(domain.BatchFilter{}, domain.BatchPage{}), ids)
	equal(c, "the first page", list(domain.BatchFilter{}, domain.BatchPage{Size: 4}), ids[:4])
	equal(c, "the second page", list(domain.BatchFilter{}, domain.BatchPage{Size: 4, Before: ids[3]}), ids[4:8])
	equal(c, "the last page", list(domain.BatchFilter{}, domain.BatchPage{Size: 4, Before: ids[7]}), ids[8:])
	for state, want := range map[domain.BatchState][]domain.BatchID{domain.BatchFinished: ids[:3], domain.BatchSealed: ids[3:6], domain.BatchOpen: ids[6:]} {
		equal(c, "batches that are "+state.String(), list(domain.BatchFilter{State: state}, page), want)
		equal(c, "those of a tenant", list(domain.BatchFilter{State: state, Tenant: "T"}, page), want[1:2])
	}
	equal(c, "batches of a tenant", list(domain.BatchFilter{Tenant: "t"}, page), []domain.BatchID{ids[2], ids[5], ids[8]})
	equal(c, "batches of a tenant's page", list(domain.BatchFilter{Tenant: "t"}, domain.BatchPage{Size: 1, Before: ids[2]}), []domain.BatchID{ids[5]})
	equal(c, "batches of nobody", len(list(domain.BatchFilter{Tenant: "nobody"}, page)), 0)
	c.goneBatch(domain.BatchID(c.id()))
	for tenant, found := range map[string]bool{"": true, "t": true, "T": false, "t ": false} {
		b, err := c.store.Batch(c.Context(), ids[8], tenant)
		if !found {
			c.wantCode("read of another tenant's", err, domain.NotFound)
			continue
		}
		c.ok("read of a batch of the tenant's", err)
		equal(c, "id", b.ID, ids[8])
	}
	c.add(c.job(inBatch(ids[8]), ofTenant("t")), c.job(inBatch(ids[8]), ofTenant("t"), after(long)), c.job())
	equal(c, "members that are waited for", c.look(ids[8]).Pending, int64(2))
	equal(c, "jobs of the batch", len(c.list(domain.Filter{Batch: ids[8]})), 2)
}
