package upkeep

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Config says how often and how. Zero fields take their default.
type Config struct {
	Every      time.Duration // between two recoveries: 30 s
	Renew      time.Duration // the renewal interval of the runners: two thirds of Every
	PruneEvery time.Duration // between two prunings: 5 min
	PruneBatch int           // rows of one pass: 1,000
	PrunePause time.Duration // between two passes of the loop, so that claims keep their speed: 300 ms, or ten times what a pass took
	NoPrune    bool          // the loop leaves pruning to others
	Linger     time.Duration // how long slots of claims that are gone stay taken, for their handlers may run on: the lease, or twice Every
	Stalls     domain.StallPolicy
	Keep       domain.Retention // for rows that die here and have no retention of their own
}

func (c Config) complete() (Config, error) {
	c.Every = cmp.Or(c.Every, 30*time.Second)
	c.Renew = cmp.Or(c.Renew, c.Every*2/3)
	c.PruneEvery = cmp.Or(c.PruneEvery, 5*time.Minute)
	c.PruneBatch = cmp.Or(c.PruneBatch, 1000)
	c.PrunePause = cmp.Or(c.PrunePause, 300*time.Millisecond)
	c.Linger = cmp.Or(c.Linger, 2*c.Every)
	def := domain.DefaultStalls()
	if c.Stalls == (domain.StallPolicy{}) {
		c.Stalls = def
	}
	c.Stalls.Base = cmp.Or(c.Stalls.Base, def.Base)
	c.Stalls.Cap = cmp.Or(c.Stalls.Cap, max(def.Cap, c.Stalls.Base))
	c.Keep.Dead = c.Keep.For(domain.Dead, domain.DefaultRetention())
	return c, c.check()
}

func (c Config) check() error {
	const least, most = time.Millisecond, 24 * time.Hour
	switch {
	case c.Every < least || c.Every > most:
		return unfit("Every", "it is %v, it must be from %v to %v", c.Every, least, most)
	case c.Renew < 0 || c.Renew > most:
		return unfit("Renew", "it is %v, it must be from 0 to %v", c.Renew, most)
	case c.Linger < 0 || c.Linger > domain.MaxDelay:
		return unfit("Linger", "it is %v, it must be from 0 to %v", c.Linger, domain.MaxDelay)
	case c.PruneEvery < least || c.PruneEvery > most:
		return unfit("PruneEvery", "it is %v, it must be from %v to %v", c.PruneEvery, least, most)
	case c.PruneBatch < 1 || c.PruneBatch > 100_000:
		return unfit("PruneBatch", "it is %d, it must be from 1 to 100000", c.PruneBatch)
	case c.PrunePause < 0 || c.PrunePause > most:
		return unfit("PrunePause", "it is %v, it must be from 0 to %v", c.PrunePause, most)
	case c.Stalls.Base <= 0 || c.Stalls.Cap < c.Stalls.Base || c.Stalls.Cap > domain.MaxDelay:
		return unfit("Stalls", "the waits are %v to %v, they must be positive and rise to at most %v", c.Stalls.Base, c.Stalls.Cap, domain.MaxDelay)
	case c.Stalls.Max < 0:
		return unfit("Stalls", "Max is %d, it must be 0 or more", c.Stalls.Max)
	}
	return c.Keep.Validate()
}

func unfit(setting, hint string, args ...any) error {
	return &domain.Fault{Code: domain.Invalid, Op: "check upkeep settings", Subject: setting, Hint: fmt.Sprintf(hint, args...)}
}
