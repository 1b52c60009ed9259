package conformance

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// fields: a claim says how a job is bound, and the row says it too; the keys are
// those of a single job that is looked up.
func boundFields(c *rig) {
	for _, n := range []domain.NewJob{
		c.job(),
		c.job(limitKey("tenant:7")),
		c.job(limitKey("k"), mutex("a")),
		c.job(chain("a", "b", "ü"), blocking, ofTenant("acme")),
		c.job(chain("a", "b"), inQueue("b")),
	} {
		c.add(n)
		r := c.request(1)
		r.Queue = n.Queue
		got := c.ask(r).Jobs
		equal(c, "claimed jobs", len(got), 1)
		row := c.get(n.ID)
		for what, j := range map[string]domain.Job{"claim": got[0].Job, "row": row} {
			equal(c, "own key of the "+what, j.LimitKey, n.LimitKey)
			equal(c, "turn of the "+what, j.Turn, n.Turn)
			equal(c, "OnDead of the "+what, j.OnDead, n.OnDead)
			equal(c, "what the "+what+" waits for", j.BlockedOn, "")
		}
		if slices.Sort(row.Keys); !slices.Equal(row.Keys, n.Keys) {
			equal(c, "keys of the row", row.Keys, n.Keys)
		}
	}
}

// open: a kind that declares nothing, or whose job is under no bound, just starts.
func boundOpen(c *rig) {
	c.declare(limited(kind, 1), rated(other, 1, long))
	ids := c.add(append(c.jobs(3, ofKind("test/free"), limitKey("k")), c.jobs(3)...)...)
	r := c.request(10)
	r.Kinds = []string{kind, "test/free"}
	wants := wantsOf(c.ask(r).Jobs)
	for i := range wants {
		if wants[i].Kind == kind {
			wants[i].Limit = false // its kind has a limit, and it is not under it
		}
	}
	got, err := c.store.Admit(c.Context(), driven.AdmitRequest{Wants: wants})
	c.ok("admit", err)
	equal(c, "admitted jobs", len(got.Admitted), len(ids))
	for _, a := range got.Admitted {
		equal(c, "slots of a job without bounds", len(a.Slots), 0)
	}
	c.taken()
}

// all: a job gets all that it asks for or nothing of it.
func boundAll(c *rig) {
	c.declare(limited(kind, 5), rated(kind, 5, long))
	c.one(mutex("m"))
	first := c.start(1)
	equal(c, "keys of the first job", first[0].keys(), []string{limit(""), mutexKey("m"), rate("")})
	equal(c, "window of its rate", first[0].slots[2].Window, long)
	equal(c, "window of its limit", first[0].slots[0].Window, 0)
	second := c.one(mutex("m", "n"))
	c.startNone()
	c.parkedOn(mutexKey("m"), second)
	c.taken(limit(""), mutexKey("m"), rate(""))
	c.over(first[0], done)
	got := c.startOnly(second)
	equal(c, "keys of the second job", got.keys(), []string{limit(""), mutexKey("m"), mutexKey("n"), rate("")})
}

// first: a job that lacks several keys waits for the first of them in byte order.
func boundFirst(c *rig) {
	c.declare(limited(kind, 1))
	c.one(ofKind(other), mutex("b", "a"))
	c.one()
	busy := c.start(2)
	equal(c, "started jobs", len(busy), 2)
	turns := c.one(ofKind(other), mutex("c", "b", "a"))
	both := c.one(mutex("b"))
	c.startNone()
	c.parkedOn(mutexKey("a"), turns)
	c.parkedOn(limit(""), both)
	i := slices.IndexFunc(busy, func(s started) bool { return s.Job.Kind == kind })
	equal(c, "jobs that the freed limit wakes", c.over(busy[i], done).Jobs, 1)
	c.startNone()
	c.parkedOn(mutexKey("b"), both)
	c.over(busy[1-i], done)
	c.startOnly(turns)
}

