package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// limitedJob starts one job that holds the one slot of its kind's limit.
func (c *rig) limitedJob(sets ...set) started {
	c.Helper()
	c.declare(limited(kind, 1))
	n := c.job(sets...)
	c.add(n)
	return c.startOnly(n.ID)
}

// settle: an outcome of any sort frees what its job holds in the same write.
func slotSettle(c *rig) {
	c.declare(limited(kind, 6))
	ids := c.add(c.jobs(6)...)
	all := c.start(6)
	equalIDs(c, "started jobs", idsStarted(all), ids)
	makers := []func(driven.Claimed) driven.Outcome{done, died, gaveUp, released, in(long, failed), in(long, snoozed)}
	var outcomes []driven.Outcome
	for i, s := range all {
		outcomes = append(outcomes, s.with(makers[i](s.Claimed)))
	}
	c.settled(outcomes[0])
	equal(c, "taken slots after one outcome", len(c.holders()), 5)
	kept := outcomes[1]
	kept.Slots[0].After = long
	c.settled(outcomes[1:]...)
	holders := c.holders()
	equal(c, "slots that are kept", len(holders), 1)
	equal(c, "the kept slot", holders[0].Slot, kept.Slots[0].Slot)
	equal(c, "its holder", holders[0].Job, domain.JobID{})
	equalIDs(c, "jobs that start again", idsStarted(c.start(10)), ids[3:4])
}

// dropped: an outcome that comes too late gives back what its own claim holds.
func slotDropped(c *rig) {
	c.declare(limited(kind, 1))
	c.one(inQueue("a"))
	r := c.request(1)
	r.Queue, r.Lease = "a", c.short()
	late := c.startBy(r)
	equal(c, "started jobs", len(late), 1)
	c.pass(c.short() + time.Millisecond)
	equal(c, "recovered jobs", len(c.recover(sweep()).Jobs), 1)
	next := c.one()
	c.startNone()
	equal(c, "dropped outcomes", c.settle(late[0].with(done(late[0].Claimed))), []domain.JobID{late[0].Job.ID})
	c.taken()
	c.woken(1, limit(""))
	c.startOnly(next)
	c.inState(late[0].Job.ID, domain.Scheduled)
}

// fence: nobody gives back what another claim holds, not even under the same
// token, nor with the right job under another one.
func slotFence(c *rig) {
	c.declare(limited(kind, 2))
	c.add(c.jobs(2)...)
	all := c.start(2)
	equal(c, "started jobs", len(all), 2)
	a, b := all[0], all[1]
	equal(c, "token of the second", b.Token, a.Token)
	wrong := a.with(done(a.Claimed))
	wrong.Slots[0].Slot = b.slots[0].Slot
	c.settled(wrong)
	equal(c, "taken slots after an outcome that names another's", len(c.holders()), 2)
	stale := b.with(done(b.Claimed))
	stale.Ticket.Token = c.token()
	equal(c, "dropped outcomes", c.settle(stale), []domain.JobID{b.Job.ID})
	stale.Ticket.Token = domain.Token{}
	c.settle(stale)
	for _, end := range []bool{true, false} {
		c.hold(
			driven.Holding{Ticket: domain.Ticket{ID: b.Job.ID, Token: c.token()}, Slot: b.slots[0].Slot, End: end},
			driven.Holding{Ticket: domain.Ticket{ID: b.Job.ID}, Slot: b.slots[0].Slot, End: end},
			driven.Holding{Ticket: domain.Ticket{ID: c.id(), Token: b.Token}, Slot: b.slots[0].Slot, End: end},
		)
	}
	holders := c.holders()
	equal(c, "taken slots after all that", len(holders), 2)
	for _, h := range holders {
		equal(c, "what keeps a slot beside its claim", h.Left, 0)
	}
	c.over(b, done)
	equal(c, "taken slots at last", len(c.holders()), 1)
}

