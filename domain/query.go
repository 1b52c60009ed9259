package domain

import (
	"fmt"
	"time"
)

// Page sizes of lists.
const (
	DefaultPage = 50
	MaxPage     = 500
)

// Filter chooses jobs. What is zero does not choose; what is set must all hold.
type Filter struct {
	States []State
	Queue  string
	Kind   string
	Tenant string
	Tag    string
	Batch  BatchID
	Waits  string    // on that stored key of a bound
	Error  string    // part of the last error's text, by bytes
	Since  time.Time // enqueued at or after
	Until  time.Time // enqueued before
}

// IsZero says whether the filter chooses everything (a tenant in scope is no choice).
func (f Filter) IsZero() bool {
	return len(f.States) == 0 && f.Queue == "" && f.Kind == "" && f.Tag == "" &&
		f.Batch.IsZero() && f.Waits == "" && f.Error == "" && f.Since.IsZero() && f.Until.IsZero()
}

// Page asks for one page of a list, newest id first. Before is the last id of
// the page before, zero for the first.
type Page struct {
	Before JobID
	Size   int // 0: DefaultPage
}

// Validate brings the size into its range or refuses it.
func (p Page) Validate() (Page, error) {
	if p.Size == 0 {
		p.Size = DefaultPage
	}
	if p.Size < 1 || p.Size > MaxPage {
		return p, &Fault{Code: Invalid, Op: "check page", Hint: fmt.Sprintf("the size is %d, it must be from 1 to %d", p.Size, MaxPage)}
	}
	return p, nil
}

// Edited is the answer of an operator's call for one job: Err is nil where it was done.
type Edited struct {
	ID  JobID
	Err error
	// Keys are the stored keys at which the job takes turns, where the edit may have
	// let another one's turn come.
	Keys []string
	// Batch is that of a job which the edit made terminal or removed.
	Batch BatchID
}

// Tally counts the jobs of one queue and kind (or of all) by what they wait for.
type Tally struct {
	Due       int64 // ready, or scheduled and overdue
	Scheduled int64 // scheduled for later
	Blocked   int64
	Running   int64 // stuck ones among them
	Stuck     int64 // running on after their timeout
	Done      int64
	Dead      int64
	Cancelled int64
}

// Pending is what waits: due, scheduled and blocked.
func (t Tally) Pending() int64 { return t.Due + t.Scheduled + t.Blocked }

// Add sums two tallies.
func (t Tally) Add(o Tally) Tally {
	return Tally{
		Due: t.Due + o.Due, Scheduled: t.Scheduled + o.Scheduled, Blocked: t.Blocked + o.Blocked,
		Running: t.Running + o.Running, Stuck: t.Stuck + o.Stuck,
		Done: t.Done + o.Done, Dead: t.Dead + o.Dead, Cancelled: t.Cancelled + o.Cancelled,
	}
}

// Timings sums up how long the handlers of done jobs ran.
type Timings struct {
	Runs  int64
	Min   time.Duration
	Max   time.Duration
	Total time.Duration
}

// Mean is the mean run, 0 where there was none.
func (t Timings) Mean() time.Duration {
	if t.Runs == 0 {
		return 0
	}
	return t.Total / time.Duration(t.Runs)
}

// Line is the statistics of one queue and kind.
type Line struct {
	Queue   string
	Kind    string
	Tally   Tally
	Oldest  time.Duration // age of the oldest due job since it became due; negative: none is due
	Timings Timings
}

// NoneDue is a Line's Oldest where nothing is due.
const NoneDue time.Duration = -1

// Stats is the state of the queues. Each state was counted up to a cap; Exact
// says whether none was cut by it.
type Stats struct {
	Lines []Line // by queue, then kind, in byte order
	Exact bool
}

// Totals sums up every line.
func (s Stats) Totals() Tally {
	var sum Tally
	for _, l := range s.Lines {
		sum = sum.Add(l.Tally)
	}
	return sum
}

// RunnerInfo is what a live runner says of itself.
type RunnerInfo struct {
	ID        string   // unique per start
	Kinds     []string // that it handles
	Queues    []string // that it works; empty: all
	StartedAt time.Time
	SeenAt    time.Time
}
