package runner

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// anteMost is how long a claimed job may wait here for a slot before the store
// parks it.
const anteMost = 100 * time.Millisecond

// tryFirst is the first wait before a full bucket is tried again.
const tryFirst = 5 * time.Millisecond

// bucket is a limit's bucket for jobs without a key, as far as this runner knows
// it. What it says decides nothing: it is for asking the store neither too early
// nor too late.
type bucket struct {
	n     int
	mu    sync.Mutex
	free  int           // slots that are likely free
	held  int           // slots that this runner holds
	freed time.Duration // when this runner last gave one back, or passed it on
	try   time.Duration // when one may be asked for though none seems free; 0: not known to be full
	gap   time.Duration // between two such tries

	laid   []holding // slots that nobody uses at the moment
	closed bool      // nothing is laid by any more
}

// take claims likely free slots, at most want. Where the store once had none left,
// what it has now is tried, one at a time.
func (b *bucket) take(want int, now time.Duration) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(b.free, want)
	b.free -= n
	if n == 0 && want > 0 && b.held < b.n && b.try > 0 && now >= b.try {
		b.try = now + b.gap
		return 1
	}
	return n
}

// enter is told of a slot that was won.
func (b *bucket) enter() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held++
	b.free = b.room(b.free) // it may have been asked for without a take
	b.gap = tryFirst
	switch {
	case b.held >= b.n: // nobody else has any: what is free is known again
		b.try = 0
	case b.try > 0 && b.free == 0: // there may be another
		b.free = 1
	}
}

// room is how many of so many slots can be free. This runner may hold more than it
// thinks there are: the store allows more where others declared more, and a slot that was
// lost to a sweep is held for as long as its handler runs.
func (b *bucket) room(free int) int { return max(min(free, b.n-b.held), 0) }

// give is told of slots that were given back, of which some are left to others for a
// moment.
func (b *bucket) give(n, left int, now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = max(b.held-n, 0)
	b.free, b.freed = b.room(b.free+n-left), now
	if left > 0 {
		b.try, b.gap = now+leaveTime, tryFirst
	}
}

// pass is told of a slot that goes on to another job of this runner.
func (b *bucket) pass(now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.freed = now
}

// full is told that the store had no slot left.
func (b *bucket) full(now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free, b.gap = 0, min(max(2*b.gap, tryFirst), anteMost)
	b.try = now + b.gap
}

// use is how many jobs may start now or wait, of a bucket whose slots came and went
// in this runner just now; else there is no telling, and many.
func (b *bucket) use(now time.Duration, most int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if most == 0 || b.freed == 0 || now-b.freed > anteMost {
		return claimMost
	}
	return b.free + len(b.laid) + most
}

// ante is where claimed jobs of a lane wait for a slot of a full bucket, while
// jobs are short: to park and wake each of them would cost more than to run it.
type ante struct {
	mu    sync.Mutex
	lines map[*bucket][]*attempt
	size  int
}

// wait takes an attempt in if it may wait here.
func (l *lane) wait(a *attempt) bool {
	b, job := a.plan.bucket, &a.claim.Job
	if b == nil || job.LimitKey != "" || job.Turn != domain.NoTurn || l.prefetch() == 0 {
		return false
	}
	l.ante.mu.Lock()
	defer l.ante.mu.Unlock()
	if l.ante.lines == nil {
		l.ante.lines = make(map[*bucket][]*attempt)
	}
	l.ante.lines[b] = append(l.ante.lines[b], a)
	l.ante.size++
	return true
}

// due takes out who shall ask the store now: as many as slots are likely free,
// those who waited for long, and those for whom there is no room here.
func (l *lane) due() (batch []*attempt) {
	l.lend()
	now := l.session.clock.now()
	l.ante.mu.Lock()
	defer l.ante.mu.Unlock()
	for b, line := range l.ante.lines {
		n := b.take(len(line), now)
		for n < len(line) && now-line[n].taken >= anteMost {
			n++
		}
		room := min(len(line), n+l.seats(b))
		batch = append(append(batch, line[:n]...), line[room:]...)
		l.ante.size -= n + len(line) - room
		if line = append([]*attempt(nil), line[n:room]...); len(line) == 0 {
			delete(l.ante.lines, b)
			continue
		}
		l.ante.lines[b] = line
	}
	return batch
}

// leave takes out everybody.
func (l *lane) leave() (batch []*attempt) {
	l.ante.mu.Lock()
	defer l.ante.mu.Unlock()
	for _, line := range l.ante.lines {
		batch = append(batch, line...)
	}
	l.ante.lines, l.ante.size = nil, 0
	return batch
}

// seats is how many jobs of a bucket may wait here. All that may wait share one prefetch,
// with the kinds without a bucket too, which else found no room behind them.
func (l *lane) seats(b *bucket) int {
	most, shares := l.prefetch(), len(l.buckets)
	if l.plain {
		shares++
	}
	return max(most/shares, min(b.n, most))
}

func (l *lane) waits() int {
	l.ante.mu.Lock()
	defer l.ante.mu.Unlock()
	return l.ante.size
}

// part is what one claim asks for.
type part struct {
	kinds []string
	n     int
}

// parts divides a claim where a bucket's jobs come and go and has no use for all
// that the lane has room for: of those kinds no more is claimed than may start or
// wait here. Chance says who is asked first: turns could fall in step with how much
// room there is.
func (l *lane) parts(n int) []part {
	if l.tight = false; len(l.buckets) == 0 {
		return []part{{l.kinds, n}}
	}
	now := l.session.clock.now()
	need := make(map[*bucket]int)
	var plain, tight part
	plain.n = n
	l.ante.mu.Lock()
	defer l.ante.mu.Unlock()
	for _, kind := range l.kinds {
		b := l.session.plans[kind].bucket
		use, seen := need[b]
		if b != nil && !seen {
			use = b.use(now, l.seats(b)) - len(l.ante.lines[b])
			need[b] = use
			if use < n {
				l.tight = true
				tight.n += max(use, 0)
			}
		}
		switch {
		case b == nil || use >= n:
			plain.kinds = append(plain.kinds, kind)
		case use > 0:
			tight.kinds = append(tight.kinds, kind)
		}
	}
	if rand.IntN(2) == 0 {
		return []part{plain, tight}
	}
	return []part{tight, plain}
}

// freed notes slots that were given back, and calls who waits for them.
func (s *session) freed(ends []domain.SlotEnd) {
	called := false
	for _, end := range ends {
		if b := s.buckets[end.Key]; b != nil && end.After == 0 {
			b.give(1, 0, s.clock.now())
			called = true
		}
	}
	if called {
		s.call()
	}
}

// awaited says that somebody waits here for a slot of the bucket.
func (s *session) awaited(b *bucket) bool {
	return slices.ContainsFunc(s.lanes, func(l *lane) bool { return l.awaits(b) })
}

func (l *lane) awaits(b *bucket) bool {
	l.ante.mu.Lock()
	defer l.ante.mu.Unlock()
	return len(l.ante.lines[b]) > 0
}

// call says that there is something for who waits.
func (s *session) call() {
	for _, l := range s.lanes {
		if l.waits() > 0 {
			ring(l.called)
		}
	}
}
