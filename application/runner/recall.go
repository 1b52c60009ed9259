package runner

import (
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// recall has keys of limits and rates woken once more at a later poll. Its waker's
// lock is held by who calls it.
type recall struct {
	later map[string]bool // at the next poll
	due   map[string]bool // now
	at    time.Duration   // of the next poll
	walks map[string]*walk
}

// walkMost is no bound of any line: only doubling must end somewhere.
const walkMost = 1 << 20

// walk goes along the line of a key that is free while those who wait there lack
// something else.
type walk struct {
	most  int  // steps of a poll
	left  int  // of this one
	still bool // it took none since this one began
}

// add notes a key for the next poll.
func (r *recall) add(key string, now, poll time.Duration) {
	if len(r.later) == 0 {
		r.later, r.at = make(map[string]bool), now+poll
	}
	r.later[key] = true
}

// step says whether one more of the key's line is tried at once.
func (r *recall) step(key string) bool {
	w := r.walks[key]
	if w == nil {
		if r.walks == nil {
			r.walks = make(map[string]*walk)
		}
		w = &walk{}
		r.walks[key] = w
	}
	w.still = false
	if w.left == 0 {
		return false
	}
	w.left--
	return true
}

// poll begins the next poll if it is time. A walk goes twice as far as at the last one; one
// that took no step meanwhile is over.
func (r *recall) poll(now, every time.Duration) {
	if len(r.due) > 0 || now < r.at || len(r.later) == 0 && len(r.walks) == 0 {
		return
	}
	r.due, r.later, r.at = r.later, nil, now+every
	for key, w := range r.walks {
		switch {
		case w.still:
			delete(r.walks, key)
		case r.due[key]:
			w.most = min(max(2*w.most, 1), walkMost)
			w.left = w.most
		}
		w.still = true
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

// missed is told what those asked for whom an admission parked. What they lacked may
// have been freed before they were parked: that is woken at once, and so are the keys of
// who lacks a turn, for that one comes back alone. Who lacks only the one of a limit and a
// rate leaves the other to whoever waits there; but mostly these lack the same, and at
// once a whole backlog would go from one line to the other with every slot. So after
// the first of them others are tried at the next poll, and twice as many at each one after it,
// until one finds the key full.
func (w *waker) missed(wants []driven.Want, answer driven.Admission) {
	if len(answer.Wake) == 0 {
		return
	}
	now, poll := w.session.clock.now(), w.session.cfg.Poll
	lacked, free := w.session.parkings(wants, answer.Parked)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range answer.Wake {
		switch {
		case lacked[key]:
			delete(w.recall.walks, key)
		case free[key] && !w.recall.step(key):
			w.recall.add(key, now, poll)
			continue
		}
		w.keys[key] = true
	}
	ring(w.bell)
}

// parkings are the keys that parked jobs lacked, and those that they found free of who
// lacked a limit or rate.
func (s *session) parkings(wants []driven.Want, parked []driven.Parking) (lacked, free map[string]bool) {
	lacked, free = make(map[string]bool, len(parked)), map[string]bool{}
	lacks := make(map[domain.JobID]string, len(parked))
	for _, p := range parked {
		lacked[p.Key] = true
		if !ofTurn(p.Key) {
			lacks[p.ID] = p.Key
		}
	}
	for i := range wants {
		key, some := lacks[wants[i].Ticket.ID]
		for _, other := range s.asked(wants[i]) {
			if some && other != key {
				free[other] = true
			}
		}
	}
	return lacked, free
}

// walks says that somebody may be found who can start.
func (w *waker) walks() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.recall.walks) > 0
}

// ofTurn says that a key is a mutex or a chain.
func ofTurn(key string) bool {
	k, ok := domain.ParseBoundKey(key)
	return ok && k.Sort.Turns()
}
