package pgnotify

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	sendGap  = 3 * time.Millisecond // between two sends: a commit with a NOTIFY takes a lock of the whole server
	idleSend = 30 * time.Second     // after which the connection goes
)

// sender sends hints one call after the other, on a connection that it opens when
// there is something to send.
type sender struct {
	n    *Notifier
	ctx  context.Context //nolint:containedctx // the sender's own life
	end  context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	pending map[string]struct{}
	busy    bool // its goroutine runs
	bell    chan struct{}
}

func newSender(n *Notifier) *sender {
	ctx, cancel := context.WithCancel(context.Background())
	return &sender{n: n, ctx: ctx, end: cancel, pending: map[string]struct{}{}, bell: make(chan struct{}, 1)}
}

func (s *sender) add(queues []string) {
	if len(queues) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	for _, queue := range queues {
		s.pending[queue] = struct{}{}
	}
	if !s.busy {
		s.busy = true
		s.done.Go(s.run)
	}
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

func (s *sender) close() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.done.Wait()
}

// run sends until nothing came for a while.
func (s *sender) run() {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			drop(s.ctx, conn)
		}
	}()
	for {
		queues, more := s.take()
		if !more {
			return
		}
		if conn = s.send(conn, queues); !rest(s.ctx, sendGap) {
			return
		}
	}
}

// take waits for hints; false when the sender may go.
func (s *sender) take() (queues []string, more bool) {
	timer := time.NewTimer(idleSend)
	defer timer.Stop()
	for {
		s.mu.Lock()
		for queue := range s.pending {
			queues = append(queues, queue)
		}
		clear(s.pending)
		s.mu.Unlock()
		if len(queues) > 0 {
			return queues, true
		}
		select {
		case <-s.bell:
		case <-s.ctx.Done():
			return nil, s.leave(true)
		case <-timer.C:
			if !s.leave(false) {
				return nil, false
			}
			timer.Reset(idleSend)
		}
	}
}

// leave ends the goroutine unless a hint came in between; it says whether it stays.
func (s *sender) leave(closed bool) (stays bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) > 0 && !closed {
		return true
	}
	s.busy = false
	return false
}

// send makes one call of it. What cannot be sent is lost: who waits for it polls.
func (s *sender) send(conn *pgx.Conn, queues []string) *pgx.Conn {
	ctx, cancel := context.WithTimeout(s.ctx, answerTime)
	defer cancel()
	for try := 0; try < 2; try++ {
		fresh := conn == nil
		if fresh {
			var err error
			if conn, err = s.n.connect(ctx); err != nil {
				return nil
			}
		}
		_, err := conn.Exec(ctx, "SELECT pg_notify($1, $2 || ':' || q) FROM unnest($3::text[]) AS q", s.n.channel, s.n.self, queues)
		if err == nil {
			return conn
		}
		drop(s.ctx, conn)
		if conn = nil; fresh { // an old connection may have died meanwhile, a new one has not
			return nil
		}
	}
	return conn
}

// rest waits; false when the context ended first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
