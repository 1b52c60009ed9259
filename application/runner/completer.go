package runner

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	settleBatch = claimMost            // outcomes in one write: what one claim gave is settled while the next one is under way
	gatherMost  = 2 * time.Millisecond // how long a write waits for jobs that are about to end
	backlogFull = 2 * settleBatch      // unwritten outcomes at which lanes stop claiming
)

// settling is one outcome on its way into the store.
type settling struct {
	attempt *attempt
	outcome driven.Outcome
	event   domain.EventType
	err     error // the handler's
	unmade  error // why the failure job that it should have cannot be built
}

// completer writes outcomes. While one write is in flight the next ones gather,
// and while short jobs wait for a worker for a moment longer: one large write
// costs less than two. An idle runner writes at once. A write that fails is tried until the store
// takes it or says that the claim is gone: a result that is there is never
// turned into a failure.
type completer struct {
	session *session
	mu      sync.Mutex
	queue   []settling // has the room of one batch, and more while there is a backlog
	batch   []settling // what is being written
	backlog atomic.Int64
	within  deadline
	bell    chan struct{} // there is something to write
	lull    chan struct{} // no job waits for a worker, or a whole write is there
	closing chan struct{}
	ended   chan struct{}
}

func newCompleter(s *session) *completer {
	return &completer{session: s, bell: make(chan struct{}, 1), lull: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{})}
}

func (c *completer) add(s settling) {
	c.mu.Lock()
	if c.queue == nil {
		c.queue = make([]settling, 0, settleBatch)
	}
	c.queue = append(c.queue, s)
	n := len(c.queue)
	c.mu.Unlock()
	c.backlog.Add(1)
	switch n {
	case 1:
		ring(c.bell)
	case settleBatch:
		ring(c.lull)
	}
}

// linger waits for short jobs that are about to end.
func (c *completer) linger() {
	if !c.more() {
		return
	}
	timer := time.NewTimer(gatherMost)
	defer timer.Stop()
	for c.more() {
		select {
		case <-c.lull:
		case <-timer.C:
			return
		case <-c.session.quit:
			return
		}
	}
}

// more says that a write would be larger in a moment.
func (c *completer) more() bool {
	c.mu.Lock()
	n := len(c.queue)
	c.mu.Unlock()
	return 0 < n && n < settleBatch && c.session.brisk()
}

func (c *completer) full() bool { return c.backlog.Load() >= backlogFull }

// close waits until everything is written, or the session's context ended.
func (c *completer) close() {
	close(c.closing)
	<-c.ended
}

func (c *completer) run() {
	defer close(c.ended)
	wait := backoff{first: 100 * time.Millisecond, cap: 2 * time.Second}
	for {
		c.linger()
		batch := c.gather()
		if batch == nil {
			select {
			case <-c.bell:
				continue
			case <-c.session.ctx.Done():
				return
			case <-c.closing:
				if batch = c.gather(); batch == nil {
					return
				}
			}
		}
		again := c.write(batch)
		c.putBack(again)
		clear(batch) // nothing of it is needed any more
		if len(again) == 0 {
			wait.reset()
			continue
		}
		if !rest(c.session.ctx, wait.next()) {
			return
		}
	}
}

// gather takes what waits, at most one batch. The room of a backlog goes with it, so that
// what an idle runner holds is the same whatever it has done.
func (c *completer) gather() []settling {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.queue), settleBatch)
	if n == 0 {
		return nil
	}
	if c.batch == nil {
		c.batch = make([]settling, 0, settleBatch)
	}
	c.batch = append(c.batch[:0], c.queue[:n]...)
	c.queue = slices.Delete(c.queue, 0, n) // clears what it leaves
	if len(c.queue) == 0 && cap(c.queue) > settleBatch {
		c.queue = nil
	}
	return c.batch
}

func (c *completer) putBack(again []settling) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, again...)
}

// writePart stores a part of a batch. One that is refused for what is in it is halved
// until the bad outcome stands alone.
func (c *completer) writePart(batch []settling) (again []settling) {
	s := c.session
	answer, err := inTime(&c.within, s, s.cfg.Lease, c.settle, batch)
	if err == nil {
		c.written(batch, answer)
		return nil
	}
	if s.ctx.Err() != nil {
		return batch
	}
	s.fail("settle", "", err)
	if len(batch) == 1 || transient(err) {
		return batch
	}
	half := len(batch) / 2
	return append(c.writePart(batch[:half:half]), c.writePart(batch[half:])...)
}

// settle writes the outcomes. What handlers that run on hold, or others who were
// given it, is kept before the rows say that they do not run: nobody must find it
// without an owner in between.
func (c *completer) settle(ctx context.Context, batch []settling) (driven.Settled, error) {
	s := c.session
	var keep []driven.Holding
	for i := range batch {
		if a := batch[i].attempt; a.grip != nil {
			keep = append(keep, a.outlasting(s.span())...)
		}
	}
	if len(keep) > 0 {
		if err := s.deps.Store.Hold(ctx, keep); err != nil {
			return driven.Settled{}, err
		}
	}
	return s.deps.Store.Settle(ctx, fill(batch, s.clock.now()))
}

func (c *completer) written(batch []settling, answer driven.Settled) {
	s := c.session
	gone, refused := setOf(answer.Dropped), setOf(answer.Refused)
	for i := range batch { // before it looks as if all were over
		done := &batch[i]
		if len(done.outcome.Slots) > 0 {
			s.waker.freed(done.outcome.Slots)
		}
		if job := &done.attempt.claim.Job; !job.Batch.IsZero() && done.outcome.To.Terminal() && !gone[job.ID] {
			s.finisher.add(job.Batch)
		}
	}
	s.held.settle(batch, s.waker.end)
	was := c.backlog.Add(-int64(len(batch))) + int64(len(batch))
	for i := range batch {
		id := batch[i].attempt.claim.Job.ID
		s.tell(&batch[i], gone[id])
		if gone[id] {
			continue
		}
		s.rouse(&batch[i])
		if batch[i].outcome.To == domain.Dead {
			s.bereaved(&batch[i], refused[id])
		}
	}
	if was >= backlogFull {
		for _, l := range s.lanes {
			ring(l.hungry)
		}
	}
	ring(s.changed)
}

func setOf(ids []domain.JobID) map[domain.JobID]bool {
	if len(ids) == 0 {
		return nil
	}
	set := make(map[domain.JobID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// rouse makes the lane look again when an outcome comes due before its next poll:
// the sleep that it may be in was measured before that was written. A drain must
// not hear of it: its two quiet rounds look at every queue.
func (s *session) rouse(done *settling) {
	if out := &done.outcome; s.sleeps && out.To == domain.Scheduled && out.After < s.cfg.Poll {
		done.attempt.lane.wake(done.attempt.claim.Job.Queue)
	}
}

// tell counts and reports one outcome that is stored, or was dropped.
func (s *session) tell(done *settling, dropped bool) {
	what := done.event
	if dropped {
		what = domain.EventOutcomeDropped
	}
	if int(what) < counters {
		s.counts[what].Add(1)
	}
	if s.deps.Observer == nil {
		return
	}
	e := done.attempt.event(what)
	e.Ran, e.Err = done.outcome.Ran, done.err
	if !dropped {
		e.Delay = done.outcome.After
	}
	s.observe(e)
}

// counters is the size of an array indexed by the events of an attempt's end.
const counters = int(domain.EventCancelled) + 1
