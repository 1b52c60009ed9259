package conformance

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// The words that most cases use. A lease of `long` never runs out during a case.
const (
	queue    = "default"
	kind     = "test/job"
	runnerID = "runner-1"
	long     = time.Hour
	// patience bounds every wait on a condition; no case needs a part of it.
	patience = 30 * time.Second
)

// rig is one case at work: the test, a fresh store, and the words to speak with
// it. A word that meets an unexpected error ends the case.
type rig struct {
	testing.TB
	Harness
	store driven.Store
	made  *atomic.Uint64 // ids and tokens made so far
}

func newCase(t testing.TB, h Harness) *rig {
	return &rig{TB: t, Harness: h, store: h.Backend.Store, made: new(atomic.Uint64)}
}

// id makes a UUIDv7 whose order is the order of making.
func (c *rig) id() domain.JobID {
	var id domain.JobID
	n := c.made.Add(1)
	binary.BigEndian.PutUint64(id[:8], (1_700_000_000_000+n)<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], 1<<63|n)
	return id
}

// token makes a fresh token.
func (c *rig) token() domain.Token { return domain.Token(c.id()) }

// short is a span that a case can let pass: a minute of a test clock, else a
// fraction of a real second.
func (c *rig) short() time.Duration {
	if c.Advance != nil {
		return time.Minute
	}
	return 300 * time.Millisecond
}

// pass lets the span go by on the store's clock.
func (c *rig) pass(d time.Duration) {
	c.Helper()
	if c.Advance != nil {
		c.Advance(d)
		return
	}
	const slack = 20 * time.Millisecond // the store's clock need not run exactly as ours
	wait(d + slack)
}

// wait is for what only real time can do: it is never the wait for a condition.
func wait(d time.Duration) { <-time.After(d) }

// now is the store's own time, as a row that it writes shows it.
func (c *rig) now() time.Time {
	c.Helper()
	id := c.one(inQueue("clock"))
	made := c.get(id).CreatedAt
	c.wantNil("delete of the clock's row", c.delete(id)...)
	return made
}
