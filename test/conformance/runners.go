package conformance

import (
	"time"

	"github.com/rowlock/rowlock/domain"
)

func runnersCases() []testCase {
	return []testCase{
		{"beat", runnersBeat},
		{"live", runnersLive},
		{"leave", runnersLeave},
	}
}

func (c *rig) beat(r domain.RunnerInfo, ttl time.Duration) {
	c.Helper()
	c.ok("beat", c.store.Beat(c.Context(), r, ttl))
}

// runners lists the ids of the live runners.
func (c *rig) runners(limit int) []string {
	c.Helper()
	list, err := c.store.ListRunners(c.Context(), limit)
	c.ok("list runners", err)
	ids := []string{}
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

// beat: the list gives what the runner last said of itself.
func runnersBeat(c *rig) {
	r := domain.RunnerInfo{ID: "host-1", Kinds: []string{"a", `odd "kind", with \`}, Queues: []string{"q"}, StartedAt: c.now()}
	c.beat(r, long)
	r.Kinds = append(r.Kinds, "b")
	c.beat(r, long)
	list, err := c.store.ListRunners(c.Context(), 10)
	c.ok("list runners", err)
	equal(c, "number of runners", len(list), 1)
	equal(c, "id", list[0].ID, r.ID)
	equal(c, "kinds", list[0].Kinds, r.Kinds)
	equal(c, "queues", list[0].Queues, r.Queues)
	equal(c, "started at", list[0].StartedAt, r.StartedAt)
	if list[0].SeenAt.IsZero() {
		c.Fatal("the list does not say when the runner was last seen")
	}
	c.beat(domain.RunnerInfo{ID: "host-2"}, long)
	equal(c, "runners", c.runners(10), []string{"host-1", "host-2"})
}

// live: by id, at most so many, and only those whose span is not over.
func runnersLive(c *rig) {
	equal(c, "runners of an empty store", c.runners(10), []string{})
	for _, id := range []string{"b", "B", "c", "a"} {
		c.beat(domain.RunnerInfo{ID: id, Kinds: []string{kind}}, long)
	}
	c.beat(domain.RunnerInfo{ID: "gone"}, c.short())
	c.beat(domain.RunnerInfo{ID: "back"}, c.short())
	c.pass(c.short() + time.Millisecond)
	c.beat(domain.RunnerInfo{ID: "back"}, long)
	equal(c, "runners", c.runners(10), []string{"B", "a", "b", "back", "c"})
	equal(c, "the first two", c.runners(2), []string{"B", "a"})
}

// leave: a runner that stops is off the list at once; leaving twice is no fault.
func runnersLeave(c *rig) {
	c.beat(domain.RunnerInfo{ID: "a"}, long)
	c.beat(domain.RunnerInfo{ID: "A"}, long)
	for range 2 {
		c.ok("leave", c.store.Leave(c.Context(), "a"))
		equal(c, "runners", c.runners(10), []string{"A"})
	}
}