// parked: a job that waits is as it was before its claim, which is over.
func boundParked(c *rig) {
	c.stalled(mutex("m"))
	quick := sweep()
	quick.Stalls.Base = time.Millisecond
	c.recover(quick)
	c.pass(5 * time.Millisecond)
	first := c.start(1)
	equal(c, "started jobs", len(first), 1)
	c.over(first[0], in(c.short(), failed))
	c.one(mutex("m"))
	busy := c.start(1)
	equal(c, "started jobs", len(busy), 1)
	c.pass(c.short())
	before := c.get(first[0].Job.ID)
	r := c.request(1)
	r.Lease = c.short()
	j := c.ask(r).Jobs
	equal(c, "claimed jobs", len(j), 1)
	got, parked := c.admit(j...)
	equal(c, "admitted jobs", len(got), 0)
	equal(c, "parked jobs", parked, []driven.Parking{{ID: before.ID, Key: mutexKey("m")}})
	row := c.inState(before.ID, domain.Blocked)
	equal(c, "attempts, stalls, snoozes", [3]int{row.Attempts, row.Stalls, row.Snoozes}, [3]int{before.Attempts, before.Stalls, before.Snoozes})
	equal(c, "last error", row.Error, before.Error)
	equal(c, "history", row.History, before.History)
	equal(c, "due time", row.RunAt, before.RunAt)
	c.notRunning(row)
	equal(c, "lost claims", c.renew(long, j[0]), []domain.JobID{row.ID})
	equal(c, "dropped outcomes", c.settle(done(j[0])), []domain.JobID{row.ID})
	c.pass(c.short() + time.Millisecond)
	equal(c, "recovered jobs", len(c.recover(sweep()).Jobs), 0)
	equal(c, "jobs to claim", len(c.claim(5)), 0)
	equal(c, "the row after all that", c.get(row.ID), row)
}

// lost: a claim that is over is in neither list, holds nothing and changes nothing.
func boundLost(c *rig) {
	c.declare(limited(kind, 5))
	jobs := c.claimSet(5, mutex("m"))
	c.settled(started{Claimed: jobs[0]}.with(done(jobs[0])))
	jobs[1].Token = c.token()
	gone := driven.Claimed{Token: c.token(), Job: domain.Job{ID: c.id(), Kind: kind, Turn: domain.TurnMutex}}
	none := driven.Claimed{Job: domain.Job{ID: c.one(priority(9)), Kind: kind}}
	got, lost := c.admitAll([]driven.Claimed{jobs[0], jobs[1], gone, none})
	equal(c, "admitted and parked jobs", len(got.started)+len(got.parked), 0)
	equalIDs(c, "lost claims", lost, []domain.JobID{jobs[0].Job.ID, jobs[1].Job.ID, gone.Job.ID, none.Job.ID})
	c.taken()
	c.inState(jobs[1].Job.ID, domain.Running)
	c.readyAll(none.Job.ID)
	got, lost = c.admitAll([]driven.Claimed{gone, jobs[2], jobs[3]})
	equalIDs(c, "lost claims", lost, []domain.JobID{gone.Job.ID})
	equal(c, "jobs parked because of the one whose turn it is", len(got.parked), 2)
	c.taken()
}

// limit: N jobs start, the first ones of the claim, and one more does not.
func boundLimit(c *rig) {
	c.declare(limited(kind, 3))
	ids := c.add(c.jobs(5)...)
	jobs := c.claim(4)
	got, parked := c.admit(jobs...)
	equalIDs(c, "started jobs", idsStarted(got), ids[:3])
	equal(c, "parked jobs", parked, []driven.Parking{{ID: ids[3], Key: limit("")}})
	seen := map[int]bool{}
	for _, s := range got {
		equal(c, "keys of a started job", s.keys(), []string{limit("")})
		seen[s.slots[0].Index] = true
		if at := s.slots[0].Index; at < 0 || at > 2 {
			c.Fatalf("a limit of 3 gave the slot %d", at)
		}
	}
	equal(c, "different slots", len(seen), 3)
	c.startNone()
	c.parkedOn(limit(""), ids[3:]...)
	equal(c, "what a freed slot wakes", c.over(got[1], done), driven.Woken{Jobs: 1, Queues: []string{queue}})
	c.startOnly(ids[3])
	c.taken(limit(""), limit(""), limit(""))
}