// repeat: an outcome that is settled again takes nothing from who holds the slot now.
func slotRepeat(c *rig) {
	a := c.limitedJob()
	c.settled(a.with(released(a.Claimed)))
	again := c.startOnly(a.Job.ID)
	equal(c, "slot of the second claim", again.slots[0].Slot, a.slots[0].Slot)
	c.settled(a.with(released(a.Claimed)))
	c.taken(limit(""))
	c.over(again, done)
	next := c.one()
	c.startOnly(next)
	c.settled(again.with(done(again.Claimed)))
	equal(c, "dropped outcomes", c.settle(a.with(done(a.Claimed))), []domain.JobID{a.Job.ID})
	equal(c, "holder at last", c.holders()[0].Job, next)
}

// end: a slot may be given back apart from the outcome, at once or after a while.
func slotEnd(c *rig) {
	a := c.limitedJob()
	c.hold(driven.Holding{Ticket: a.Ticket(), Slot: a.slots[0].Slot, End: true})
	c.taken()
	next := c.one()
	b := c.startOnly(next)
	c.hold(driven.Holding{Ticket: b.Ticket(), Slot: b.slots[0].Slot, End: true, For: c.short()})
	c.taken(limit(""))
	third := c.one()
	if c.Advance != nil {
		c.startNone()
	}
	c.pass(c.short() + time.Millisecond)
	equal(c, "expired keys", c.expire(10).Keys, []string{limit("")})
	c.wake(limit(""))
	c.startOnly(third)
}

// prolong: a slot may outlive its job's claim, for as long as somebody says so.
func slotProlong(c *rig) {
	a := c.limitedJob()
	c.hold(driven.Holding{Ticket: a.Ticket(), Slot: a.slots[0].Slot, For: c.short()})
	c.settled(done(a.Claimed)) // its handler runs on: the slot is not given back
	if c.Advance != nil {
		equal(c, "orphans while it is held", c.reap(0), 0)
		c.pass(c.short() / 2)
		c.hold(driven.Holding{Ticket: a.Ticket(), Slot: a.slots[0].Slot, For: c.short()})
		c.pass(c.short() - time.Millisecond)
		equal(c, "orphans while it is held longer", c.reap(0), 0)
	}
	equal(c, "keys that expire while a claim holds them", len(c.expire(10).Keys), 0)
	c.taken(limit(""))
	c.pass(c.short() + time.Millisecond)
	c.taken(limit(""))
	equal(c, "keys that expire though a claim holds them", len(c.expire(10).Keys), 0)
	equal(c, "orphans", c.reap(0), 1)
	c.taken()
	b := c.limitedJob()
	c.hold(driven.Holding{Ticket: b.Ticket(), Slot: b.slots[0].Slot, For: c.short()})
	c.over(b, done) // an outcome that gives it back ends that
	c.taken()
}

// expire: slots that were kept for a while are freed once it is over, bounded,
// and their keys are named.
func slotExpire(c *rig) {
	c.declare(limited(kind, 1))
	var want []string
	for _, key := range []string{"a", "b", "c"} {
		c.one(limitKey(key))
		want = append(want, limit(key))
	}
	later, never := c.one(limitKey("d")), c.one(limitKey("e"))
	all := c.start(5)
	equal(c, "started jobs", len(all), 5)
	for _, s := range all {
		o := s.with(done(s.Claimed))
		switch o.Slots[0].After = c.short(); s.Job.ID {
		case later:
			o.Slots[0].After = c.short() + long
		case never:
			continue
		}
		c.settled(o)
	}
	if c.Advance != nil {
		equal(c, "keys that expire before their time", len(c.expire(10).Keys), 0)
		c.expiresIn(c.short())
	}
	c.taken(limit("a"), limit("b"), limit("c"), limit("d"), limit("e"))
	c.pass(c.short() + time.Millisecond)
	first := c.expire(2)
	equal(c, "keys of a bounded call", len(first.Keys), 2)
	equal(c, "More", first.More, true)
	second := c.expire(2)
	equal(c, "keys of all calls", slices.Sorted(slices.Values(append(first.Keys, second.Keys...))), want)
	equal(c, "More at last", second.More, false)
	equal(c, "keys that expire twice", len(c.expire(2).Keys), 0)
	c.taken(limit("d"), limit("e"))
	if next := c.expire(2).Next; next <= 0 || next > long+c.short() {
		c.Fatalf("the next slot expires in %v", next)
	}
}

