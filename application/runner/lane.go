package runner

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/domain"
)

const (
	shortWork    = 50 * time.Millisecond // what a prefetch may hold at most
	prefetchMost = 2                     // jobs of a prefetch for each worker
	emptyFirst   = 10 * time.Millisecond // back-off of contention and of empty claims
	dryMost      = 100                   // empty claims in a row that need no wait, where the store says there is more
	emptyLongest = 200 * time.Millisecond
)

// lane claims some kinds of one queue, or of several in turn, and feeds its workers.
type lane struct {
	session   *session
	queue     string // "": several
	kinds     []string
	size      int // workers
	line      line
	load      atomic.Int64  // claimed and not yet run to their end
	mean      atomic.Int64  // recent run time, as nanoseconds; 0: not known
	ranAt     atomic.Int64  // when the last run ended
	claimTime atomic.Int64  // recent time of one claim, as nanoseconds
	hungry    chan struct{} // a worker has, or will soon have, nothing to do
	bell      chan struct{} // somebody hinted at due jobs
	called    chan struct{} // a slot was freed for who waits in the ante
	ante      ante
	buckets   []*bucket   // of its kinds
	plain     bool        // some of its kinds have none
	plenty    atomic.Bool // the last claim gave all that it asked for
	tight     bool        // of some of them the last claim asked for less than there was room for
	turns     rotation
	empty     backoff
	within    deadline
	dry       int // claims in a row that gave nothing, though there shall be more
	fooled    int // claims in a row that gave nothing, though a job was announced
}

// newLane makes a lane of these queues, or of all there are where none is named.
func newLane(s *session, queues, kinds []string, size int) *lane {
	l := &lane{
		session: s, kinds: kinds, size: size,
		hungry: make(chan struct{}, 1), bell: make(chan struct{}, 1), called: make(chan struct{}, 1),
		empty: backoff{first: emptyFirst, cap: emptyLongest, jitter: true},
	}
	for _, kind := range kinds {
		if b := s.plans[kind].bucket; b == nil {
			l.plain = true
		} else if !slices.Contains(l.buckets, b) {
			l.buckets = append(l.buckets, b)
		}
	}
	if l.turns.fixed = queues; len(queues) == 1 {
		l.queue = queues[0]
	}
	return l
}

// works says whether the lane claims from the queue; "" is any.
func (l *lane) works(queue string) bool {
	return queue == "" || len(l.turns.fixed) == 0 || slices.Contains(l.turns.fixed, queue)
}

// wake hints that the queue may hold something; "" is any.
func (l *lane) wake(queue string) {
	l.turns.hear(queue)
	ring(l.bell)
}

// ran notes the end of a run.
func (l *lane) ran(d, now time.Duration) {
	average(&l.mean, d)
	l.ranAt.Store(int64(now))
	l.load.Add(-1)
}

// average moves a running mean; an update lost between two workers is no harm.
func average(mean *atomic.Int64, d time.Duration) {
	last := mean.Load()
	if last == 0 {
		last = int64(d)
	}
	mean.Store(max(last+(int64(d)-last)/8, 1))
}

// brief says that runs end almost at once, and that one just did.
func (l *lane) brief() bool {
	mean := l.mean.Load()
	return mean > 0 && mean < int64(gatherMost) && l.session.clock.now()-time.Duration(l.ranAt.Load()) <= shortWork
}

// patience is how long the lane waits for a worker to say that it needs a job. Of
// brief jobs whoever takes the last one is soon back and says so; where that job
// turns out to be a long one, the lane finds out by itself.
func (l *lane) patience() time.Duration {
	if l.brief() {
		return min(gatherMost, l.session.cfg.Poll)
	}
	return l.session.cfg.Poll
}

// prefetch is how many jobs beyond the free workers may be claimed now.
func (l *lane) prefetch() int {
	mean := time.Duration(l.mean.Load())
	if l.session.cfg.NoPrefetch || mean == 0 || mean > shortWork {
		return 0
	}
	if l.load.Load() >= int64(l.size) && l.session.clock.now()-time.Duration(l.ranAt.Load()) > shortWork {
		return 0 // every worker is busy with something long
	}
	return min(prefetchMost*l.size, int(shortWork/mean))
}

