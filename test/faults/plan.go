package faults

import (
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"sync"
)

// When says on which side of a step a fault strikes.
type When uint8

// The sides.
const (
	Before When = iota // the database never sees the statement
	After              // the statement took; its answer is lost
)

// String is the side's word.
func (w When) String() string {
	if w == After {
		return "after"
	}
	return "before"
}

// lost is what a program sees of a connection that broke: drivers hand on
// io.ErrUnexpectedEOF or a net.Error, so it is both.
type lost string

func (l lost) Error() string { return string(l) }
func (lost) Timeout() bool   { return false }
func (lost) Temporary() bool { return false }
func (lost) Unwrap() error   { return io.ErrUnexpectedEOF }

// The errors of the step that was struck. Later calls on a connection that broke
// answer driver.ErrBadConn, as drivers do where nothing was sent.
const (
	ErrCut    lost = "faults: the connection was cut"
	ErrKilled lost = "faults: the process was killed"
)

// Action is what a fault does.
type Action struct {
	err  error
	kind actionKind
	do   func()
}

type actionKind uint8

const (
	actFail actionKind = iota
	actCut
	actKill
	actDo
)

// Fail answers the step with an error; the connection lives on. After the step
// it is what a database can do at a commit; elsewhere the statement and the
// error contradict each other. A commit or rollback that is failed before it ran
// is rolled back, as no connection may reach the pool in a transaction.
func Fail(err error) Action { return Action{kind: actFail, err: err} }

// Cut breaks the connection: its transaction is rolled back, every later call on it fails.
func Cut() Action { return Action{kind: actCut, err: ErrCut} }

// Kill breaks every connection of the plan and lets no new one through until
// Revive: as if the process had died there.
func Kill() Action { return Action{kind: actKill, err: ErrKilled} }

// Do calls f and goes on: another actor's turn at that very point.
func Do(f func()) Action { return Action{kind: actDo, do: f} }

// Plan counts steps and strikes at some of them. Each fault strikes once. It is
// safe for concurrent use; with several connections at work the numbers follow
// the order in which the steps came.
type Plan struct {
	mu     sync.Mutex
	steps  []*step
	faults map[point]Action
	killed bool
	epoch  int // kills so far: connections from before one are dead
}

type point struct {
	n    int
	when When
}

type step struct {
	n    int
	text string
}

// NewPlan makes a plan that only counts.
func NewPlan() *Plan { return &Plan{faults: map[point]Action{}} }

// At plans a fault at the n-th step, 1 being the next one on a new or reset plan.
func (p *Plan) At(n int, when When, what Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if when == After && errors.Is(what.err, driver.ErrBadConn) {
		what.err = ErrCut // database/sql would run the statement again
	}
	p.faults[point{n, when}] = what
}

// Count is how many steps there were.
func (p *Plan) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.steps)
}

// Statements lists the text of each step, for messages. Arguments are not among it.
func (p *Plan) Statements() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	texts := make([]string, len(p.steps))
	for i, s := range p.steps {
		texts[i] = s.text
	}
	return texts
}

// Pending is how many planned faults have not struck.
func (p *Plan) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.faults)
}

// Revive ends a kill: new connections are let through.
func (p *Plan) Revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = false
}

// Reset revives, forgets all faults and counts from 1 again.
func (p *Plan) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps, p.killed = nil, false
	clear(p.faults)
}

// alive says whether the database can be reached, and under which epoch.
func (p *Plan) alive() (epoch int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch, !p.killed
}

// begin counts a step.
func (p *Plan) begin(text string) *step {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &step{n: len(p.steps) + 1, text: text}
	p.steps = append(p.steps, s)
	return s
}

// forget takes back a step that the driver did not want to take.
func (p *Plan) forget(s *step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = slices.DeleteFunc(p.steps, func(other *step) bool { return other == s })
}

// take gives the fault that is due now, if there is one.
func (p *Plan) take(s *step, when When) (Action, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := point{s.n, when}
	what, ok := p.faults[at]
	delete(p.faults, at)
	if ok && what.kind == actKill {
		p.killed = true
		p.epoch++
	}
	return what, ok
}
