package conformance

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// mutex: one at once, in the order of due time and id, whatever the priority.
func turnMutex(c *rig) {
	now := c.now()
	third := c.one(mutex("m"), priority(-5))
	first := c.one(mutex("m"), priority(5), at(now.Add(-2*time.Second)))
	second := c.one(mutex("m"), at(now.Add(-time.Second)))
	fourth := c.one(mutex("m"), priority(-9))
	free := c.one(mutex("n"), priority(9))
	got := c.start(10)
	equalIDs(c, "started jobs", idsStarted(got), []domain.JobID{first, free})
	c.parkedOn(mutexKey("m"), second, third, fourth)
	equal(c, "keys of the first", got[0].keys(), []string{mutexKey("m")})
	busy := got[0]
	for _, id := range []domain.JobID{second, third, fourth} {
		c.startNone()
		equal(c, "jobs that the end of one wakes", c.over(busy, done).Jobs, 1)
		busy = c.startOnly(id)
	}
	c.over(busy, done)
	c.taken(mutexKey("n"))
}

// head: a job whose turn it is not waits, though the key is free, and is woken
// once it is its turn.
func turnHead(c *rig) {
	c.one(mutex("m"), priority(5))
	late := c.one(mutex("m"), priority(-5))
	got, parked := c.admit(c.claim(1)...)
	equal(c, "jobs started before their turn", len(got), 0)
	equal(c, "parked jobs", parked, []driven.Parking{{ID: late, Key: mutexKey("m")}})
	c.taken()
	for range 3 {
		c.woken(0, mutexKey("m"))
	}
	first := c.start(1)
	equal(c, "jobs started in their turn", len(first), 1)
	c.over(first[0], done)
	c.startOnly(late)
}

// aside: a job that waits for its next attempt does not hold the key; it comes
// back behind those that are due before it.
func turnAside(c *rig) {
	wait := c.short()
	comes := func(domain.JobID) { c.pass(wait + time.Millisecond) }
	if c.Advance == nil { // on a busy machine a short wait is over before anybody looked
		wait = long
		comes = func(id domain.JobID) { c.wantNil("reschedule", c.reschedule(domain.Due{}, id)...) }
	}
	first, second := c.one(mutex("m")), c.one(mutex("m"))
	busy := c.startOnly(first)
	equal(c, "jobs that a failure wakes", c.over(busy, in(wait, failed)).Jobs, 1)
	c.over(c.startOnly(second), in(2*wait, snoozed))
	third := c.one(mutex("m"))
	busy = c.startOnly(third)
	comes(first)
	c.startNone()
	c.parkedOn(mutexKey("m"), first)
	c.over(busy, done)
	c.over(c.startOnly(first), done)
	comes(second)
	c.startOnly(second)
}

// delayed: a job that is not due yet holds nobody up, and takes its turn later.
func turnDelayed(c *rig) {
	later := c.one(mutex("m"), after(c.short()))
	first, second := c.one(mutex("m")), c.one(mutex("m"))
	busy := c.startOnly(first)
	c.over(busy, done)
	busy = c.startOnly(second)
	c.pass(c.short() + time.Millisecond)
	c.startNone()
	c.over(busy, done)
	c.startOnly(later)
}

// released: a job that was given back, or waits for another bound, keeps its turn.
func turnReleased(c *rig) {
	c.declare(limited(other, 1))
	c.one(ofKind(other))
	full := c.start(1)
	equal(c, "started jobs", len(full), 1)
	first := c.one(mutex("m"), ofKind(other))
	second := c.one(mutex("m"))
	c.startNone()
	c.parkedOn(limit(""), first)
	c.parkedOn(mutexKey("m"), second)
	c.woken(0, mutexKey("m"))
	c.over(full[0], done)
	busy := c.startOnly(first)
	equal(c, "jobs that a release wakes", c.over(busy, released).Jobs, 0)
	busy = c.startOnly(first)
	c.over(busy, done)
	c.startOnly(second)
}

