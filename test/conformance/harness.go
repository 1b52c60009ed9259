package conformance

import (
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/ports/driven"
)

// Harness is an opened store with what lets the suite drive it. Only Backend is
// required; what stands for a capability is required where the backend has it.
type Harness struct {
	Backend driven.Backend

	// Advance moves the store's own clock forward, where the adapter has a test
	// clock (see Clock). Without it the suite uses short real leases and waits.
	Advance func(d time.Duration)

	// Begin opens a transaction of the host's on the same database. Required
	// where Backend.Tx is set.
	Begin func(t testing.TB) HostTx

	// Again opens one more handle on the same store, as another process would
	// (its own pool, its own connections). Optional: racing cases use it.
	Again func(t testing.TB) driven.Backend

	// Bare opens a fresh, empty store that is not installed yet; every call of
	// the returned function gives one more handle on it. Required where
	// Backend.Schema is set.
	Bare func(t testing.TB) func() driven.Backend

	// Faults breaks the store below the adapter. With it the faults category
	// runs; every adapter that can be broken should be.
	Faults Faults
}

// HostTx is an open transaction of the host's: the handle that the application
// passes through, and how the host ends it.
type HostTx struct {
	Tx       driven.HostTx
	Commit   func() error
	Rollback func() error
}

func asHarness(opened any) Harness {
	if b, ok := opened.(driven.Backend); ok {
		return Harness{Backend: b}
	}
	return opened.(Harness)
}

// Clock is a store's clock for tests: its Now goes into the adapter's config and
// its Advance into the Harness. It stands still until it is moved and starts far
// away from the machine's time, with a fraction of a millisecond that must be
// cut: a store that lets Go's time into a lease or a due predicate fails.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that stands in the year 2001.
func NewClock() *Clock {
	return &Clock{now: time.Date(2001, 2, 3, 4, 5, 6, 789_999_999, time.UTC)}
}

// Now is the moment at which the clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
