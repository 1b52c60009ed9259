package mysqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"
)

// sessions makes the sessions of our own pool. Each is READ COMMITTED, so that no
// transaction has to say so (under the servers' default a claim would lock the
// gaps in which others insert), and keeps its statements.
type sessions struct {
	driver.Connector
	within time.Duration // a session is made, or the server counts as not there
}

// errSilent is the answer where a server takes connections and says nothing.
var errSilent = errors.New("mysqlstore: the server did not answer in time")

// Connect makes one session. The driver bounds the dialling alone: what the server
// has to say after it is waited for as long as the caller waits, so that is bounded
// here.
func (s sessions) Connect(ctx context.Context) (driver.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	conn, err := s.connect(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return nil, errSilent
	}
	return conn, err
}

func (s sessions) connect(ctx context.Context) (driver.Conn, error) {
	raw, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(fullConn)
	if !ok { // the driver's are
		return raw, nil
	}
	_, err = conn.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil)
	if err != nil {
		_ = conn.Close() // the first error is the one to tell
		return nil, err
	}
	_, err = conn.ExecContext(ctx, "SET SESSION wait_timeout = CAST(LEAST(@@SESSION.wait_timeout, "+forsaken+") AS UNSIGNED)", nil)
	if err != nil && number(err) == 0 { // one that cannot be set may be worked without
		_ = conn.Close() // as above
		return nil, err
	}
	return &session{fullConn: conn, rest: time.AfterFunc(restTime, func() {})}, nil
}

// A server may be gone without a word, and then nothing that is sent to it is ever
// answered. Nor does the server hear of a client that is gone: it ends a session that
// says nothing for so long, whose transaction would else keep its locks for hours.
const (
	restTime   = time.Second // a session that rested longer is asked whether it lives,
	answerTime = time.Second // and has so long to answer
	forsaken   = "75"        // s; a pool lets go of a session before
)

// fullConn is all that a connection of the driver can do.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// maxKept bounds the statements that a session keeps prepared, hence what a pool
// of 16 takes of the server's 16,382. maxSeen bounds what it remembers of others.
const (
	maxKept = 64
	maxSeen = 400
)

// session keeps statements that come again prepared: without that each costs a
// second round trip and the server's parser. database/sql uses a session from one
// goroutine at a time.
type session struct {
	fullConn
	rest *time.Timer // ends when the session has rested
	kept map[string]driver.Stmt
	seen map[string]bool
}

// IsValid is asked when a session is given back to its pool.
func (s *session) IsValid() bool {
	s.rest.Reset(restTime)
	return s.fullConn.IsValid()
}

// ResetSession is asked before a session of the pool is used again.
func (s *session) ResetSession(ctx context.Context) error {
	rested := !s.rest.Stop()
	if err := s.fullConn.ResetSession(ctx); err != nil || !rested {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if s.Ping(bounded) != nil {
		return driver.ErrBadConn
	}
	return nil
}

// ExecContext runs a statement.
func (s *session) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	st, err := s.stmt(ctx, text, args)
	if err != nil {
		return nil, err
	}
	if st, ok := st.(driver.StmtExecContext); ok {
		return st.ExecContext(ctx, args)
	}
	return s.fullConn.ExecContext(ctx, text, args)
}

// QueryContext runs a query.
func (s *session) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	st, err := s.stmt(ctx, text, args)
	if err != nil {
		return nil, err
	}
	if st, ok := st.(driver.StmtQueryContext); ok {
		return st.QueryContext(ctx, args)
	}
	return s.fullConn.QueryContext(ctx, text, args)
}

// stmt is the statement of a text that came before, nil for another.
func (s *session) stmt(ctx context.Context, text string, args []driver.NamedValue) (driver.Stmt, error) {
	if st := s.kept[text]; st != nil || len(args) == 0 {
		return st, nil
	}
	if !s.seen[text] {
		if s.seen == nil || len(s.seen) >= maxSeen {
			s.seen = make(map[string]bool)
		}
		s.seen[text] = true
		return nil, nil
	}
	st, err := s.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s.makeRoom()
	if s.kept == nil {
		s.kept = make(map[string]driver.Stmt)
	}
	s.kept[text] = st
	return st, nil
}

// makeRoom lets go of any statement once there are enough.
func (s *session) makeRoom() {
	for text, st := range s.kept {
		if len(s.kept) < maxKept {
			return
		}
		_ = st.Close() // nothing is lost with it
		delete(s.kept, text)
	}
}
