package conformance

import (
	"time"

	"github.com/rowlock/rowlock/domain"
)

func switchCases() []testCase {
	return []testCase{
		{"paused", switchPaused},
		{"again", switchAgain},
		{"resume", switchResume},
	}
}

func queueSwitch(name string) domain.Switch {
	return domain.Switch{Sort: domain.SwitchQueue, Name: name}
}
func kindSwitch(name string) domain.Switch { return domain.Switch{Sort: domain.SwitchKind, Name: name} }

// off lists what is paused.
func (c *rig) off(limit int) (all []domain.Switch) {
	c.Helper()
	paused, err := c.store.Paused(c.Context(), limit)
	c.ok("list paused", err)
	for _, p := range paused {
		all = append(all, p.Switch)
	}
	return all
}

// paused: queues come first, then kinds, names by bytes, bounded; a queue and a kind of
// one name are two.
func switchPaused(c *rig) {
	equal(c, "paused at first", len(c.off(10)), 0)
	want := []domain.Switch{
		queueSwitch("A"), queueSwitch("a"), queueSwitch("a "), queueSwitch("it's 日本"), kindSwitch("a"), kindSwitch("mail/welcome"),
	}
	for _, i := range []int{4, 2, 0, 5, 3, 1} {
		c.ok("pause", c.store.Pause(c.Context(), want[i]))
	}
	equal(c, "paused", c.off(10), want)
	equal(c, "the first three", c.off(3), want[:3])
	equal(c, "none", len(c.off(0)), 0)
}

// again: to pause what is paused changes nothing, not even since when; many may at once.
func switchAgain(c *rig) {
	c.ok("pause", c.store.Pause(c.Context(), queueSwitch("q")))
	first, err := c.store.Paused(c.Context(), 10)
	c.ok("list paused", err)
	c.pass(c.short() + time.Millisecond)
	stores := c.handles(6)
	c.race(len(stores), func(i int) error {
		return uncontended(func() error { return stores[i].Pause(c.Context(), queueSwitch("q")) })
	})
	again, err := c.store.Paused(c.Context(), 10)
	c.ok("list paused", err)
	equal(c, "paused", again, first)
	if since := first[0].Since; since.IsZero() || since.Location() != time.UTC {
		c.Errorf("it is paused since %v", since)
	}
}

// resume: what is resumed is paused no more, the others are; one that is not paused is
// no fault, also where many resume at once.
func switchResume(c *rig) {
	for _, x := range []domain.Switch{queueSwitch("q"), queueSwitch("r"), kindSwitch("q")} {
		c.ok("pause", c.store.Pause(c.Context(), x))
	}
	c.ok("resume", c.store.Resume(c.Context(), queueSwitch("never")))
	stores := c.handles(4)
	c.race(len(stores), func(i int) error {
		return uncontended(func() error { return stores[i].Resume(c.Context(), queueSwitch("q")) })
	})
	equal(c, "paused", c.off(10), []domain.Switch{queueSwitch("r"), kindSwitch("q")})
	c.ok("pause", c.store.Pause(c.Context(), queueSwitch("q")))
	equal(c, "paused again", c.off(10), []domain.Switch{queueSwitch("q"), queueSwitch("r"), kindSwitch("q")})
}
