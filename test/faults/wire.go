package faults

import (
	"context"
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"sync"
)

// Dialer puts a plan between a MongoDB driver and the network: options.Client().
// SetDialer(faults.Dialer{Plan: plan}). Each command is one step, named by its
// command and collection. What a driver says on its own account (hello, ping,
// the end of sessions) is no step, but a killed process says nothing. A struck
// connection is closed, whichever the action is: a driver cannot be answered an
// error that its server did not give.
type Dialer struct{ Plan *Plan }

// DialContext connects, unless the process was killed.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	epoch, ok := d.Plan.alive()
	if !ok {
		return nil, ErrKilled
	}
	inner, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: inner, plan: d.Plan, epoch: epoch}, nil
}

// wire is one connection. A driver writes a message whole and then reads its answer.
type wire struct {
	net.Conn
	plan  *Plan
	epoch int

	mu   sync.Mutex
	sent *step // whose answer has not begun to come
}

// Write sends a message between the plan's faults.
func (w *wire) Write(message []byte) (int, error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	command := commandOf(message)
	if command == "" {
		return w.Conn.Write(message)
	}
	s := w.plan.begin(command)
	if err := w.strike(s, Before); err != nil {
		return 0, err
	}
	w.mu.Lock()
	w.sent = s
	w.mu.Unlock()
	return w.Conn.Write(message)
}

// Read gives the answer: where that begins to come, the server has done the command.
func (w *wire) Read(into []byte) (int, error) {
	n, err := w.Conn.Read(into)
	w.mu.Lock()
	s := w.sent
	w.sent = nil
	w.mu.Unlock()
	if err == nil && s != nil {
		err = w.strike(s, After)
	}
	if err == nil {
		err = w.usable()
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (w *wire) strike(s *step, when When) error {
	what, ok := w.plan.take(s, when)
	if ok && what.kind == actDo {
		what.do()
		return nil
	}
	if ok {
		_ = w.Close() // it was struck
		return what.err
	}
	return nil
}

func (w *wire) usable() error {
	if epoch, ok := w.plan.alive(); !ok || epoch != w.epoch {
		_ = w.Close() // its process is dead
		return ErrKilled
	}
	return nil
}

const (
	opMsg   = 2013
	bodyAt  = 16 + 4 + 1 // after the header, the flags and the kind of the first section
	typeAt  = bodyAt + 4 // after the length of the document
	typeStr = 2
)

// commandOf is the name of the command in a message and its collection, "" for
// what is no step.
func commandOf(message []byte) string {
	if len(message) <= typeAt || binary.LittleEndian.Uint32(message[12:]) != opMsg || message[bodyAt-1] != 0 {
		return ""
	}
	name, rest, found := strings.Cut(string(message[typeAt+1:min(len(message), typeAt+400)]), "\x00")
	if !found || slices.Contains([]string{"hello", "isMaster", "ismaster", "ping", "endSessions", "killCursors", "saslStart", "saslContinue"}, name) {
		return ""
	}
	if message[typeAt] != typeStr || len(rest) < 4 {
		return name
	}
	collection, _, _ := strings.Cut(rest[4:], "\x00")
	return name + " " + collection
}
