package conformance

import (
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// declared lists all that was declared, by pages of one kind at least, without
// the moments, and checks that they are there.
func (c *rig) declared() (all []domain.Declaration) {
	c.Helper()
	for after := ""; ; after = all[len(all)-1].Kind {
		got, err := c.store.Declared(c.Context(), after, 2)
		c.ok("list declared bounds", err)
		for _, d := range got {
			equal(c, "a declaration without its moment", d.At.IsZero(), false)
			d.At = time.Time{}
			all = append(all, d)
		}
		if len(got) == 0 {
			return all
		}
	}
}

func (c *rig) loosen(limit int) driven.Loosened {
	c.Helper()
	got, err := c.store.Loosen(c.Context(), driven.LoosenRequest{Limit: limit})
	c.ok("loosen", err)
	if len(got.Queues) == 0 {
		got.Queues = nil
	}
	return got
}

// newest: whoever shares a group has the N and window that were declared last,
// by whichever kind.
func boundNewest(c *rig) {
	c.declare(limited(kind, 5))
	c.declare(limited(other, 2))
	equal(c, "declared bounds", c.declared(), []domain.Declaration{limited(kind, 2), limited(other, 2)})
	c.add(c.jobs(4)...)
	equal(c, "started jobs", len(c.start(10)), 2)
	c.declare(limited(kind, 3))
	equal(c, "declared bounds", c.declared(), []domain.Declaration{limited(kind, 3), limited(other, 3)})
	c.one(ofKind(other), priority(-1))
	equal(c, "jobs started under the newest limit", len(c.start(1)), 1)

	c.declare(rated("a", 1, time.Second))
	c.declare(rated("b", 2, time.Minute))
	want := []domain.Declaration{rated("a", 2, time.Minute), rated("b", 2, time.Minute), limited(kind, 3), limited(other, 3)}
	equal(c, "declared rates", c.declared(), want)
}

// declared: the newest declaration of each kind and sort is listed by kind and
// sort; what is gone is kept with N = 0, and other kinds' bounds stay.
func boundDeclared(c *rig) {
	apart := func(k, g string) domain.Declaration {
		d := limited(k, 7)
		d.Group = g
		return d
	}
	c.declare(apart("b", "x"), apart("a", "Y"), apart("B", "z"), apart("a ", "ü"))
	want := []domain.Declaration{apart("B", "z"), apart("a", "Y"), apart("a ", "ü"), apart("b", "x")}
	equal(c, "declared bounds", c.declared(), want)
	c.declareFor([]string{"a", "b", "c"}, apart("b", "y"))
	gone := apart("a", "Y")
	gone.N = 0
	equal(c, "declared bounds", c.declared(), []domain.Declaration{apart("B", "z"), gone, apart("a ", "ü"), apart("b", "y")})
	c.declare(apart("a", "Y"))
	equal(c, "bounds declared again", c.declared(), []domain.Declaration{apart("B", "z"), apart("a", "Y"), apart("a ", "ü"), apart("b", "y")})
	c.declare(limited("d", 1), rated("d", 2, 1500*time.Millisecond))
	got, err := c.store.Declared(c.Context(), "b", 10)
	c.ok("list declared bounds", err)
	equal(c, "both bounds of a kind", len(got), 2)
	equal(c, "sorts", [2]domain.BoundSort{got[0].Sort, got[1].Sort}, [2]domain.BoundSort{domain.BoundLimit, domain.BoundRate})
	equal(c, "window", got[1].Window, 1500*time.Millisecond)
	c.race(8, func(int) error {
		return c.store.Declare(c.Context(), []string{"d", "e"}, []domain.Declaration{limited("d", 4), limited("e", 4)})
	})
	got, err = c.store.Declared(c.Context(), "b", 10)
	c.ok("list declared bounds", err)
	equal(c, "bounds declared by many at once", len(got), 3)
	equal(c, "N of each", [3]int{got[0].N, got[1].N, got[2].N}, [3]int{4, 0, 4})
}

// lowered: with a lowered N nothing starts until fewer than N run.
func boundLowered(c *rig) {
	c.declare(limited(kind, 4))
	ids := c.add(c.jobs(7)...)
	running := c.start(10)
	equalIDs(c, "started jobs", idsStarted(running), ids[:4])
	slices.SortFunc(running, func(a, b started) int { return a.slots[0].Index - b.slots[0].Index })
	c.declare(limited(kind, 2))
	for i, s := range running[:2] { // of the low slots, which a limit of 2 has too
		equal(c, "jobs that the end of a job wakes while as many run as are allowed", c.over(s, done).Jobs, 0)
		late := c.one(priority(-1))
		c.startNone()
		c.parkedOn(limit(""), late)
		c.wantNil("delete", c.delete(late)...)
		equal(c, "running jobs", len(c.holders()), 3-i)
	}
	equal(c, "jobs that the end of one more wakes", c.over(running[3], done).Jobs, 1)
	next := c.startOnly(ids[4])
	equal(c, "jobs woken by the last of the old ones", c.over(running[2], done).Jobs, 1)
	c.startOnly(ids[5])
	equal(c, "jobs that the end of a new one wakes", c.over(next, done).Jobs, 1)
	c.startOnly(ids[6])
	equal(c, "running jobs", len(c.holders()), 2)
}

// slower: a lowered rate binds once the starts under the old one have left their window.
func boundSlower(c *rig) {
	window := c.short()
	c.declare(rated(kind, 3, window))
	ids := c.add(c.jobs(5)...)
	for _, s := range c.start(10) {
		c.over(s, done)
	}
	c.parkedOn(rate(""), ids[3:]...)
	c.declare(rated(kind, 1, window))
	if c.Advance != nil {
		c.pass(window - time.Millisecond)
		c.woken(0, rate(""))
	}
	c.pass(window)
	c.woken(1, rate(""))
	c.startOnly(ids[3])
	c.parkedOn(rate(""), ids[4])
}

// raised: with a raised N a wake promotes as many as are free now.
func boundRaised(c *rig) {
	c.declare(limited(kind, 1))
	ids := c.add(c.jobs(5)...)
	equal(c, "started jobs", len(c.start(10)), 1)
	c.woken(0, limit(""))
	c.declare(limited(kind, 4))
	c.woken(3, limit(""))
	equalIDs(c, "jobs started under the raised limit", idsStarted(c.start(10)), ids[1:4])
	c.parkedOn(limit(""), ids[4])
}

// removed: jobs whose kind declares no such bound any more are made ready,
// bounded, and start; those of a kind that still has it go on to wait.
func boundRemoved(c *rig) {
	c.declare(limited(kind, 1), limited(other, 1))
	c.one(ofKind(other))
	busy := c.start(1)
	equal(c, "started jobs", len(busy), 1)
	freed := c.add(c.jobs(3)...)
	stay := c.add(c.jobs(2, ofKind(other))...)
	c.startNone()
	equal(c, "loosened jobs while all is declared", c.loosen(10), driven.Loosened{})
	c.declareFor([]string{kind})
	equal(c, "declared bounds", c.declared()[0].N, 0)
	woken := driven.Woken{Jobs: 2, Queues: []string{queue}}
	equal(c, "loosened jobs", c.loosen(2), driven.Loosened{Woken: woken, More: true})
	woken.Jobs = 1
	equal(c, "loosened jobs at last", c.loosen(2), driven.Loosened{Woken: woken})
	equal(c, "loosened jobs where there are none left", c.loosen(2), driven.Loosened{})
	c.parkedOn(limit(""), stay...)
	got := c.start(10)
	equalIDs(c, "started jobs", idsStarted(got), freed)
	equal(c, "slots of a job whose limit was removed", len(got[0].slots), 0)
	c.over(busy[0], done)
	c.readyAll(stay[0])
	c.parkedOn(limit(""), stay[1])
	c.declareFor([]string{other})
	c.woken(1, limit("")) // nobody declares it: all that wait may try
	equalIDs(c, "jobs started without any limit", idsStarted(c.start(10)), stay)
}

// moved: jobs that wait in a group are held to it no more once their kind is in another
// one, however full that group is and whoever else waits there.
func boundMoved(c *rig) {
	c.declare(limited(kind, 1), limited(other, 1))
	c.one(ofKind(other))
	equal(c, "started jobs", len(c.start(1)), 1)
	leave := c.add(c.job(), c.job(limitKey("a")))
	busy := c.startOnly(leave[1])
	second := c.one(limitKey("a"))
	stay := c.add(c.jobs(2, ofKind(other))...)
	c.startNone()
	c.parkedOn(limit(""), append(stay, leave[0])...)
	c.parkedOn(limit("a"), second)
	moved := domain.Declaration{Kind: kind, Sort: domain.BoundLimit, Group: "elsewhere", N: 1}
	c.declare(moved)
	equal(c, "loosened jobs", c.loosen(1), driven.Loosened{Woken: driven.Woken{Jobs: 1, Queues: []string{queue}}, More: true})
	near, err := c.store.Loosen(c.Context(), driven.LoosenRequest{Limit: 10, Depth: 10})
	c.ok("loosen who is near", err)
	equal(c, "loosened jobs", near.Jobs, 1)
	equal(c, "loosened jobs where there are none left", c.loosen(1), driven.Loosened{})
	c.readyAll(leave[0], second)
	c.parkedOn(limit(""), stay...)
	equalIDs(c, "jobs that start in the other group", sorted(idsStarted(c.start(10))), sorted([]domain.JobID{leave[0], second}))
	third := c.one()
	c.startNone()
	c.parkedOn(moved.Key(""), third)
	c.declare(moved)
	equal(c, "loosened jobs of the group that is theirs", c.loosen(10), driven.Loosened{})
	c.parkedOn(moved.Key(""), third)
	left := moved.Key("")
	moved.Group = "again"
	c.declare(moved)
	c.loosen(10)
	c.wake(left) // a group that no kind names any more
	c.readyAll(third)
	c.startOnly(third)
	c.one()
	c.startNone()
	c.declareFor([]string{kind})
	equal(c, "loosened jobs", c.loosen(10).Jobs, 1)
	c.over(busy, done)
	c.parkedOn(limit(""), stay...)
}
