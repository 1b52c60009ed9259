package runner

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Queues names the queues to work and how many workers each has.
type Queues map[string]int

// Config says how a runner works. Zero fields take their default.
type Config struct {
	// Queues to work. Empty: every queue there is, in turn, with Concurrency workers.
	Queues      Queues
	Concurrency int // 10
	// Lanes names the lanes and how many workers each has: kinds that name a lane
	// (work.Lane) share those, for all the queues, and no others.
	Lanes map[string]int
	// Fair names the queues that serve their tenants in turn; in the others the
	// order is that of the queue alone, whoever has filled it.
	Fair []string

	Lease time.Duration // how long a claim is believed alive: 60 s
	Renew time.Duration // between renewals, at most a third of the lease: Lease/3
	Poll  time.Duration // the longest sleep between two looks: 1 s, or a quarter of a short lease

	// NoPrefetch claims only for free workers. Else, while recent runs are short,
	// a lane claims up to two more for each of its workers, at most what one of
	// them lately ran in 50 ms. They are leased: a crash strands them until the lease ends,
	// and a more urgent job that comes meanwhile waits for them.
	NoPrefetch bool

	StopTimeout time.Duration // how long Work waits for handlers once its context ended: 30 s
	// Unfinished is what becomes of a job whose handler has not ended by the deadline
	// of Stop: Release, or Abandon.
	Unfinished Unfinished
	// ExitsWithin is how long after that deadline this process is gone, whatever its
	// handlers do: a released job runs elsewhere once that is over. The lease.
	ExitsWithin time.Duration

	// Defaults for kinds and jobs that declare none.
	Retry   domain.RetryPolicy
	Keep    domain.Retention
	Timeout time.Duration // 0: none
}

// Unfinished is what becomes of jobs whose handlers outlast a Stop.
type Unfinished uint8

const (
	// Release gives the job back, the attempt unused, due when this process must be
	// gone; until then it keeps the places that it has under limits and turns.
	Release Unfinished = iota
	// Abandon leaves the job to its lease: a sweep puts it back and counts a stall.
	Abandon
)

// Bounds of the settings.
const (
	minLease       = 10 * time.Millisecond
	maxConcurrency = 10_000
)

// complete fills the defaults and refuses what cannot work.
func (c Config) complete() (Config, error) {
	c.Concurrency = cmp.Or(c.Concurrency, 10)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.Renew = cmp.Or(c.Renew, c.Lease/3)
	c.Poll = cmp.Or(c.Poll, min(time.Second, c.Lease/4))
	c.StopTimeout = cmp.Or(c.StopTimeout, 30*time.Second)
	c.ExitsWithin = cmp.Or(c.ExitsWithin, c.Lease)
	if c.Retry == (domain.RetryPolicy{}) {
		c.Retry = domain.DefaultRetry()
	}
	def := domain.DefaultRetention()
	c.Keep = domain.Retention{
		Done:      c.Keep.For(domain.Done, def),
		Dead:      c.Keep.For(domain.Dead, def),
		Cancelled: c.Keep.For(domain.Cancelled, def),
	}
	if err := c.check(); err != nil {
		return c, err
	}
	if err := c.Retry.Validate(); err != nil {
		return c, err
	}
	return c, c.Keep.Validate()
}

func (c Config) check() error {
	switch {
	case c.Lease < minLease || c.Lease > domain.MaxDelay:
		return unfit("Lease", "it is %v, it must be from %v to %v", c.Lease, minLease, domain.MaxDelay)
	case c.Renew <= 0 || 3*c.Renew > c.Lease:
		return unfit("Renew", "it is %v, it must be positive and at most a third of the lease of %v: one missed renewal must not lose the claim", c.Renew, c.Lease)
	case c.Poll <= 0 || c.Poll >= c.Lease:
		return unfit("Poll", "it is %v, it must be positive and below the lease of %v", c.Poll, c.Lease)
	case c.StopTimeout < 0:
		return unfit("StopTimeout", "it is %v, it must be positive", c.StopTimeout)
	case c.ExitsWithin < 0 || c.ExitsWithin > domain.MaxDelay/2:
		return unfit("ExitsWithin", "it is %v, it must be positive and at most %v", c.ExitsWithin, domain.MaxDelay/2)
	case c.Unfinished > Abandon:
		return unfit("Unfinished", "it is %d, it must be Release or Abandon", c.Unfinished)
	case c.Timeout < 0 || c.Timeout > domain.MaxDelay || c.Timeout > 0 && c.Timeout < time.Millisecond:
		return unfit("Timeout", "it is %v, it must be from 1ms to %v, or 0 for none", c.Timeout, domain.MaxDelay)
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return unfit("Concurrency", "it is %d, it must be from 1 to %d", c.Concurrency, maxConcurrency)
	}
	if err := crews("Queues", "queue", c.Queues); err != nil {
		return err
	}
	for _, queue := range c.Fair {
		if err := domain.ValidateName("queue", queue, domain.MaxQueue); err != nil {
			return err
		}
		if _, named := c.Queues[queue]; len(c.Queues) > 0 && !named {
			return unfit("Fair", "it names the queue %q, which is not among Queues", queue)
		}
	}
	return crews("Lanes", "lane", c.Lanes)
}

// crews checks how many workers each name has.
func crews(setting, what string, all map[string]int) error {
	for name, workers := range all {
		if err := domain.ValidateName(what, name, domain.MaxQueue); err != nil {
			return err
		}
		if workers < 1 || workers > maxConcurrency {
			return unfit(setting, "%s %q has %d workers, it must have from 1 to %d", what, name, workers, maxConcurrency)
		}
	}
	return nil
}

func unfit(setting, hint string, args ...any) error {
	return &domain.Fault{Code: domain.Invalid, Op: "check runner settings", Subject: setting, Hint: fmt.Sprintf(hint, args...)}
}