// low is how many waiting jobs are few enough to claim more: what the workers
// run while a claim is in flight. Where they run more than a prefetch holds,
// large claims are worth more than early ones.
func (l *lane) low() int {
	mean := l.mean.Load()
	if mean == 0 {
		return 0
	}
	meanwhile := l.claimTime.Load() * int64(l.size) / mean
	if meanwhile > int64(l.size/2) {
		return 0
	}
	return int(meanwhile)
}

// room is how many jobs to claim now: none while enough wait for the workers, or
// too many outcomes wait to be written.
func (l *lane) room() int {
	if l.line.size() > l.low() || l.session.completer.full() {
		return 0
	}
	return min(l.size+l.prefetch()-int(l.load.Load()), claimMost)
}

// loop claims until the runner stops, and gives back what no worker took.
func (l *lane) loop() {
	defer l.close()
	s := l.session
	if len(l.kinds) == 0 {
		<-s.quit
		return
	}
	select {
	case <-s.opened:
	case <-s.quit:
	}
	for !s.stopping() {
		if err := l.admit(l.due()); err != nil {
			s.fail("admit", l.queue, err)
			l.await(nil, nil, l.pause(err))
			continue
		}
		room := l.room()
		if room <= 0 {
			l.await(l.hungry, nil, l.patience())
			continue
		}
		t, err := l.turn(room)
		if err != nil {
			s.fail("claim", l.queue, err)
			l.await(nil, nil, l.pause(err))
			continue
		}
		wait, hungry := l.sleep(t), l.hungry
		if !l.tight { // else there may be more than was asked for
			hungry = nil
		}
		if wait > 0 {
			l.await(hungry, l.bell, wait)
		}
	}
}

// await waits for a signal, at most so long, and ends when the runner stops.
func (l *lane) await(hungry, bell <-chan struct{}, most time.Duration) {
	l.spend()
	if l.waits() > 0 {
		most = min(most, tryFirst)
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-l.session.quit:
	case <-hungry:
	case <-l.called:
	case <-bell:
		l.dry, l.fooled = 0, 0
		l.empty.reset()
	case <-timer.C:
	}
}

// pause is the wait after a claim that failed.
func (l *lane) pause(err error) time.Duration {
	if domain.CodeOf(err) == domain.Contended {
		return l.empty.next()
	}
	return min(l.session.cfg.Poll, time.Second)
}

// sleep is the wait after a claim: none while there may be more, else until time
// alone makes a job due, at most the poll interval. A store that keeps on
// announcing jobs and giving none must not be asked in a circle.
func (l *lane) sleep(t turn) time.Duration {
	poll := l.session.cfg.Poll
	if t.took > 0 {
		l.dry, l.fooled = 0, 0
		l.empty.reset()
	}
	if !t.quiet {
		if l.dry++; l.dry < dryMost {
			return 0
		}
		return l.empty.next()
	}
	l.dry = 0
	wait := min(max(t.next, time.Millisecond), poll)
	if t.took > 0 || t.next >= emptyLongest {
		return wait
	}
	if l.fooled++; l.fooled > 1 {
		wait = min(max(wait, l.empty.next()), poll)
	}
	return wait
}

// close gives back what waits and lets the workers end.
func (l *lane) close() {
	for _, b := range l.buckets {
		b.close()
	}
	l.spend()
	for _, a := range append(l.line.close(), l.leave()...) {
		l.load.Add(-1)
		l.session.giveBack(a)
	}
}

// turn is what one claim gave.
type turn struct {
	took  int
	quiet bool          // nothing is left to claim now
	next  time.Duration // until time alone makes a job due
}

func (l *lane) turn(room int) (turn, error) {
	if l.queue == "" {
		return l.rotate(room)
	}
	claims, err := l.claim(l.queue, room)
	if err != nil {
		return turn{}, err
	}
	return turn{took: len(claims.Jobs), quiet: len(claims.Jobs) < room && !claims.More, next: claims.Next}, nil
}