// orphan: a slot whose job runs no more under its token stays taken for the
// linger and is free after it.
func slotOrphan(c *rig) {
	a := c.limitedJob()
	c.settled(done(a.Claimed)) // a runner that forgot its slot
	next := c.one()
	c.startNone()
	got := c.reapPage(driven.ReapRequest{Limit: 10, Linger: c.short()})
	equal(c, "orphans", got, driven.Reaped{Orphans: 1, Last: a.slots[0].Slot})
	equal(c, "orphans found again", c.reap(long), 0)
	c.taken(limit(""))
	if c.Advance != nil {
		c.pass(c.short() - time.Millisecond)
		c.woken(0, limit(""))
		equal(c, "keys that expire while a slot lingers", len(c.expire(10).Keys), 0)
	}
	c.pass(c.short() + time.Millisecond)
	equal(c, "expired keys", c.expire(10).Keys, []string{limit("")})
	c.woken(1, limit(""))
	b := c.startOnly(next)
	c.settled(b.with(released(b.Claimed)))
	c.one(priority(-1))
	second := c.start(1)
	equal(c, "started jobs", len(second), 1)
	c.over(second[0], done)
	again := c.startOnly(next)
	equal(c, "orphans once the job runs under another token", c.reap(0), 0)
	c.over(again, done)
	c.taken()
}

// return: a runner that comes back while its orphaned slot lingers keeps it, for its
// handler may run on; another job's claim and one that comes later do not.
func slotReturn(c *rig) {
	a := c.limitedJob()
	c.settled(done(a.Claimed))
	equal(c, "orphans", c.reap(c.short()), 1)
	stranger := domain.Ticket{ID: c.job().ID, Token: a.Token}
	c.hold(driven.Holding{Ticket: stranger, Slot: a.slots[0].Slot, For: long})
	c.hold(driven.Holding{Ticket: a.Ticket(), Slot: a.slots[0].Slot, End: true}) // it is not the claim's to give back
	c.taken(limit(""))
	c.hold(driven.Holding{Ticket: a.Ticket(), Slot: a.slots[0].Slot, For: 2 * c.short()})
	c.pass(c.short() + time.Millisecond)
	if c.Advance != nil {
		equal(c, "keys that expire though the runner is back", len(c.expire(10).Keys), 0)
		c.taken(limit(""))
	}
	c.pass(c.short())
	equal(c, "expired keys", c.expire(10).Keys, []string{limit("")})
	c.hold(driven.Holding{Ticket: a.Ticket(), Slot: a.slots[0].Slot, For: long})
	c.taken()
}

// live: what a running job holds is never touched, however late its renewal.
func slotLive(c *rig) {
	c.declare(limited(kind, 2))
	c.one(mutex("m"))
	r := c.request(1)
	r.Lease = c.short()
	a := c.startBy(r)
	equal(c, "started jobs", len(a), 1)
	c.pass(c.short() + time.Millisecond)
	for range 3 {
		equal(c, "orphans of a lapsed lease that nobody took", c.reap(0), 0)
		equal(c, "expired keys", len(c.expire(10).Keys), 0)
	}
	c.taken(limit(""), mutexKey("m"))
	c.over(a[0], done)
	c.taken()
}

// pages: a reaper goes through all slots page by page, in order of key and number.
func slotPages(c *rig) {
	c.declare(limited(kind, 3))
	keys := []string{"a", "B", "b", "a "}
	for _, key := range keys {
		c.add(c.jobs(3, limitKey(key))...)
	}
	all := c.start(12)
	equal(c, "started jobs", len(all), 12)
	for i, s := range all {
		switch o := s.with(done(s.Claimed)); i % 3 {
		case 0:
			o.Slots[0].After = long
			c.settled(o)
		case 1:
			o.Slots = nil // its slot is an orphan
			c.settled(o)
		}
	}
	orphans, r := 0, driven.ReapRequest{Limit: 5, Linger: long}
	var sizes []bool
	for range 3 {
		got := c.reapPage(r)
		if at := got.Last; at.Key < r.After.Key || at.Key == r.After.Key && at.Index <= r.After.Index {
			c.Fatalf("the page after %+v ends at %+v", r.After, at)
		}
		orphans, r.After, sizes = orphans+got.Orphans, got.Last, append(sizes, got.More)
	}
	equal(c, "orphans", orphans, 4)
	equal(c, "More of each page", sizes, []bool{true, true, false})
	equal(c, "last slot", r.After, domain.Slot{Key: limit("b"), Index: 2})
	got := c.reapPage(r)
	equal(c, "orphans and More behind the last slot", fmt.Sprint(got.Orphans, got.More), "0 false")
	equal(c, "taken slots", len(c.holders()), 12)
}