// chain: the next does not start before the one before it is settled for good,
// whatever happens to it meanwhile.
func turnChain(c *rig) {
	first, second := c.one(chain("c")), c.one(chain("c"), priority(-5))
	hold := func(busy started, how string, outcome func(driven.Claimed) driven.Outcome) {
		c.Helper()
		equal(c, "jobs woken by "+how, c.over(busy, outcome).Jobs, 0)
		third := c.one(chain("c"))
		c.start(10) // what is due parks
		c.parkedOn(chainKey("c"), second, third)
		c.delete(third)
	}
	hold(c.startOnly(first), "a failure", in(c.short(), failed))
	c.pass(c.short() + time.Millisecond)
	hold(c.startOnly(first), "a snooze", in(c.short(), snoozed))
	c.pass(c.short() + time.Millisecond)
	equal(c, "jobs woken by a release", c.over(c.startOnly(first), released).Jobs, 0)

	r := c.request(1)
	r.Lease = c.short()
	equalIDs(c, "jobs started again", idsStarted(c.startBy(r)), []domain.JobID{first})
	c.pass(r.Lease + time.Millisecond)
	quick := sweep()
	quick.Stalls.Base, quick.Stalls.Cap = 2*c.short(), 2*c.short()
	equal(c, "recovered jobs", len(c.recover(quick).Jobs), 1)
	equal(c, "orphans", c.reap(time.Millisecond), 1)
	c.pass(3 * time.Millisecond)
	c.wake(c.expire(10).Keys...)
	c.parkedOn(chainKey("c"), second)
	c.pass(2 * c.short())
	busy := c.startOnly(first)
	hold(busy, "a failure with a long wait", in(long, failed))
	c.wantNil("retry", c.retry(domain.Due{}, first)...)
	busy = c.startOnly(first)
	equal(c, "jobs woken by the end of the first", c.over(busy, done).Jobs, 1)
	c.startOnly(second)
}

// due: a chain goes by due time and id as enqueued, and a job that is due later
// than its followers comes after them.
func turnDue(c *rig) {
	now := c.now()
	third := c.one(chain("c"), after(c.short()))
	second := c.one(chain("c"))
	first := c.one(chain("c"), at(now.Add(-time.Hour)), priority(9))
	for _, id := range []domain.JobID{first, second} {
		c.over(c.startOnly(id), done)
	}
	c.pass(c.short() + time.Millisecond)
	late := c.one(chain("c"), priority(-9))
	c.over(c.startOnly(third), in(c.short(), failed))
	c.startNone()
	c.pass(c.short() + time.Millisecond)
	c.over(c.startOnly(third), done)
	c.startOnly(late)
}

// dies: where a dead job does not block its chain the next one starts; so it is
// for one that is cancelled.
func turnDies(c *rig) {
	ids := c.add(c.jobs(4, chain("c"))...)
	c.over(c.startOnly(ids[0]), died)
	c.over(c.startOnly(ids[1]), gaveUp)
	equal(c, "blocked chains", len(c.chains()), 0)
	busy := c.startOnly(ids[2])
	c.wantNil("retry", c.retry(domain.Due{}, ids[0])...) // its old place is the first
	c.startNone()
	c.over(busy, done)
	c.over(c.startOnly(ids[0]), done)
	c.startOnly(ids[3])
}

// block: a dead job that blocks its chain keeps its place, also for jobs that
// come later, until it was retried and is done.
func turnBlock(c *rig) {
	first, second := c.one(chain("c", "d"), blocking), c.one(chain("c"), blocking)
	apart := c.one(chain("e"))
	got := c.start(10)
	equalIDs(c, "started jobs", idsStarted(got), []domain.JobID{first, apart})
	equal(c, "jobs woken by the death", c.over(got[0], died).Jobs, 0)
	c.taken(chainKey("e"))
	third := c.one(chain("d"))
	c.startNone()
	c.woken(0, chainKey("c"), chainKey("d"))
	c.parkedOn(chainKey("c"), second)
	c.parkedOn(chainKey("d"), third)
	equal(c, "blocked chains", c.chains(), []domain.Chain{{Key: chainKey("c"), Job: first}, {Key: chainKey("d"), Job: first}})
	c.wantNil("retry", c.retry(domain.Due{}, first)...)
	equal(c, "blocked chains once it is retried", len(c.chains()), 0)
	busy := c.startOnly(first)
	equal(c, "jobs woken by its end", c.over(busy, done).Jobs, 2)
	equal(c, "jobs started after it", len(c.start(10)), 2)
	lapsed := c.one(chain("f"), blocking)
	r := c.request(1)
	r.Lease = c.short()
	equalIDs(c, "started jobs", idsStarted(c.startBy(r)), []domain.JobID{lapsed})
	c.pass(r.Lease + time.Millisecond)
	deadly := sweep()
	deadly.Stalls.Max = 0
	c.recover(deadly)
	equal(c, "chains that a stall's death blocks", c.chains(), []domain.Chain{{Key: chainKey("f"), Job: lapsed}})
}

