package rowlock

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/domain"
)

// life knows what works on the queue, so that its end can stop that first.
type life struct {
	mu      sync.Mutex
	over    bool
	stops   map[*context.CancelFunc]struct{}
	working sync.WaitGroup
	free    sync.Once
	err     error
}

// enter begins some work; its context ends with the given one or with the queue.
func (l *life) enter(ctx context.Context) (_ context.Context, leave func(), _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil, nil, &domain.Fault{Code: domain.Conflict, Op: "work", Hint: "the queue is closed: open another"}
	}
	ctx, stop := context.WithCancel(ctx)
	if l.stops == nil {
		l.stops = make(map[*context.CancelFunc]struct{})
	}
	l.stops[&stop] = struct{}{}
	l.working.Add(1)
	return ctx, func() { l.leave(&stop) }, nil
}

func (l *life) leave(stop *context.CancelFunc) {
	(*stop)()
	l.mu.Lock()
	delete(l.stops, stop)
	l.mu.Unlock()
	l.working.Done()
}

// end stops all work, waits for it, and frees what is left, once.
func (l *life) end(free func() error) error {
	l.mu.Lock()
	l.over = true
	for stop := range l.stops {
		(*stop)()
	}
	l.mu.Unlock()
	l.working.Wait()
	l.free.Do(func() { l.err = free() })
	return l.err
}
