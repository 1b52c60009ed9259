package runner

import (
	"slices"
	"time"
)

// passMost is how long a slot may go from job to job before it is given back. So long
// a limit that was lowered waits for this runner, and who waits for the slot elsewhere.
const passMost = 100 * time.Millisecond

// late says that a slot shall go from job to job no more. Half of a runner's are late at
// one moment, and the others half of passMost later: so they are given back, and asked for
// anew, in two calls instead of one each, and never all are away.
func (h holding) late(now time.Duration) bool {
	half := time.Duration(h.slots[0].Index%2) * passMost / 2
	return (h.since+half)/passMost != (now+half)/passMost
}

// leaveTime is how long a slot that was given back is left to who was woken for it: the
// runner's own jobs are close by and would always be first.
const leaveTime = 20 * time.Millisecond

// pass hands the slot of an attempt whose handler is gone to the first of its kind who
// waits here for one of the same bucket: by now the store may have other kinds of the group
// under another limit. Or it lays it by for who is claimed in a moment. The store
// hears nothing of it: there the slot stays taken, under the ticket of the job that took
// it, until the last who has it gives it back.
func (s *session) pass(a *attempt) {
	if a.grip == nil {
		return
	}
	b, h, now := a.plan.bucket, a.grip.get(), s.clock.now()
	one := b != nil && len(h.slots) == 1 && s.buckets[h.slots[0].Key] == b
	if one && !h.late(now) && !s.stopping() && !s.doubtful(a, now) {
		a.grip.pass(a.claim.Ticket()) // first: with two of them it could be prolonged in the write that gives it back
		if a.lane.hand(h, b) {
			b.pass(now)
		} else {
			a.grip.back(h)
		}
	}
	if a.borrows() { // the row of another job stands for it: no need to wait for this one's outcome
		s.waker.end(a)
	}
}

// hand gives a slot to somebody here, now or in a moment.
func (l *lane) hand(h holding, b *bucket) bool {
	if l.bequeath(h, b) {
		return true
	}
	if l.awaits(b) || !l.plenty.Load() || l.prefetch() == 0 || !b.lay(h) { // without a prefetch nobody waits here: who is claimed asks the store
		return false
	}
	ring(l.called)
	return true
}

// bequeath gives a slot to the first who waits for one of the bucket and is still
// wanted.
func (l *lane) bequeath(h holding, b *bucket) bool {
	for heir := l.heir(b, h.kind); heir != nil; heir = l.heir(b, h.kind) {
		heir.grip.set(h)
		if !heir.move(admitting, waiting) {
			heir.grip.set(holding{})
			l.refuse(heir)
			continue
		}
		l.session.claimed(heir)
		if !l.line.put([]*attempt{heir}) { // the runner stops
			l.refuse(heir)
		}
		return true
	}
	return false
}

// heir takes out the first of the kind who waits for a slot of the bucket.
func (l *lane) heir(b *bucket, kind string) *attempt {
	l.ante.mu.Lock()
	defer l.ante.mu.Unlock()
	line := l.ante.lines[b]
	at := slices.IndexFunc(line, func(a *attempt) bool { return a.claim.Job.Kind == kind })
	if at < 0 {
		return nil
	}
	first := line[at]
	copy(line[1:], line[:at]) // the others keep their order; mostly there are none before it
	line[0] = nil
	if l.ante.lines[b] = line[1:]; len(line) == 1 {
		delete(l.ante.lines, b)
	}
	l.ante.size--
	return first
}

// lend gives what was laid by to who waits here, or back if it was out for too long.
func (l *lane) lend() {
	s := l.session
	for _, b := range l.buckets {
		for h, some := b.unlay(); some; h, some = b.unlay() {
			late := h.late(s.clock.now())
			if !late && l.bequeath(h, b) {
				continue
			}
			if late || l.awaits(b) || !b.lay(h) {
				s.waker.giveBack(h)
				continue
			}
			break // nobody waits, of whatever kind
		}
	}
}

// laidFor is how long what is laid by may stay so; where that is nothing, as long as
// any sleep.
func (l *lane) laidFor() time.Duration {
	for _, b := range l.buckets {
		if b.lies() {
			return passMost
		}
	}
	return l.session.cfg.Poll
}

// spend gives back what was laid by: there is nobody who can use it.
func (l *lane) spend() {
	for _, b := range l.buckets {
		for h, some := b.unlay(); some; h, some = b.unlay() {
			l.session.waker.giveBack(h)
		}
	}
}

// lay keeps a slot for who is claimed in a moment; not once the runner stops.
func (b *bucket) lay(h holding) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.laid = append(b.laid, h)
	return true
}

func (b *bucket) unlay() (h holding, some bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.laid)
	if n == 0 {
		return h, false
	}
	h, b.laid = b.laid[n-1], b.laid[:n-1]
	return h, true
}

func (b *bucket) lies() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.laid) > 0
}

// close ends the laying by.
func (b *bucket) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