// heads: whose turn it is at a key can be asked, whatever that job waits for itself.
func turnHeads(c *rig) {
	keys := []string{mutexKey("m"), chainKey("c"), chainKey("d"), mutexKey("nobody"), limit(""), limit("m"), "no key"}
	wanted := func(want map[string]domain.JobID) {
		c.Helper()
		got, err := c.store.Heads(c.Context(), keys)
		c.ok("list whose turn it is", err)
		equal(c, "whose turn it is", got, want)
	}
	wanted(map[string]domain.JobID{})
	c.declare(limited(other, 1))
	full := c.startOnly(c.one(ofKind(other)))
	m, next := c.one(mutex("m"), ofKind(other)), c.one(mutex("m"), priority(-1))
	retried, dead := c.one(chain("c")), c.one(chain("d"), blocking)
	c.add(c.job(chain("c")), c.job(chain("d")))
	got := c.start(100)
	equalIDs(c, "started jobs", sorted(idsStarted(got)), sorted([]domain.JobID{retried, dead}))
	for _, s := range got {
		if s.Job.ID == dead {
			c.over(s, died)
		} else {
			c.over(s, func(j driven.Claimed) driven.Outcome { return failed(j, long) })
		}
	}
	c.startNone()
	c.parkedOn(limit(""), m)
	wanted(map[string]domain.JobID{mutexKey("m"): m, chainKey("c"): retried, chainKey("d"): dead})
	c.over(full, done)
	c.over(c.startOnly(m), done)
	wanted(map[string]domain.JobID{mutexKey("m"): next, chainKey("c"): retried, chainKey("d"): dead})
}

// chains: blocked chains are listed by key, page by page, each once.
func turnChains(c *rig) {
	var want []domain.Chain
	for _, key := range []string{"a", "A", "b", "é"} {
		id := c.one(chain(key), blocking)
		c.over(c.startOnly(id), died)
		want = append(want, domain.Chain{Key: chainKey(key), Job: id})
	}
	slices.SortFunc(want, func(a, b domain.Chain) int { return slices.Compare([]byte(a.Key), []byte(b.Key)) })
	equal(c, "blocked chains", c.chains(), want)
	for i := range want {
		after := ""
		if i > 0 {
			after = want[i-1].Key
		}
		got, err := c.store.Chains(c.Context(), after, 1)
		c.ok("list chains", err)
		equal(c, "a page of one", got, want[i:i+1])
	}
	got, err := c.store.Chains(c.Context(), want[3].Key, 1)
	c.ok("list chains", err)
	equal(c, "chains behind the last one", len(got), 0)
	c.delete(want[1].Job)
	equal(c, "chains once a dead job is deleted", c.chains(), slices.Delete(want, 1, 2))
}

// unchain: an operator releases a chain: its dead job blocks it no more, and
// comes back to its place if it is retried after all.
func turnUnchain(c *rig) {
	first := c.one(chain("c"), blocking)
	second, third := c.one(chain("c")), c.one(chain("c"))
	elsewhere := c.one(chain("d"), blocking)
	for _, s := range c.start(10) {
		c.over(s, died)
	}
	released := c.unchain("c")
	equal(c, "released jobs and their keys", released, driven.Unchained{Dead: 1, Keys: []string{chainKey("c")}})
	c.inState(first, domain.Dead)
	equal(c, "blocked chains", c.chains(), []domain.Chain{{Key: chainKey("d"), Job: elsewhere}})
	equal(c, "jobs released again", c.unchain("c").Dead, 0)
	c.woken(1, chainKey("c"))
	busy := c.startOnly(second)
	c.wantNil("retry", c.retry(domain.Due{}, first)...)
	c.startNone()
	c.over(busy, done)
	c.over(c.startOnly(first), died)
	equal(c, "chains that it blocks again", len(c.chains()), 2)
	c.parkedOn(chainKey("c"), third)

	before := c.one(chain("c", "e"), blocking, at(c.now().Add(-time.Hour)))
	c.over(c.startOnly(before), died)
	equal(c, "chains that two dead jobs block", len(c.chains()), 3)
	behind := c.one(chain("e"))
	c.startNone()
	released = c.unchain("c")
	equal(c, "released jobs of a chain that two block", released.Dead, 2)
	c.woken(2, released.Keys...)
	equalIDs(c, "jobs that start", sorted(idsStarted(c.start(10))), sorted([]domain.JobID{third, behind}))
}