// race: however many admissions run at once, no more than N jobs run, and all
// run in the end though nobody sweeps.
func boundRace(c *rig) {
	const n = 3
	c.declare(limited(kind, n))
	total := size(60, 1000)
	c.add(c.jobs(total)...)
	stores := c.handles(8)
	var running, ended atomic.Int64
	c.race(len(stores), func(i int) error {
		return c.until(func() bool { return ended.Load() == int64(total) }, func() error {
			return c.work(stores[i], c.request(n+1), func(s started) error {
				if now := running.Add(1); now > n {
					return fmt.Errorf("%d jobs run at once, the limit is %d", now, n)
				}
				runtime.Gosched()
				running.Add(-1)
				ended.Add(1)
				return nil
			})
		})
	})
	c.taken()
}

// until repeats an act until all is over or it has lasted too long.
func (c *rig) until(over func() bool, act func() error) error {
	late := time.After(patience)
	for !over() {
		select {
		case <-late:
			return fmt.Errorf("it is not over after %v: some job waits and nobody wakes it", patience)
		default:
		}
		if err := act(); err != nil {
			return err
		}
		runtime.Gosched()
	}
	return nil
}

// work does what a runner does: it claims, admits, wakes whom the parked ones
// touched, runs what was admitted, settles it and wakes again.
func (c *rig) work(s driven.Store, r driven.ClaimRequest, run func(started) error) error {
	var claims driven.Claims
	if err := uncontended(func() (err error) { claims, err = s.Claim(c.Context(), r); return err }); err != nil || len(claims.Jobs) == 0 {
		return err
	}
	running, err := c.admitBy(s, claims.Jobs)
	if err != nil {
		return err
	}
	for _, job := range running {
		if err := run(job); err != nil {
			return err
		}
		if err := c.overBy(s, job, done(job.Claimed)); err != nil {
			return err
		}
	}
	return nil
}

func (c *rig) admitBy(s driven.Store, jobs []driven.Claimed) (running []started, err error) {
	var got driven.Admission
	err = uncontended(func() (err error) {
		got, err = s.Admit(c.Context(), driven.AdmitRequest{Wants: wantsOf(jobs)})
		return err
	})
	if err == nil && len(got.Admitted)+len(got.Parked) != len(jobs) {
		err = fmt.Errorf("%d live claims: %d admitted, %d parked", len(jobs), len(got.Admitted), len(got.Parked))
	}
	if err == nil && len(got.Wake) > 0 {
		err = c.wakeBy(s, got.Wake)
	}
	for _, a := range got.Admitted {
		at := slices.IndexFunc(jobs, func(j driven.Claimed) bool { return j.Job.ID == a.ID })
		running = append(running, started{jobs[at], a.Slots})
	}
	return running, err
}

func (c *rig) wakeBy(s driven.Store, keys []string) error {
	return uncontended(func() error { _, err := s.Wake(c.Context(), keys); return err })
}

