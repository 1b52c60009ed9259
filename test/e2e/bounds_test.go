package e2e

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
)

func limited(n, keys, hold int) []Limited {
	all := make([]Limited, n)
	for i := range all {
		all[i] = Limited{Key: fmt.Sprint("k", i%keys), Hold: hold}
	}
	return all
}

// longLease is one that a busy machine does not lose.
const longLease = 30 * time.Second

// rounds of a campaign: 20 in its long form.
func rounds() int {
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		return 20
	}
	return 1
}

// shortened is so many jobs in the long form of a campaign; else enough to see two
// processes meet.
func (b *box) shortened(all int) int {
	switch {
	case os.Getenv("ROWLOCK_STRESS") == "1":
		return all
	case b.store.own:
		return all / 3
	}
	return all / 8
}

// sizes are all of them in the long form of a campaign and on a file; else the
// second one.
func (b *box) sizes(all ...int) []int {
	if b.store.own || os.Getenv("ROWLOCK_STRESS") == "1" {
		return all
	}
	return all[1:2]
}

// pool is the one key of jobs whose kind has a limit for all of it.
const pool = "pool"

func pooled(n, hold int) []Pooled {
	all := make([]Pooled, n)
	for i := range all {
		all[i] = Pooled{Limited{Key: pool, Hold: hold}}
	}
	return all
}

// TestLimits has four processes of 16 workers hold to limits, on their own word: half of
// the jobs under the limit of a key, half under one that a runner passes on.
func TestLimits(t *testing.T) { onEveryStore(t, testLimits) }

func testLimits(t *testing.T, b *box) {
	for round := range rounds() {
		for _, limit := range b.sizes(1, 2, 7) {
			g := newGauge(t)
			jobs, hold := b.shortened(500), 10 // ms in which two meet also on a busy machine
			enqueueAll(b, limited(jobs/2, 1, hold), nil)
			enqueueAll(b, pooled(jobs-jobs/2, hold), nil)
			crew := b.crew(g, 4, limit, longLease)
			eventually(t, "every job is done", func() bool { return b.stats().Totals.Done >= jobs })
			dismiss(crew)
			for _, key := range []string{"k0", pool} {
				most := g.highest(key)
				if most > limit || limit > 1 && most < 2 {
					t.Errorf("at most %d of %s ran at one time under a limit of %d", most, key, limit)
				}
				t.Logf("round %d: at most %d of %s under a limit of %d", round, most, key, limit)
			}
			checkOnce(t, g, jobs)
			b.ok("jobs", "delete", "--all", "--state", "done")
		}
	}
}

func checkOnce(t *testing.T, g *gauge, jobs int) {
	t.Helper()
	runs := g.runs()
	if len(runs) != jobs {
		t.Errorf("%d of %d jobs ran", len(runs), jobs)
	}
	for id, n := range runs {
		if n != 1 {
			t.Errorf("job %s ran %d times", id, n)
		}
	}
}

// TestLimitsThroughKills: two of four processes are killed and replaced while their
// handlers hold slots.
func TestLimitsThroughKills(t *testing.T) { onEveryStore(t, testLimitsThroughKills) }

func testLimitsThroughKills(t *testing.T, b *box) {
	for range rounds() {
		const limit, keys, lease = 2, 3, 2 * time.Second
		g, jobs := newGauge(t), b.shortened(400)
		enqueueAll(b, limited(jobs-jobs/4, keys, 20), nil)
		enqueueAll(b, pooled(jobs/4, 20), nil)
		crew := b.crew(g, 4, limit, lease)
		eventually(t, "handlers run", func() bool { return len(g.runs()) >= jobs/10 })
		for i := range 2 {
			crew[i].signal(syscall.SIGKILL)
			<-crew[i].ended
			crew[i] = b.hire(g, limit, lease)
		}
		eventually(t, "every job is done", func() bool { return b.stats().Totals.Done >= jobs })
		eventually(t, "no slot is held", func() bool { return len(read[limits](t, b.ok("limits", "--json")).Held) == 0 })
		dismiss(crew)
		for i := range keys + 1 {
			key := pool
			if i < keys {
				key = fmt.Sprint("k", i)
			}
			if most := g.highest(key); most > limit {
				t.Errorf("%d of %s ran at one time under a limit of %d", most, key, limit)
			}
		}
		b.ok("jobs", "delete", "--all", "--state", "done")
	}
}