// late: an outcome that is dropped, or settled again, leaves a released chain alone.
func turnLate(c *rig) {
	b := c.startOnly(c.one())
	first := c.one(chain("c"), blocking)
	r := c.request(1)
	r.Lease = c.short()
	got := c.startBy(r)
	equalIDs(c, "started jobs", idsStarted(got), []domain.JobID{first})
	stale, next := got[0], c.one(chain("c"))
	c.pass(c.short() + time.Millisecond)
	deadly := sweep()
	deadly.Stalls.Max = -1
	equal(c, "recovered jobs", len(c.recover(deadly).Jobs), 1)
	equal(c, "released jobs", c.unchain("c").Dead, 1)
	late := stale.with(done(stale.Claimed))
	late.Turn = true
	equal(c, "dropped outcomes", c.settle(late, b.with(done(b.Claimed))), []domain.JobID{stale.Job.ID})
	equal(c, "chains after a dropped outcome", len(c.chains()), 0)
	c.over(c.startOnly(next), done)

	a := c.startOnly(c.one(chain("d"), blocking))
	burial := a.with(died(a.Claimed))
	burial.Turn = true
	c.settled(burial)
	equal(c, "released jobs", c.unchain("d").Dead, 1)
	c.settled(burial)
	equal(c, "chains after an outcome that was settled again", len(c.chains()), 0)
}

// unchain releases a chain.
func (c *rig) unchain(key string) driven.Unchained {
	c.Helper()
	released, err := c.store.Unchain(c.Context(), chainKey(key))
	c.ok("release a chain", err)
	return released
}

// cancel: who is cancelled before its turn leaves it to the next; the answer
// names the keys to look at.
func turnCancel(c *rig) {
	for _, key := range []string{mutexKey("m"), chainKey("c")} {
		k, _ := domain.ParseBoundKey(key)
		turn := mutex(k.Key, "z")
		if k.Sort == domain.BoundChain {
			turn = chain(k.Key, "z")
		}
		busy := c.startOnly(c.one(turn))
		next, last := c.one(turn), c.one(turn)
		c.startNone()
		c.settled(busy.with(done(busy.Claimed)))
		got, err := c.store.Cancel(c.Context(), edits(next))
		names := c.touched("cancel", got, err, next)
		equal(c, "keys of the cancelled job", names, busy.keys())
		c.woken(1, names...)
		c.over(c.startOnly(last), done)
		c.passesOn(turn)
	}
	plain := c.one()
	got, err := c.store.Cancel(c.Context(), edits(plain))
	equal(c, "keys of a cancelled job without turns", len(c.touched("cancel", got, err, plain)), 0)
}

// passesOn: one that is cancelled while it runs leaves its turn as well, once its handler
// is gone and what it held is given back.
func (c *rig) passesOn(turn set) {
	c.Helper()
	runs, next := c.one(turn), c.one(turn)
	busy := c.startOnly(runs)
	got, err := c.store.Cancel(c.Context(), edits(runs))
	names := c.touched("cancel of a running job", got, err, runs)
	equal(c, "keys of the cancelled job", names, busy.keys())
	c.woken(0, names...)
	c.startNone()
	for _, s := range busy.slots {
		c.hold(driven.Holding{Ticket: busy.Ticket(), Slot: s.Slot, End: true})
	}
	c.woken(1, names...)
	c.over(c.startOnly(next), done)
}

// delete: so it is for one that is deleted, also a dead one that blocks its chain.
func turnDelete(c *rig) {
	first, second := c.one(chain("c"), blocking), c.one(chain("c"))
	c.over(c.startOnly(first), in(long, failed))
	c.startNone()
	third := c.one(chain("c"))
	c.startNone()
	got, err := c.store.Delete(c.Context(), edits(first))
	names := c.touched("delete", got, err, first)
	equal(c, "keys of the deleted job", names, []string{chainKey("c")})
	c.woken(1, names...)
	busy := c.startOnly(second)
	c.over(busy, done)
	c.over(c.startOnly(third), done)

	dead, next := c.one(chain("c"), blocking), c.one(chain("c"))
	c.over(c.startOnly(dead), died)
	c.parkedOn(chainKey("c"), next)
	got, err = c.store.Delete(c.Context(), edits(dead))
	c.woken(1, c.touched("delete", got, err, dead)...)
	equal(c, "blocked chains", len(c.chains()), 0)
	c.startOnly(next)
}

