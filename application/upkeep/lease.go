package upkeep

import (
	"cmp"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// For fits what is left open to runners of that lease (0: 60 s, as theirs) and
// renewal interval (0: a third of it): a crash is to be noticed in about the time
// that a lease takes to run out.
func (c Config) For(lease, renew time.Duration) Config {
	lease = cmp.Or(lease, time.Minute)
	half := min(30*time.Second, lease/2)
	c.Every = cmp.Or(c.Every, half)
	c.Renew = cmp.Or(c.Renew, renew, lease/3)
	c.Linger = cmp.Or(c.Linger, lease)
	if c.Stalls == (domain.StallPolicy{}) {
		c.Stalls = domain.DefaultStalls()
		c.Stalls.Base = half
	}
	return c
}
