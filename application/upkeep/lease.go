package upkeep

import (
	"cmp"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// For fits what is left open to runners of that lease and renewal interval (0 is
// a third of the lease): a crash is to be noticed in about the time that a lease
// takes to run out. The lease of 60 s gives the defaults.
func (c Config) For(lease, renew time.Duration) Config {
	half := min(30*time.Second, lease/2)
	c.Every = cmp.Or(c.Every, half)
	c.Renew = cmp.Or(c.Renew, renew, lease/3)
	if c.Stalls == (domain.StallPolicy{}) {
		c.Stalls = domain.DefaultStalls()
		c.Stalls.Base = half
	}
	return c
}