// reschedule: a new due time is a new place, in a chain too.
func turnReschedule(c *rig) {
	for _, turn := range []set{mutex("m"), chain("c")} {
		busy := c.startOnly(c.one(turn))
		first, second := c.one(turn), c.one(turn)
		c.startNone()
		c.over(busy, done)
		c.readyAll(first)
		r := edits(first)
		r.Due.After = c.short()
		got, err := c.store.Reschedule(c.Context(), r)
		names := c.touched("reschedule", got, err, first)
		equal(c, "keys of the rescheduled job", names, busy.keys())
		c.woken(1, names...)
		busy = c.startOnly(second)
		c.pass(c.short() + time.Millisecond)
		c.startNone()
		third := c.one(turn)
		c.startNone()
		c.over(busy, done)
		busy = c.startOnly(first)
		c.over(busy, done)
		c.over(c.startOnly(third), done)
	}
}

// retry: an operator's retry gives an ended job its turn again, and names the keys.
func turnRetry(c *rig) {
	ids := c.add(c.jobs(3, mutex("m"))...)
	c.over(c.startOnly(ids[0]), done)
	c.over(c.startOnly(ids[1]), died)
	busy := c.startOnly(ids[2])
	got, err := c.store.Retry(c.Context(), edits(ids[0]))
	equal(c, "keys of the retried job", c.touched("retry", got, err, ids[0]), []string{mutexKey("m")})
	c.startNone()
	c.parkedOn(mutexKey("m"), ids[0])
	got, err = c.store.Retry(c.Context(), edits(ids[1]))
	c.touched("retry", got, err, ids[1])
	c.startNone()
	c.over(busy, done)
	for range 2 {
		again := c.start(10)
		equal(c, "started jobs", len(again), 1)
		c.over(again[0], done)
	}
	for _, id := range ids {
		c.inState(id, domain.Done)
	}
}

// both: who waits for one of its keys keeps its place at the others.
func turnBoth(c *rig) {
	busy := c.startOnly(c.one(mutex("a")))
	both := c.one(mutex("b", "a"))
	behind := c.one(mutex("b"))
	c.startNone()
	c.parkedOn(mutexKey("a"), both)
	c.parkedOn(mutexKey("b"), behind)
	c.woken(0, mutexKey("b"), mutexKey("a"))
	c.over(busy, done)
	busy = c.startOnly(both)
	c.taken(mutexKey("a"), mutexKey("b"))
	equal(c, "jobs that its end wakes", c.over(busy, done).Jobs, 1)
	c.startOnly(behind)
}

// crossed: jobs that name the same keys in other orders never wait for each other.
func turnCrossed(c *rig) {
	sets := [][]string{{"a", "b"}, {"b", "a"}, {"b", "c"}, {"c", "a"}, {"a", "b", "c"}, {"c", "b", "a"}, {"a"}, {"c"}}
	var ids []domain.JobID
	for i, keys := range sets {
		ids = append(ids, c.one(mutex(keys...), priority(-i)))
	}
	over := map[domain.JobID]bool{}
	for range ids {
		got := c.start(len(ids))
		if len(got) == 0 {
			break
		}
		for _, s := range got {
			over[s.Job.ID] = true
			c.over(s, done)
		}
	}
	equal(c, "jobs that ran", len(over), len(ids))
	c.taken()
}

// race: any number of runners: one at once at each key, in order, and all run in
// the end.
func turnRace(c *rig) {
	total := size(60, 1000)
	keys := []string{"a", "b", "c"}
	book := newBook(1)
	now := c.now()
	var jobs []domain.NewJob
	for i := range total {
		turn := mutex(keys[i%3], keys[(i/3)%3])
		if i%2 == 0 {
			turn = chain(keys[i%3], keys[(i/3)%3])
		}
		jobs = append(jobs, c.job(turn, priority(i%5), at(now.Add(-time.Duration(i%7)*time.Second))))
	}
	book.expect(jobs)
	c.add(jobs...)
	book.list(jobs)
	var ended atomic.Int64
	stores := c.handles(8)
	c.race(len(stores), func(i int) error {
		return c.until(func() bool { return ended.Load() == int64(total) }, func() error {
			asked := book.ask()
			return c.work(stores[i], c.request(3), func(s started) error {
				if err := book.enter(s, asked); err != nil {
					return err
				}
				book.leave(s, forGood)
				ended.Add(1)
				return nil
			})
		})
	})
	c.taken()
}

