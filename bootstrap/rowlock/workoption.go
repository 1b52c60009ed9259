package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/domain"
)

// WorkOption is a setting of Work and Drain. What cannot work, e.g. a renewal
// interval above a third of the lease, is refused when they start.
type WorkOption func(*worker)

// Concurrency is how many handlers run at once where no Queues are named: 10 by default.
func Concurrency(n int) WorkOption { return func(w *worker) { w.runner.Concurrency = n } }

// Queues names the queues to work and how many handlers of each run at once.
// Without it every queue is worked.
func Queues(q runner.Queues) WorkOption { return func(w *worker) { w.runner.Queues = q } }

// Lanes names the lanes and how many handlers of each run at once: kinds with
// work.Lane share those, and no others.
func Lanes(lanes map[string]int) WorkOption { return func(w *worker) { w.runner.Lanes = lanes } }

// Fair names the queues that serve their tenants in turn.
func Fair(queues ...string) WorkOption { return func(w *worker) { w.runner.Fair = queues } }

// Lease is how long a claim is believed alive without a renewal, 60 s by
// default. Renewals, upkeep and the wait after a stall follow it where they are
// not set: a third, and half of it but at most 30 s.
func Lease(d time.Duration) WorkOption { return func(w *worker) { w.runner.Lease = d } }

// Renew is the time between renewals of the leases.
func Renew(d time.Duration) WorkOption { return func(w *worker) { w.runner.Renew = d } }

// Poll is the longest sleep between two looks for due jobs, 1 s by default.
func Poll(d time.Duration) WorkOption { return func(w *worker) { w.runner.Poll = d } }

// NoPrefetch claims for free workers only, never a few jobs ahead.
func NoPrefetch() WorkOption { return func(w *worker) { w.runner.NoPrefetch = true } }

// StopTimeout is how long handlers may take to finish once Work is to stop: 30 s by default.
func StopTimeout(d time.Duration) WorkOption { return func(w *worker) { w.runner.StopTimeout = d } }

// Unfinished says what becomes of jobs whose handlers have not ended by then: runner.Release,
// the default, gives them back for when this process must be gone, runner.Abandon
// leaves them to their leases.
func Unfinished(u runner.Unfinished) WorkOption { return func(w *worker) { w.runner.Unfinished = u } }

// ExitsWithin is how long after the end of StopTimeout this process is gone, whatever
// its handlers do: the lease by default. What was released runs elsewhere no earlier.
func ExitsWithin(d time.Duration) WorkOption { return func(w *worker) { w.runner.ExitsWithin = d } }

// DefaultTimeout bounds the attempts of kinds and jobs that declare no timeout.
func DefaultTimeout(d time.Duration) WorkOption { return func(w *worker) { w.runner.Timeout = d } }

// DefaultRetry is the policy of kinds that declare none.
func DefaultRetry(p domain.RetryPolicy) WorkOption { return func(w *worker) { w.runner.Retry = p } }

// Upkeep is the time between sweeps that put back what a crash left.
func Upkeep(d time.Duration) WorkOption { return func(w *worker) { w.upkeep.Every = d } }

// Linger is how long the slots of claims that are gone stay taken, since their
// handlers may run on: the lease where it is not given. Each runner sweeps for all of
// them, so where leases differ give every process the longest one.
func Linger(d time.Duration) WorkOption { return func(w *worker) { w.upkeep.Linger = d } }

// Stalls says what becomes of claims whose lease ran out.
func Stalls(p domain.StallPolicy) WorkOption { return func(w *worker) { w.upkeep.Stalls = p } }

// PruneEvery is the time between removals of jobs whose retention ended, 5 min by default.
func PruneEvery(d time.Duration) WorkOption { return func(w *worker) { w.upkeep.PruneEvery = d } }

// NoPrune leaves the removal of old jobs to others.
func NoPrune() WorkOption { return func(w *worker) { w.upkeep.NoPrune = true } }

// PruneBatch is how many jobs one pass of such a removal looks at, hence one
// transaction: 1,000 by default.
func PruneBatch(n int) WorkOption { return func(w *worker) { w.upkeep.PruneBatch = n } }

// PrunePause is the least rest between two passes of such a removal, 300 ms by default:
// runners have the store to themselves in between. A pass that takes long is followed by
// ten times as long a rest.
func PrunePause(d time.Duration) WorkOption { return func(w *worker) { w.upkeep.PrunePause = d } }
