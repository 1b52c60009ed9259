package runner

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// queuePage is how many queues are looked up at once.
const queuePage = 100

// rotation takes the queues of a lane that works them all in turn.
type rotation struct {
	fixed []string // none: all that the store lists
	names []string // the page at hand
	at    int
	after string // where the next page begins
	last  bool   // the page at hand is the last one

	looked time.Duration // when the first page was read
	busy   bool          // in this round some queue gave all that was asked
	next   time.Duration // the least wait that a claim of this round named
	hinted bool          // this round visits hinted queues only

	mu    sync.Mutex
	heard map[string]bool // hinted at since
}

func (r *rotation) hear(queue string) {
	if queue == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heard == nil {
		r.heard = make(map[string]bool)
	}
	r.heard[queue] = true
}

func (r *rotation) hints() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := slices.Sorted(maps.Keys(r.heard))
	clear(r.heard)
	return names
}

// begin starts a round with these queues.
func (r *rotation) begin(names []string, next time.Duration) {
	r.names, r.at, r.busy, r.next = names, 0, false, next
}

// over says that the round is: the next turn begins another.
func (r *rotation) over() bool { return r.at >= len(r.names) && (r.last || r.hinted) }

// rotate claims once from the queue whose turn it is. A queue that gave all that
// was asked waits until the others had their turn.
func (l *lane) rotate(room int) (turn, error) {
	r := &l.turns
	if r.at >= len(r.names) {
		if err := l.nextRound(); err != nil {
			return turn{}, err
		}
	}
	t := turn{next: r.next}
	if r.at < len(r.names) {
		claims, err := l.claim(r.names[r.at], room)
		if err != nil {
			return turn{}, err
		}
		r.at++
		r.busy = r.busy || len(claims.Jobs) >= room || claims.More
		r.next = min(r.next, claims.Next)
		t = turn{took: len(claims.Jobs), next: r.next}
	}
	t.quiet = r.over() && !r.busy
	return t, nil
}

// nextRound chooses the queues of the next round: those that somebody hinted at,
// the same page again while it has work, or what the store now lists. All queues
// are looked at once a poll interval at least.
func (l *lane) nextRound() error {
	r, s := &l.turns, l.session
	poll, now := s.cfg.Poll, s.clock.now()
	recent := r.looked > 0 && now-r.looked < poll
	hints := r.hints()
	if len(hints) > 0 && recent {
		r.hinted = true
		r.begin(hints, poll-(now-r.looked))
		return nil
	}
	if r.busy && r.last && r.after == "" && recent && !r.hinted {
		r.begin(r.names, poll)
		return nil
	}
	if len(r.fixed) > 0 {
		r.looked, r.hinted, r.last = now, false, true
		r.begin(r.fixed, poll)
		return nil
	}
	var names []string
	err := l.within.call(s, s.cfg.Lease, func(ctx context.Context) (err error) {
		names, err = s.deps.Store.Queues(ctx, r.after, queuePage)
		return err
	})
	if err != nil {
		return err
	}
	if r.after == "" {
		r.looked = now
	}
	r.hinted, r.last, r.after = false, len(names) < queuePage, ""
	if !r.last {
		r.after = names[len(names)-1]
	}
	r.begin(names, poll)
	return nil
}