// many: a job may take as many turns as its limit says.
func turnMany(c *rig) {
	var keys, want []string
	for i := range domain.MaxKeys {
		keys = append(keys, fmt.Sprintf("%03d", domain.MaxKeys-i))
		want = append(want, mutexKey(fmt.Sprintf("%03d", i+1)))
	}
	ids := c.add(c.job(mutex(keys...)), c.job(mutex(slices.Concat(keys[50:], keys[:50])...)), c.job(mutex("050", "050")))
	busy := c.startOnly(ids[0])
	equal(c, "keys of the job", busy.keys(), want)
	c.parkedOn(mutexKey("001"), ids[1])
	c.parkedOn(mutexKey("050"), ids[2])
	equal(c, "jobs that its end wakes", c.over(busy, done).Jobs, 1)
	c.over(c.startOnly(ids[1]), done)
	busy = c.startOnly(ids[2])
	equal(c, "keys of a job that names one twice", busy.keys(), []string{mutexKey("050")})
}

// tenants: tenants never wait for each other, wherever the border of their names is.
func turnTenants(c *rig) {
	pairs := [][2]string{{"", "k"}, {"t", "k"}, {"T", "k"}, {"t ", "k"}, {"tk", "k"}, {"t", "kk"}, {"", "tkk"}, {"1:t", "k"}, {"", "1:tk"}}
	var ids []domain.JobID
	for _, p := range pairs {
		ids = append(ids, c.one(ofTenant(p[0]), mutex(p[1])), c.one(ofTenant(p[0]), chain(p[1])))
	}
	for _, p := range pairs {
		c.add(c.job(ofTenant(p[0]), mutex(p[1])), c.job(ofTenant(p[0]), chain(p[1])))
	}
	got := c.start(100)
	equalIDs(c, "started jobs", idsStarted(got), ids)
	for _, s := range got {
		equal(c, "jobs that the end of one wakes", c.over(s, done).Jobs, 1)
	}
}

// names: keys are told apart by their bytes, whatever they hold.
func turnNames(c *rig) {
	all := distinct(domain.MaxKey)
	var jobs []domain.NewJob
	var want []string
	for _, key := range all {
		jobs = append(jobs, c.job(mutex(key)))
		want = append(want, mutexKey(key))
	}
	slices.Sort(want)
	ids := c.add(jobs...)
	got := c.start(len(all))
	equalIDs(c, "started jobs", idsStarted(got), ids)
	c.taken(want...)
	var waiting []domain.JobID
	for _, s := range got {
		row := c.get(s.Job.ID)
		equal(c, "keys of the row", len(row.Keys), 1)
		equal(c, "key of the row", mutexKey(row.Keys[0]), s.keys()[0])
		waiting = append(waiting, c.one(mutex(row.Keys...)))
	}
	c.startNone()
	equal(c, "blocked keys", c.blockedKeys(), want)
	for i, s := range got {
		c.over(s, done)
		c.readyAll(waiting[i])
	}
	longest := all[len(all)-1]
	sets := []set{inQueue("b"), ofTenant(strings.Repeat("t", domain.MaxTenant)), chain(longest, longest[:len(longest)-1]+"\xab")}
	ids = []domain.JobID{c.one(sets...), c.one(append(sets, priority(-1))...)}
	for _, id := range ids {
		r := c.request(2)
		r.Queue = "b"
		got := c.startBy(r)
		equalIDs(c, "jobs started at the longest keys", idsStarted(got), []domain.JobID{id})
		equal(c, "their slots", len(got[0].slots), 2)
		c.over(got[0], done)
	}
}

// prune: a pruned job leaves no place behind.
func turnPrune(c *rig) {
	first, second := c.one(chain("c"), blocking), c.one(chain("c"))
	busy := c.startOnly(first)
	o := busy.with(died(busy.Claimed))
	o.Keep = c.short()
	c.settled(o)
	c.woken(0, chainKey("c"))
	c.pass(c.short() + time.Millisecond)
	equal(c, "pruned rows", c.prune(10, ""), 1)
	equal(c, "blocked chains", len(c.chains()), 0)
	c.woken(1, chainKey("c"))
	busy = c.startOnly(second)
	o = busy.with(done(busy.Claimed))
	o.Keep = 0
	c.settled(o)
	c.pass(time.Millisecond)
	equal(c, "pruned rows", c.prune(10, ""), 1)
	c.startOnly(c.one(chain("c")))
}