// idle: rows of slots that were free for a minute go, and no others.
func slotIdle(c *rig) {
	c.declare(limited(kind, 1))
	c.add(c.job(limitKey("a")), c.job(limitKey("b")), c.job(limitKey("c")))
	all := c.start(3)
	equal(c, "started jobs", len(all), 3)
	c.over(all[0], done)
	kept := all[1].with(done(all[1].Claimed))
	kept.Slots[0].After = long
	c.settled(kept)
	page := driven.ReapRequest{Limit: 10, Linger: long}
	equal(c, "last slot", c.reapPage(page).Last, all[2].slots[0].Slot)
	c.one(limitKey("a"))
	again := c.start(1)
	equal(c, "started jobs", len(again), 1)
	if c.Advance == nil {
		return // nobody waits for a real minute
	}
	c.pass(2 * time.Minute)
	c.reap(long)
	c.taken(limit("a"), limit("b"), limit("c"))
	c.over(again[0], done)
	c.over(all[2], done)
	c.reap(long)
	c.pass(2 * time.Minute)
	c.reap(long)
	got := c.reapPage(page)
	equal(c, "the one slot left, which is kept", got, driven.Reaped{Last: all[1].slots[0].Slot})
	c.taken(limit("b"))
	c.one(limitKey("a"))
	equal(c, "jobs started where there was no row any more", len(c.start(1)), 1)
}

// stalled: what a stalled job held is not free before the linger is over,
// whoever wants it.
func slotStalled(c *rig) {
	c.declare(limited(kind, 1))
	c.one(mutex("m"))
	r := c.request(1)
	r.Lease = c.short()
	a := c.startBy(r)
	equal(c, "started jobs", len(a), 1)
	c.pass(c.short() + time.Millisecond)
	quick := sweep()
	quick.Stalls.Base = time.Millisecond
	equal(c, "recovered jobs", len(c.recover(quick).Jobs), 1)
	next := c.one(mutex("m"))
	c.pass(5 * time.Millisecond)
	for range 2 {
		c.startNone() // neither the stalled one again nor the other
	}
	equal(c, "orphans", c.reap(c.short()), 2)
	if c.Advance != nil {
		c.pass(c.short() - time.Millisecond)
		c.woken(0, limit(""), mutexKey("m"))
	}
	c.pass(c.short() + time.Millisecond)
	keys := c.expire(10).Keys
	equal(c, "expired keys", slices.Sorted(slices.Values(keys)), []string{limit(""), mutexKey("m")})
	c.wake(keys...)
	got := c.start(1)
	for range 3 { // who waits for the limit may not be whose turn it is
		if len(got) == 0 {
			got = c.start(1)
		}
	}
	equal(c, "started jobs", len(got), 1)
	c.over(got[0], done)
	rest := c.start(2)
	equal(c, "jobs started after it", len(rest), 1)
	equalIDs(c, "both", sorted(idsStarted(append(got, rest...))), sorted([]domain.JobID{a[0].Job.ID, next}))
}