func (c *rig) overBy(s driven.Store, job started, o driven.Outcome) error {
	err := uncontended(func() error {
		got, err := s.Settle(c.Context(), []driven.Outcome{job.with(o)})
		if err == nil && len(got.Dropped) > 0 {
			err = fmt.Errorf("the outcome of the live claim of %s was dropped", job.Job.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.wakeBy(s, job.keys())
}

// own: jobs with a key of their own share its bound with no other key and not
// with the group's own.
func boundOwn(c *rig) {
	c.declare(limited(kind, 1))
	all := c.add(c.job(limitKey("a")), c.job(limitKey("a")), c.job(limitKey("A")), c.job(), c.job(), c.job(limitKey("b")))
	got := c.start(10)
	equalIDs(c, "started jobs", idsStarted(got), []domain.JobID{all[0], all[2], all[3], all[5]})
	c.parkedOn(limit("a"), all[1])
	c.parkedOn(limit(""), all[4])
	c.taken(limit(""), limit("A"), limit("a"), limit("b"))
	equal(c, "jobs that the group's own slot wakes", c.over(got[2], done).Jobs, 1)
	c.startOnly(all[4])
}

// group: kinds that name one group share what it allows; one of another name does not.
func boundGroup(c *rig) {
	apart := limited("test/third", 1)
	apart.Group = "Group"
	c.declare(limited(kind, 2), limited(other, 2), apart)
	ids := c.add(c.job(), c.job(ofKind(other)), c.job(), c.job(ofKind(other)), c.job(ofKind("test/third")))
	r := c.request(10)
	r.Kinds = []string{kind, other, "test/third"}
	got := c.startBy(r)
	equalIDs(c, "started jobs", idsStarted(got), []domain.JobID{ids[0], ids[1], ids[4]})
	c.parkedOn(limit(""), ids[2], ids[3])
	c.over(got[0], done)
	c.startOnly(ids[2])
	c.over(got[1], done)
	c.startOnly(ids[3])
}

// again: an admission whose answer was lost is asked for again, and the claims get
// what they have.
func boundAgain(c *rig) {
	window := 2 * long
	c.declare(limited(kind, 1), rated(kind, 2, window))
	c.add(c.job(mutex("m")), c.job(mutex("m")))
	claimed := c.claim(2)
	c.admit(claimed...) // not heard
	for range 2 {
		got, _ := c.admitAll(claimed) // whether the second job is told of as parked or as lost says the same
		equalIDs(c, "admitted jobs", idsStarted(got.started), []domain.JobID{claimed[0].Job.ID})
		c.parkedOn(limit(""), claimed[1].Job.ID)
		equal(c, "its keys", got.started[0].keys(), []string{limit(""), mutexKey("m"), rate("")})
		c.taken(limit(""), mutexKey("m"), rate(""))
	}
	got, _ := c.admit(claimed[0])
	c.over(got[0], done)
	c.startOnly(claimed[1].Job.ID)
}

// rate: at most N starts in a window; the slot of an ended job stays taken until
// its window is over.
func boundRate(c *rig) {
	window := c.short()
	c.declare(rated(kind, 2, window), limited(other, 1))
	ids := c.add(c.jobs(4)...)
	got := c.start(4)
	equalIDs(c, "started jobs", idsStarted(got), ids[:2])
	c.parkedOn(rate(""), ids[2:]...)
	equal(c, "window of the slot", got[0].slots[0].Window, window)
	c.settled(got[0].with(done(got[0].Claimed)), got[1].with(done(got[1].Claimed)))
	if c.Advance != nil {
		c.pass(window - time.Millisecond)
		c.woken(0, rate(""))
		equal(c, "keys that expire inside the window", len(c.expire(10).Keys), 0)
		c.taken(rate(""), rate(""))
		late := c.one(priority(-1))
		c.startNone()
		c.parkedOn(rate(""), late)
		c.wantNil("delete", c.delete(late)...)
	}
	c.pass(window)
	equal(c, "keys that expire after the window", c.expire(10).Keys, []string{rate("")})
	c.taken()
	c.woken(2, rate(""))
	equalIDs(c, "jobs started after the window", idsStarted(c.start(10)), ids[2:])
}

// window: a slot may be given back, for a window's length, while its job runs
// on; and one whose time is over is taken without anybody expiring it.
func boundWindow(c *rig) {
	window := c.short()
	c.declare(rated(kind, 1, window))
	c.one()
	first := c.start(1)[0]
	c.hold(driven.Holding{Ticket: first.Ticket(), Slot: first.slots[0].Slot, For: window, End: true})
	equal(c, "holder of the kept slot", c.holders()[0].Job, domain.JobID{})
	c.inState(first.Job.ID, domain.Running)
	if c.Advance != nil {
		c.expiresIn(window)
		c.pass(window / 2)
		c.expiresIn(window / 2)
	}
	c.pass(window)
	second := c.one()
	c.startOnly(second)
	c.over(first, done)
	holders := c.holders()
	equal(c, "taken slots", len(holders), 1)
	equal(c, "holder once the first job is over", holders[0].Job, second)
	equal(c, "time to the next slot where none is kept", c.expire(10).Next, driven.NoNext)
}

// many: one admission takes more jobs than a statement has parameters, each all or none.
func boundMany(c *rig) {
	const n = 1001
	c.declare(limited(kind, n-1))
	jobs := make([]domain.NewJob, n)
	for i := range jobs {
		jobs[i] = c.job(mutex(fmt.Sprintf("m-%04d", i), fmt.Sprintf("n-%04d", i)))
	}
	ids := c.add(jobs...)
	claims := c.claimAll(c.request(500))
	equal(c, "claimed jobs", len(claims), n)
	got, parked := c.admit(claims...)
	equalIDs(c, "started jobs", idsStarted(got), ids[:n-1])
	equal(c, "parked jobs", parked, []driven.Parking{{ID: ids[n-1], Key: limit("")}})
	var outcomes []driven.Outcome
	var keys []string
	for _, s := range got {
		equal(c, "slots of a job", len(s.slots), 3)
		outcomes = append(outcomes, s.with(done(s.Claimed)))
		keys = append(keys, s.keys()...)
	}
	for part := range slices.Chunk(outcomes, 500) {
		c.settled(part...)
	}
	c.taken()
	c.woken(1, keys...)
	c.startOnly(ids[n-1])
}

// interleave: of a job that is parked while another gives its key back, one
// looks last and wakes it, also where the job comes in a host's transaction.
func boundInterleave(c *rig) {
	const keys = 10 // a round
	stores := c.handles(2)
	for round := range size(10, 100) {
		first, second := make([]domain.NewJob, keys), make([]domain.NewJob, keys)
		for k := range keys {
			first[k], second[k] = c.job(mutex(fmt.Sprint("k", k))), c.job(mutex(fmt.Sprint("k", k)))
		}
		c.add(first...)
		busy := c.start(keys)
		equalIDs(c, "started jobs", idsStarted(busy), idsOfNew(first))
		c.bring(second, round%2 == 1)
		claimed := c.claim(keys)
		equalIDs(c, "claimed jobs", idsOf(claimed), idsOfNew(second))
		var got []started
		c.race(2, func(i int) error {
			for k := range keys {
				if i == 0 {
					if err := c.overBy(stores[0], busy[k], done(busy[k].Claimed)); err != nil {
						return err
					}
					continue
				}
				running, err := c.admitBy(stores[1], claimed[k:k+1])
				if got = append(got, running...); err != nil {
					return err
				}
			}
			return nil
		})
		got = append(got, c.start(keys)...)
		equalIDs(c, fmt.Sprintf("jobs started in round %d", round), sorted(idsStarted(got)), idsOfNew(second))
		var outcomes []driven.Outcome
		for _, s := range got {
			outcomes = append(outcomes, s.with(done(s.Claimed)))
		}
		c.settled(outcomes...)
	}
	c.taken()
}

// bring inserts jobs, in a host's transaction if asked and there are any.
func (c *rig) bring(jobs []domain.NewJob, inTx bool) {
	c.Helper()
	if !inTx || c.Begin == nil {
		c.add(jobs...)
		return
	}
	tx, ins := c.begin()
	_, err := ins.Insert(c.Context(), jobs)
	c.ok("insert", err)
	c.ok("commit", tx.Commit())
}

// expiresIn checks when the next slot expires, but for the cut of a moment.
func (c *rig) expiresIn(want time.Duration) {
	c.Helper()
	if got := c.expire(10).Next; got > want || got <= want-2*time.Millisecond {
		c.Fatalf("the next slot expires in %v, want %v", got, want)
	}
}
