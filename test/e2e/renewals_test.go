package e2e

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// unheardVar makes a process of the crew one whose store mishears: how it drops renewals.
const unheardVar = "ROWLOCK_E2E_UNHEARD"

const (
	refuses  = "refuses"  // a renewal is an error
	swallows = "swallows" // it is answered as if it had been written
)

// openStore opens what a process of the crew works on.
func openStore(ctx context.Context, lease time.Duration) (*rowlock.Queue, error) {
	dsn, how := os.Getenv("ROWLOCK_STORE"), os.Getenv(unheardVar)
	if how == "" {
		return rowlock.Open(ctx, dsn)
	}
	backend, err := backends.Open(ctx, dsn, backends.Options{})
	if err != nil {
		return nil, err
	}
	backend.Store = &unheard{Store: backend.Store, how: how, lease: lease}
	return rowlock.New(backend)
}

// unheard drops what prolongs leases and slots for one lease of every three, and settles
// of three times once twice, and once with an answer that is lost.
type unheard struct {
	driven.Store
	how   string
	lease time.Duration

	mu      sync.Mutex
	since   time.Time // the first renewal
	settles int
}

func (u *unheard) drops() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since.IsZero() {
		u.since = time.Now()
	}
	return time.Since(u.since)%(3*u.lease) < u.lease
}

func lost(op string) error {
	return &domain.Fault{Code: domain.Unavailable, Op: op, Hint: "the test dropped it"}
}

func (u *unheard) Renew(ctx context.Context, req driven.RenewRequest) (driven.Renewed, error) {
	switch {
	case !u.drops():
		return u.Store.Renew(ctx, req)
	case u.how == swallows:
		return driven.Renewed{}, nil
	}
	return driven.Renewed{}, lost("renew")
}

func (u *unheard) Hold(ctx context.Context, all []driven.Holding) error {
	if u.drops() {
		return lost("hold slots")
	}
	return u.Store.Hold(ctx, all)
}

func (u *unheard) Settle(ctx context.Context, all []driven.Outcome) (driven.Settled, error) {
	u.mu.Lock()
	turn := u.settles % 3
	u.settles++
	u.mu.Unlock()
	answer, err := u.Store.Settle(ctx, all)
	switch {
	case err != nil || turn == 0:
		return answer, err
	case turn == 1:
		return driven.Settled{}, lost("settle")
	}
	return u.Store.Settle(ctx, all)
}

// TestLimitsThroughLostRenewals: what prolongs leases is dropped for one lease again and
// again, outcomes are written twice, and some handlers heed neither their context nor
// their timeout. All that run at one time are counted, those of lost claims too.
func TestLimitsThroughLostRenewals(t *testing.T) { onEveryStore(t, testLimitsThroughLostRenewals) }

func testLimitsThroughLostRenewals(t *testing.T, b *box) {
	const limit, keys, lease = 2, 2, 4 * time.Second
	deaf := 2
	if stress() {
		deaf = 6
	}
	for range rounds() {
		g, jobs := newGauge(t), b.shortened(400)
		overdue := func(int) []enqueue.Option {
			return []enqueue.Option{enqueue.Timeout(time.Second), enqueue.MaxAttempts(1)}
		}
		long := int(lease.Milliseconds())
		enqueueAll(b, limited(deaf, keys, 3*long), overdue) // dead while their handlers run
		enqueueAll(b, pooled(deaf/2, 3*long), overdue)
		enqueueAll(b, limited(deaf, keys, long), nil) // long enough for some to lose their leases
		enqueueAll(b, pooled(deaf/2, long), nil)
		enqueueAll(b, limited(jobs/2, keys, 20), nil)
		enqueueAll(b, pooled(jobs/2, 20), nil)
		all := jobs/2*2 + 3*deaf
		crew := append(b.with(unheardVar+"="+refuses).crew(g, 2, limit, lease), b.with(unheardVar+"="+swallows).crew(g, 2, limit, lease)...)
		eventually(t, "every job is over", func() bool { n := b.stats().Totals; return n.Done+n.Dead >= all })
		slots := map[string]string{pool: "l:pooled:"}
		for i := range keys {
			key := fmt.Sprint("k", i)
			slots[key] = "l:limited:" + key
		}
		eventually(t, "no slot is held", func() bool {
			held := map[string]int{}
			for _, h := range read[limits](t, b.ok("limits", "--json")).Held {
				held[h.Key]++
			}
			for key, slot := range slots {
				if n := g.running(key); n > held[slot] { // nobody starts any more: they ran all the while
					t.Fatalf("%d of %s run with %d slots", n, key, held[slot])
				}
			}
			return len(held) == 0
		})
		dismiss(crew)
		for key := range slots {
			if most := g.highest(key); most > limit {
				t.Errorf("%d of %s ran at one time under a limit of %d", most, key, limit)
			}
		}
		checkFaults(t, g, b.stats().Totals, deaf)
		b.ok("jobs", "delete", "--all", "--state", "done")
		b.ok("jobs", "delete", "--all", "--state", "dead")
	}
}

// checkFaults: a campaign in which nothing went wrong shows nothing.
func checkFaults(t *testing.T, g *gauge, n tally, deaf int) {
	t.Helper()
	again := 0
	for _, runs := range g.runs() {
		again += runs - 1
	}
	t.Logf("%d done, %d dead, %d ran again", n.Done, n.Dead, again)
	if again == 0 {
		t.Error("no lease was lost")
	}
	if n.Dead < deaf/2 || n.Dead > 3*deaf {
		t.Errorf("%d are dead, those of %d handlers that outlive their timeouts should be", n.Dead, deaf+deaf/2)
	}
}
