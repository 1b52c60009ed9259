package upkeep_test

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
)

func TestUpkeepFollowsTheLease(t *testing.T) {
	stalls := func(base time.Duration) domain.StallPolicy {
		return domain.StallPolicy{Base: base, Cap: time.Hour, Max: 3}
	}
	own := upkeep.Config{Every: time.Second, Renew: 2 * time.Second, Linger: time.Hour, Stalls: domain.StallPolicy{Max: 9}}
	cases := map[string]struct {
		config       upkeep.Config
		lease, renew time.Duration
		want         upkeep.Config
	}{
		"the default lease": {upkeep.Config{}, 0, 0, upkeep.Config{Every: 30 * time.Second, Renew: 20 * time.Second, Linger: time.Minute, Stalls: stalls(30 * time.Second)}},
		"a short one":       {upkeep.Config{}, 2 * time.Second, 500 * time.Millisecond, upkeep.Config{Every: time.Second, Renew: 500 * time.Millisecond, Linger: 2 * time.Second, Stalls: stalls(time.Second)}},
		"a long one":        {upkeep.Config{}, time.Hour, 0, upkeep.Config{Every: 30 * time.Second, Renew: 20 * time.Minute, Linger: time.Hour, Stalls: stalls(30 * time.Second)}},
		"all set":           {own, time.Minute, time.Second, own},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.config.For(c.lease, c.renew); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