// held: taken slots are listed with who holds them, by pages, in order.
func slotHeld(c *rig) {
	c.declare(limited(kind, 2))
	c.add(c.job(limitKey("b")), c.job(limitKey("a")), c.job(limitKey("a")), c.job(limitKey("c")))
	before := c.now()
	r := c.request(4)
	r.Runner = "host-1"
	all := c.startBy(r)
	equal(c, "started jobs", len(all), 4)
	byKey := map[string][]started{}
	for _, s := range all {
		byKey[s.slots[0].Key] = append(byKey[s.slots[0].Key], s)
	}
	kept := all[3].with(done(all[3].Claimed))
	kept.Slots[0].After = long
	c.settled(kept)
	c.settled(released(all[0].Claimed)) // runs on, and holds it still
	var got []domain.Holder
	for range 4 {
		var after domain.Slot
		if len(got) > 0 {
			after = got[len(got)-1].Slot
		}
		page, err := c.store.Held(c.Context(), after, 1)
		c.ok("list held slots", err)
		equal(c, "holders on a page", len(page), 1)
		got = append(got, page[0])
	}
	whole := c.holders()
	for i := range min(len(whole), len(got)) {
		if c.Advance == nil && whole[i].Left <= got[i].Left { // it goes on falling
			whole[i].Left = got[i].Left
		}
	}
	equal(c, "the same in one page", whole, got)
	for i, want := range []struct {
		key, runner string
		over        bool
	}{{limit("a"), "host-1", false}, {limit("a"), "host-1", false}, {limit("b"), "host-1", true}, {limit("c"), "", true}} {
		h := got[i]
		equal(c, "key", h.Key, want.key)
		equal(c, "runner of the holder of "+want.key, h.Runner, want.runner)
		equal(c, "whether the claim is over that took "+want.key, h.Over, want.over)
		if h.Since.Before(before) {
			c.Fatalf("the slot was taken %v, before there was anything to take it", h.Since)
		}
		if isKept := i == 3; isKept != (h.Left > 0) || isKept != h.Job.IsZero() || h.Left > long {
			c.Fatalf("the holder %+v", h)
		}
	}
	equal(c, "holder of b", got[2].Job, byKey[limit("b")][0].Job.ID)
	equal(c, "numbers of a", [2]int{got[0].Index, got[1].Index}, [2]int{0, 1})
}

// whose: a taken slot says who took it and since when for as long as it is held, also
// once that claim is over, and never names another claim of the job.
func slotWhose(c *rig) {
	c.declare(limited(kind, 2))
	c.one()
	start := func(runner string) started {
		r := c.request(1)
		r.Runner = runner
		all := c.startBy(r)
		equal(c, "started jobs", len(all), 1)
		return all[0]
	}
	a := start("host-1")
	look := func(what string, want domain.Holder) {
		for _, h := range c.holders() {
			if h.Slot == want.Slot {
				h.Left = 0
				equal(c, what, h, want)
				return
			}
		}
		c.Fatalf("%s: the slot is free", what)
	}
	want := domain.Holder{Slot: a.slots[0].Slot, Job: a.Job.ID, Runner: "host-1", Since: c.holders()[0].Since}
	look("the holder whose job runs", want)
	c.pass(3 * time.Millisecond)
	keep := driven.Holding{Ticket: a.Ticket(), Slot: want.Slot, For: long}
	c.hold(keep)
	look("the holder that prolonged it", want)
	c.settled(released(a.Claimed)) // its handler runs on
	want.Over = true
	look("the holder whose claim is over", want)
	c.pass(3 * time.Millisecond)
	c.hold(keep)
	look("the holder that prolonged it then", want)
	b := start("host-2")
	look("the holder of the second claim", domain.Holder{Slot: b.slots[0].Slot, Job: b.Job.ID, Runner: "host-2", Since: heldSince(c, b)})
	want.Runner = "" // the row does not say it any more
	look("the holder whose job runs under another claim", want)
	c.over(b, done)
	look("the holder whose job was over under another claim", want)
}

// heldSince is when the claim took its slot.
func heldSince(c *rig, s started) time.Time {
	for _, h := range c.holders() {
		if h.Slot == s.slots[0].Slot {
			return h.Since
		}
	}
	return time.Time{}
}

// started: what a stalled job held of a rate stays taken for the window that its
// handler may have begun, however short the linger is.
func slotStarted(c *rig) {
	window := 3 * c.short()
	c.declare(rated(kind, 1, window))
	c.one()
	r := c.request(1)
	r.Lease = c.short()
	equal(c, "started jobs", len(c.startBy(r)), 1)
	c.pass(c.short() + time.Millisecond)
	equal(c, "recovered jobs", len(c.recover(sweep()).Jobs), 1)
	if c.Advance != nil {
		equal(c, "orphans inside the window", c.reap(time.Millisecond), 0)
		c.taken(rate(""))
	}
	c.pass(2 * c.short())
	equal(c, "orphans after the window", c.reap(time.Millisecond), 1)
	c.pass(2 * time.Millisecond)
	equal(c, "expired keys", c.expire(10).Keys, []string{rate("")})
}
