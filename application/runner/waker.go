package runner

import (
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	wakeBatch   = 200                    // keys in one call
	holdBatch   = 500                    // slots in one call
	expireBatch = 500                    // slots that one call frees
	expireGap   = 10 * time.Millisecond  // between two looks for slots that time frees, of a runner that gave some
	othersGap   = 500 * time.Millisecond // the same where others gave them
	wakeTries   = 3                      // at the end; then it is left to the sweep
	lastRecalls = 16                     // looks at the end for whoever else may have a slot that is free
)

// waker looks after what this runner freed: once that is written, whoever waits
// for it is made ready. While one call is in flight the next keys gather. It also
// frees what time alone frees, and keeps what handlers hold that run on longer
// than their rows say.
type waker struct {
	session *session
	mu      sync.Mutex
	keys    map[string]bool
	recall  recall
	recalls int              // at the end; the waker's own
	ends    []driven.Holding // slots to give back
	busy    bool             // a call is in flight
	soonest time.Duration    // when the next slot that this runner gave back for later is free; 0: none
	latest  time.Duration    // when the last one is
	owed    map[string]int   // slots of buckets that were given back since their keys were woken; the waker's own
	keep    bool             // slots must be kept, now
	rated   bool             // a job under a rate was admitted since the last look

	looked  time.Duration // when expired slots were looked for last
	next    time.Duration // when they shall be, as the store said
	kept    time.Duration // when slots were kept last
	within  deadline
	bell    chan struct{}
	closing chan struct{}
	ended   chan struct{}
}

func newWaker(s *session) *waker {
	return &waker{
		session: s, keys: make(map[string]bool), owed: make(map[string]int),
		bell: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
}

// add names keys at which something was freed, or may have been.
func (w *waker) add(keys ...string) {
	if len(keys) == 0 {
		return
	}
	w.mu.Lock()
	for _, key := range keys {
		w.keys[key] = true
	}
	w.mu.Unlock()
	ring(w.bell)
}

// freed is told of slots that were given back.
func (w *waker) freed(ends []domain.SlotEnd) {
	w.session.freed(ends)
	w.note(ends)
}

// note has those woken who wait for slots that were given back, at once or when time
// frees them.
func (w *waker) note(ends []domain.SlotEnd) {
	now := w.session.clock.now()
	w.mu.Lock()
	for _, end := range ends {
		if end.After == 0 {
			w.keys[end.Key] = true
			continue
		}
		at := now + end.After
		if w.latest = max(w.latest, at); w.soonest == 0 || at < w.soonest {
			w.soonest = at
		}
	}
	w.mu.Unlock()
	ring(w.bell)
}

// end gives back what an attempt still holds whose outcome does not.
func (w *waker) end(a *attempt) {
	ends := a.ends(w.session.clock.now())
	if len(ends) == 0 {
		return
	}
	owner := a.grip.get().owner
	a.grip.set(holding{})
	w.giveBackAll(owner, ends)
}

// giveBack gives back slots that no attempt has.
func (w *waker) giveBack(h holding) {
	ends := make([]domain.SlotEnd, len(h.slots))
	for i, slot := range h.slots {
		ends[i].Slot = slot.Slot
	}
	w.giveBackAll(h.owner, ends)
}

func (w *waker) giveBackAll(owner domain.Ticket, ends []domain.SlotEnd) {
	w.mu.Lock()
	for _, end := range ends {
		w.ends = append(w.ends, driven.Holding{Ticket: owner, Slot: end.Slot, For: end.After, End: true})
	}
	w.mu.Unlock()
	ring(w.bell)
}

// keepNow is told that a handler runs on under a claim that is over.
func (w *waker) keepNow() {
	w.mu.Lock()
	w.keep = true
	w.mu.Unlock()
	ring(w.bell)
}

// watch is told what an admitted job holds.
func (w *waker) watch(slots []domain.HeldSlot) {
	if !slices.ContainsFunc(slots, func(h domain.HeldSlot) bool { return h.Window > 0 }) {
		return
	}
	w.mu.Lock()
	w.rated = true
	w.mu.Unlock()
	ring(w.bell)
}

// idle says that nothing is left to wake.
func (w *waker) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.busy && len(w.keys) == 0 && len(w.ends) == 0
}

// close waits until everything is woken, a few tries at most.
func (w *waker) close() {
	close(w.closing)
	<-w.ended
}

func (w *waker) run() {
	defer close(w.ended)
	wait := backoff{first: 100 * time.Millisecond, cap: 2 * time.Second, jitter: true}
	for tries := 0; ; {
		bell, nap := w.bell, time.Duration(0)
		ok := w.pass()
		if ok {
			wait.reset()
			nap = w.nap()
		} else { // what failed is in the queue again, which is no reason to hurry
			bell, nap = nil, wait.next()
		}
		select {
		case <-w.closing:
			if !ok {
				tries++
			}
			if w.over() || tries > wakeTries || !rest(w.session.ctx, min(nap, time.Duration(tries)*expireGap)) {
				return
			}
			continue
		default:
		}
		timer := time.NewTimer(nap)
		select {
		case <-bell:
		case <-timer.C:
		case <-w.closing:
		case <-w.session.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// pass does what is due, and of what is to be woken one call: with every settle there is
// more, and what is held must be kept meanwhile. False where some of it failed.
func (w *waker) pass() bool {
	held := w.hold()
	expired := w.expire()
	return w.wake() && held && expired
}

// wake makes ready who waits for a key that is free.
func (w *waker) wake() bool {
	keys := w.take()
	if len(keys) == 0 {
		return true
	}
	defer w.rest()
	woken, err := inTime(&w.within, w.session, w.session.cfg.Lease, w.session.deps.Store.Wake, keys)
	if err != nil {
		w.session.fail("wake", "", err)
		if transient(err) { // else the sweep has them
			w.add(keys...)
		}
		w.share(keys, 0)
		return false
	}
	if woken.Jobs > 0 {
		w.lookAgain(keys)
	}
	w.spread(woken)
	w.share(keys, woken.Jobs)
	return true
}

// take gives some keys; whoever asks meanwhile learns that they are not woken yet.
func (w *waker) take() []string {
	now := w.session.clock.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recall.poll(now, w.session.cfg.Poll)
	from := w.keys
	w.recall.last = len(w.recall.due) > 0 && (len(from) == 0 || !w.recall.last)
	if w.recall.last { // in calls of their own: what they say is of none but these
		from = w.recall.due
	}
	keys := make([]string, 0, min(len(from), wakeBatch))
	for key := range from {
		if len(keys) == wakeBatch {
			break
		}
		keys = append(keys, key)
	}
	for _, key := range keys {
		delete(from, key)
	}
	w.busy = len(keys) > 0
	slices.Sort(keys)
	return keys
}

func (w *waker) rest() {
	w.mu.Lock()
	w.busy = false
	w.mu.Unlock()
	ring(w.session.changed)
}

// spread tells the lanes, here and elsewhere, where jobs were made ready.
func (w *waker) spread(woken driven.Woken) {
	s := w.session
	if len(woken.Queues) == 0 {
		return
	}
	if s.sleeps {
		for _, queue := range woken.Queues {
			s.hear(queue)
		}
	}
	if s.deps.Wake != nil {
		s.deps.Wake.Notify(woken.Queues...)
	}
}

// transient says that a call may work later.
func transient(err error) bool {
	switch domain.CodeOf(err) {
	case domain.Contended, domain.Unavailable, domain.Canceled:
		return true
	}
	return false
}
