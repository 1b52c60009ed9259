package system

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/ports/driven"
)

// Bell wakes listeners of the same process. Notify never blocks: hints that a
// slow listener has not heard yet are merged, one per queue.
type Bell struct {
	mu    sync.Mutex
	lines map[*line]struct{}
}

var _ driven.Notifier = (*Bell)(nil)

// line is what one listener has yet to hear.
type line struct {
	mu      sync.Mutex
	pending map[string]struct{}
	ring    chan struct{} // holds one signal: something is pending
}

// NewBell makes a bell without listeners.
func NewBell() *Bell { return &Bell{lines: map[*line]struct{}{}} }

// Notify rings for the queues. Without a listener the hint is lost.
func (b *Bell) Notify(queues ...string) {
	if len(queues) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.lines {
		l.add(queues)
	}
}

// Listen calls hear for the hints that come from now on, until the context ends;
// that end is no error.
func (b *Bell) Listen(ctx context.Context, hear func(queue string)) error {
	l := &line{pending: map[string]struct{}{}, ring: make(chan struct{}, 1)}
	b.mu.Lock()
	b.lines[l] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.lines, l)
		b.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.ring:
		}
		for _, queue := range l.take() {
			hear(queue)
		}
	}
}

func (l *line) add(queues []string) {
	l.mu.Lock()
	for _, queue := range queues {
		l.pending[queue] = struct{}{}
	}
	l.mu.Unlock()
	select {
	case l.ring <- struct{}{}:
	default:
	}
}

func (l *line) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	queues := slices.Sorted(maps.Keys(l.pending))
	clear(l.pending)
	return queues
}
