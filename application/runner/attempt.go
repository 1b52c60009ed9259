package runner

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Short names of the causes that end a handler's context.
var (
	errTimeout   = domain.ErrTimeout
	errLeaseLost = domain.ErrLeaseLost
	errCancelled = domain.ErrCancelled
	errShutdown  = domain.ErrShutdown
)

// errRunsOn is why a claim is given back that came to where the job's last handler is.
var errRunsOn = errors.New("its handler of an earlier claim runs on in this process and heeds no end; only the end of the process stops it")

// phase is where an attempt stands. It moves by compare-and-swap alone, so that
// worker, keepers and Stop never both decide about one attempt.
type phase = int32

const (
	waiting   phase = iota // claimed, no worker took it yet
	running                // its handler runs
	finished               // its outcome is with the completer
	lost                   // the runner no longer vouches for the claim, or its job was cancelled
	outlived               // its timed-out outcome is with the completer, its handler runs on
	released               // its claim is with the completer to be given back, its handler runs on
	admitting              // claimed, and not yet known whether its bounds let it start
)

// attempt is one claim in the hands of the runner.
type attempt struct {
	lane   *lane
	plan   *plan
	claim  *driven.Claimed
	task   driven.Task
	ctx    jobContext
	result work.Result
	limit  time.Duration // 0: no timeout
	grip   *grip         // nil: it has no bounds

	phase   atomic.Int32
	taken   time.Duration // when it was claimed, as the runner counts time
	good    atomic.Int64  // when the last good renewal, or the claim, was sent
	started atomic.Int64
	began   atomic.Bool // its handler was started
	refused atomic.Bool // the store said that the claim is gone
	twin    bool        // a claim of the same job before it may not be settled yet
	settled bool        // guarded by held: its row is written, its handler runs on
}

func (a *attempt) move(from, to phase) bool { return a.phase.CompareAndSwap(from, to) }

// vouched says how long ago the claim was last known to be ours.
func (a *attempt) vouched(now time.Duration) time.Duration { return now - time.Duration(a.good.Load()) }

// overdue says how long a running handler has been over its timeout, negative if it is not.
func (a *attempt) overdue(now time.Duration) time.Duration {
	if a.limit == 0 || a.phase.Load() != running {
		return -1
	}
	return now - time.Duration(a.started.Load()) - a.limit
}

func (a *attempt) event(what domain.EventType) domain.Event {
	job := &a.claim.Job
	return domain.Event{
		Type: what, Job: job.ID, Kind: job.Kind, Queue: job.Queue, Tenant: job.Tenant, Attempt: job.Attempts + 1,
	}
}

// plan is what the runner knows of a kind, with its own defaults filled in.
type plan struct {
	run     work.Next
	rule    domain.Rule
	timeout time.Duration
	keep    domain.Retention
	limited work.Limit
	rated   work.Rate
	lane    string
	bucket  *bucket // of a limit without a key function; nil: none
	failure string  // kind of the job that is added when one dies; "": none
	forget  bool    // args are dropped at done
}

// bounded says whether the kind has bounds of its own.
func (p *plan) bounded() bool { return p.limited.N > 0 || p.rated.N > 0 }

func plansOf(r *work.Registry, cfg Config) map[string]*plan {
	plans := make(map[string]*plan)
	for _, kind := range r.Kinds() {
		e, ok := r.Find(kind)
		if !ok {
			continue
		}
		p := &plan{run: e.Run, rule: e.RuleOver(cfg.Retry), timeout: e.Timeout, limited: e.Limit, rated: e.Rate, lane: e.Lane, failure: e.Failure, forget: e.ForgetArgs}
		if p.timeout == 0 {
			p.timeout = cfg.Timeout
		}
		p.keep = domain.Retention{
			Done:      e.Keep.For(domain.Done, cfg.Keep),
			Dead:      e.Keep.For(domain.Dead, cfg.Keep),
			Cancelled: e.Keep.For(domain.Cancelled, cfg.Keep),
		}
		plans[kind] = p
	}
	return plans
}