// limits is what rowlock limits --json says.
type limits struct {
	Held []struct {
		Key string `json:"key"`
	} `json:"held"`
}

// TestRate looks at every window of a log of starts.
func TestRate(t *testing.T) { onEveryStore(t, testRate) }

func testRate(t *testing.T, b *box) {
	g := newGauge(t)
	const jobs = 4 * rateN
	all := make([]Rated, jobs)
	for i := range all {
		all[i] = Rated{Limited{Key: "r"}}
	}
	enqueueAll(b, all, nil)
	crew := b.crew(g, 4, 1, longLease)
	eventually(t, "every job is done", func() bool { return b.stats().Totals.Done >= jobs })
	dismiss(crew)
	checkOnce(t, g, jobs)
	checkRate(t, g.starts("r"), rateN, rateWindow)
}

// startSlack is how much later than it was noted a handler may look at the clock.
const startSlack = 100 * time.Millisecond

func checkRate(t *testing.T, starts []time.Time, n int, window time.Duration) {
	t.Helper()
	for i := n; i < len(starts); i++ {
		// A handler looks at the clock a moment after its start was noted, and some
		// moments are longer than others.
		if gap := starts[i].Sub(starts[i-n]); gap < window-startSlack {
			t.Errorf("starts %d to %d lie within %v", i-n, i, gap)
		}
	}
}

// TestLimitAndRate: jobs that have a limit, a rate and, some of them, a turn, while now
// the one and now the other is what they lack.
func TestLimitAndRate(t *testing.T) { onEveryStore(t, testLimitAndRate) }

func testLimitAndRate(t *testing.T, b *box) {
	const limit = 2
	for range rounds() {
		g, jobs := newGauge(t), b.shortened(320)
		all := make([]Both, jobs)
		for i := range all {
			hold := 1
			if i%15 == 0 {
				hold = 700
			}
			all[i] = Both{Limited{Key: "both", Hold: hold}}
		}
		enqueueAll(b, all, func(i int) []enqueue.Option {
			if i%2 == 0 {
				return nil
			}
			return []enqueue.Option{enqueue.Mutex(fmt.Sprint("m", i%3))}
		})
		crew := b.crew(g, 4, limit, longLease)
		eventually(t, "every job is done", func() bool { return b.stats().Totals.Done >= jobs })
		dismiss(crew)
		checkOnce(t, g, jobs)
		checkRate(t, g.starts("both"), bothN, bothWindow)
		if most := g.highest("both"); most > limit {
			t.Errorf("%d ran at one time under a limit of %d", most, limit)
		}
		b.ok("jobs", "delete", "--all", "--state", "done")
	}
}

// TestChains: jobs of a chain run one after the other and in order, on four processes.
func TestChains(t *testing.T) { onEveryStore(t, testChains) }

func testChains(t *testing.T, b *box) {
	g, jobs := newGauge(t), b.shortened(300)
	all := make([]Keyed, jobs)
	for i := range all {
		all[i] = Keyed{Limited{Key: fmt.Sprint("c", i%3)}}
	}
	enqueueAll(b, all, func(i int) []enqueue.Option { return []enqueue.Option{enqueue.Chain(all[i].Key)} })
	crew := b.crew(g, 4, 1, longLease)
	eventually(t, "every job is done", func() bool { return b.stats().Totals.Done >= jobs })
	dismiss(crew)
	checkOnce(t, g, jobs)
	last := map[string]string{}
	for _, v := range g.visits {
		if v.Job <= last[v.Key] {
			t.Errorf("chain %s: %s ran after %s", v.Key, v.Job, last[v.Key])
		}
		last[v.Key] = v.Job
		if g.highest(v.Key) > 1 {
			t.Fatalf("two of chain %s ran at one time", v.Key)
		}
	}
}
