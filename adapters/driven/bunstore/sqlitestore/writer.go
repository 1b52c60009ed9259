package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// errClosed is the answer to whoever still waits when the store is closed.
var errClosed = errors.New("sqlitestore: the store is closed")

// maxGroup bounds how many calls share one transaction, hence how long the first
// of them waits for the last.
const maxGroup = 128

// writer is the one that writes: a goroutine that runs waiting calls together in
// one immediate transaction and answers them after its commit. So one sync to the
// disk serves all that came while the last one was under way.
type writer struct {
	source   source
	patience time.Duration
	mu       sync.Mutex
	queue    []*call
	closed   bool
	wake     chan struct{} // holds one
	life     context.Context
	stop     context.CancelFunc
	ended    chan struct{}
}

// The states of a call.
const (
	waiting int32 = iota
	taken         // it runs and will be answered
	gone          // its caller went before it ran
)

// call is one piece of work that waits for its turn.
type call struct {
	ctx   context.Context
	work  bunstore.Work
	state atomic.Int32
	err   error
	done  chan struct{}
}

func newWriter(s source) *writer {
	w := &writer{source: s, patience: lockWait, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	w.life, w.stop = context.WithCancel(context.Background())
	go w.loop()
	return w
}

// do waits for the work's turn and for its commit. A caller whose context ends
// before the turn goes unserved; afterwards it gets the true answer.
func (w *writer) do(ctx context.Context, work bunstore.Work) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// The work must not see the caller's end: an interrupt would undo the whole group.
	c := &call{ctx: context.WithoutCancel(ctx), work: work, done: make(chan struct{})}
	if !w.push(c) {
		return errClosed
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	if c.state.CompareAndSwap(waiting, gone) {
		return ctx.Err()
	}
	<-c.done
	return c.err
}

func (w *writer) push(c *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, c)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return true
}

// next gives the oldest call that still waits and takes it; nil for none.
func (w *writer) next() *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) > 0 {
		c := w.queue[0]
		w.queue[0], w.queue = nil, w.queue[1:]
		if c.state.CompareAndSwap(waiting, taken) {
			return c
		}
	}
	w.queue = nil
	return nil
}

// idle says whether nobody waits; it drops those who went.
func (w *writer) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) > 0 && w.queue[0].state.Load() == gone {
		w.queue = w.queue[1:]
	}
	return len(w.queue) == 0
}

// close ends the writer: the group under way is finished, who waits is refused.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	<-w.ended
}

func (w *writer) loop() {
	defer close(w.ended)
	for {
		select {
		case <-w.life.Done():
			w.refuse(errClosed)
			w.source.drop()
			return
		case <-w.wake:
		}
		for !w.idle() && w.life.Err() == nil {
			w.turn()
		}
	}
}

// refuse answers everybody who waits now; who comes meanwhile has a wait of its own.
func (w *writer) refuse(err error) {
	w.mu.Lock()
	all := w.queue
	w.queue = nil
	w.mu.Unlock()
	for _, c := range all {
		if c.state.CompareAndSwap(waiting, taken) {
			c.answer(err)
		}
	}
}

func (c *call) answer(err error) {
	if c.err == nil {
		c.err = err
	}
	close(c.done)
}

// turn is one transaction.
func (w *writer) turn() {
	conn, err := w.begin()
	if err != nil {
		if conn != nil {
			w.source.put(conn, err)
		}
		if !errors.Is(err, errNobody) {
			w.refuse(err)
		}
		return
	}
	group, end, err := w.group(conn)
	if err == nil {
		_, err = conn.ExecContext(context.Background(), end)
	}
	broken := err
	for _, c := range group {
		if fatal(c.err) {
			broken = c.err
		}
	}
	w.source.put(conn, broken)
	for _, c := range group {
		c.answer(err)
	}
}

// group runs the calls that wait, and those that come meanwhile, and says how to
// end the transaction. The error is one that undid all of them.
func (w *writer) group(conn *conn) (group []*call, end string, err error) {
	for len(group) < maxGroup {
		c := w.next()
		if c == nil {
			break
		}
		group = append(group, c)
		if len(group) == 1 && w.idle() { // alone, it needs no savepoint
			if c.err = safely(c.ctx, conn, c.work); c.err != nil {
				return group, "ROLLBACK", nil
			}
			continue
		}
		if err := w.run(conn, c); err != nil {
			return group, "", err
		}
	}
	return group, "COMMIT", nil
}

// run executes one call; what it wrote is undone when it fails. Only an error
// that broke the transaction itself is answered here.
func (w *writer) run(conn *conn, c *call) error {
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, "SAVEPOINT rowlock_call"); err != nil {
		return err
	}
	if c.err = safely(c.ctx, conn, c.work); c.err != nil {
		if _, err := conn.ExecContext(ctx, "ROLLBACK TO rowlock_call"); err != nil {
			return errors.Join(c.err, err) // SQLite gave the whole transaction up
		}
	}
	_, err := conn.ExecContext(ctx, "RELEASE rowlock_call")
	return err
}

// safely turns a panic of the work into its error.
func safely(ctx context.Context, conn *conn, work bunstore.Work) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &domain.Fault{Code: domain.Internal, Op: "write", Hint: fmt.Sprintf("a panic of type %T in the store", r)}
		}
	}()
	return work(ctx, conn)
}
