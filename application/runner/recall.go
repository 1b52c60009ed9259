package runner

import (
	"maps"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	recallMost = time.Second // between two polls
	walkFirst  = 128         // jobs that are tried of a line in a second
	walkMost   = 1 << 20     // the same once it has doubled and doubled: no bound of any line
)

// recall has keys of limits and rates woken once more at a later poll. Its waker's
// lock is held by who calls it.
type recall struct {
	later map[string]bool // at the next poll
	due   map[string]bool // now
	last  bool            // the last call was of those
	at    time.Duration   // of the next poll
	walks map[string]*walk
}

// walk goes along the line of a key that is free while those who wait there lack
// something else.
type walk struct {
	most    int  // jobs in a second
	left    int  // of this poll
	started bool // so did somebody at the key in this poll
	still   bool // nobody was tried in this poll
}

// begin gives a poll its part of a second.
func (w *walk) begin(every time.Duration) {
	w.left = max(int(time.Duration(w.most)*min(every, recallMost)/recallMost), 1)
	w.started, w.still = false, true
}

// add notes a key for the next poll.
func (r *recall) add(key string, now, poll time.Duration) {
	if len(r.later) == 0 {
		r.later, r.at = make(map[string]bool), now+min(poll, recallMost)
	}
	r.later[key] = true
}

// step says whether others of the key's line are tried at once, after n that found
// it free.
func (r *recall) step(key string, n int, poll time.Duration) bool {
	w := r.walks[key]
	if w == nil {
		if r.walks == nil {
			r.walks = make(map[string]*walk)
		}
		w = &walk{most: walkFirst}
		w.begin(poll)
		r.walks[key] = w
	}
	w.still = false
	w.left -= n
	return w.left > 0
}

// poll begins the next poll if it is time. A walk that came to nobody who could start
// goes twice as far in the next one; one that tried nobody is over.
func (r *recall) poll(now, every time.Duration) {
	if len(r.due) > 0 || now < r.at || len(r.later) == 0 && len(r.walks) == 0 {
		return
	}
	r.due, r.later, r.at = r.later, nil, now+min(every, recallMost)
	for key, w := range r.walks {
		switch {
		case w.still:
			delete(r.walks, key)
		case w.left <= 0 && !w.started:
			w.most = min(2*w.most, walkMost)
		default:
			w.most = walkFirst
		}
		w.begin(every)
	}
}

// start is told of a slot that a job was given.
func (r *recall) start(key string) {
	if w := r.walks[key]; w != nil {
		w.started = true
	}
}

// next is when there is something to do.
func (r *recall) next(now time.Duration) time.Duration {
	switch {
	case len(r.due) > 0:
		return now
	case len(r.later) > 0 || len(r.walks) > 0:
		return r.at
	}
	return now + driven.NoNext
}

// lookAgain has keys of limits and rates woken once more at the next poll: who was made
// ready may not be claimed soon, in a queue that is busy or of a kind that is paused, and
// others that wait for the key may. A turn is the first's alone.
func (w *waker) lookAgain(keys []string) {
	now, poll := w.session.clock.now(), w.session.cfg.Poll
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if !ofTurn(key) {
			w.recall.add(key, now, poll)
		}
	}
}

// missed is told what an admission said. What those lacked who were parked may have been
// freed before that: it is woken at once, and so are the keys of who lacks a turn, for that
// one comes back alone. Who lacks only the one of a limit and a rate leaves the other to
// whoever waits there; but mostly these lack the same, and a whole backlog would go
// from one line to the other with every slot. So of such a line some are tried in each
// second, and twice as many in the next poll where nobody can start.
func (w *waker) missed(wants []driven.Want, answer driven.Admission) {
	now, poll := w.session.clock.now(), w.session.cfg.Poll
	free := w.session.foundFree(wants, answer.Parked)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range answer.Admitted {
		for _, slot := range answer.Admitted[i].Slots {
			w.recall.start(slot.Key)
		}
	}
	for _, key := range answer.Wake {
		if n := free[key]; n > 0 && !w.recall.step(key, n, poll) {
			w.recall.add(key, now, poll)
			continue
		}
		w.keys[key] = true
	}
	if len(answer.Wake) > 0 {
		ring(w.bell)
	}
}

// foundFree counts the parked jobs that lacked only another limit or rate than this one.
func (s *session) foundFree(wants []driven.Want, parked []driven.Parking) map[string]int {
	if len(parked) == 0 {
		return nil
	}
	free, lacks := map[string]int{}, make(map[domain.JobID]string, len(parked))
	for _, p := range parked {
		if !ofTurn(p.Key) {
			lacks[p.ID] = p.Key
		}
	}
	for i := range wants {
		key, some := lacks[wants[i].Ticket.ID]
		for _, other := range s.asked(wants[i]) {
			if some && other != key {
				free[other]++
			}
		}
	}
	for _, key := range lacks {
		delete(free, key) // another one found it full
	}
	return free
}

// over says at the end that nobody is left to be woken, and nobody to be looked for.
func (w *waker) over() bool {
	if !w.idle() {
		return false
	}
	if w.recalls == lastRecalls || !w.recallNow() {
		return true
	}
	w.recalls++
	return false
}

// recallNow has all keys woken that wait for the next poll; false where there are none.
func (w *waker) recallNow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.keys)
	maps.Copy(w.keys, w.recall.later)
	maps.Copy(w.keys, w.recall.due)
	w.recall.later, w.recall.due = nil, nil
	ring(w.bell)
	return len(w.keys) > n
}

// ofTurn says that a key is a mutex or a chain.
func ofTurn(key string) bool {
	k, ok := domain.ParseBoundKey(key)
	return ok && k.Sort.Turns()
}
