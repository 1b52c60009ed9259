package driving

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Enqueuer is for adding jobs whose args are JSON already.
type Enqueuer interface {
	// Add validates and writes all jobs or none. A zero ID is made here, an empty
	// queue is "default", a tenant in scope is stamped on each, and a unique key of a
	// window that names no bucket is put into that of now.
	Add(ctx context.Context, jobs []domain.NewJob) ([]Added, error)
	// Check validates as Add does and writes nothing; the answer is nil or the first fault.
	Check(ctx context.Context, job domain.NewJob) error
}

// Added is the answer for one job.
type Added struct {
	ID     domain.JobID
	Result domain.Inserted
}

// Inspector is for looking.
type Inspector interface {
	Get(ctx context.Context, id domain.JobID) (domain.Job, error)
	List(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error)
	Count(ctx context.Context, f domain.Filter) (Count, error)
	Stats(ctx context.Context) (Stats, error)
}

// Count is a bounded count.
type Count struct {
	N     int
	Exact bool // false: there are at least N
}

// Stats is the state of the queues and of who works them.
type Stats struct {
	domain.Stats
	Runners   []domain.RunnerInfo
	Unhandled []string // kinds with due jobs that no live runner handles, in byte order
}

// Operator is for changing named jobs. Each answers per id, in order; the error
// is for the call as a whole.
type Operator interface {
	Retry(ctx context.Context, ids []domain.JobID, due domain.Due) ([]domain.Edited, error)
	Cancel(ctx context.Context, ids []domain.JobID) ([]domain.Edited, error)
	Delete(ctx context.Context, ids []domain.JobID) ([]domain.Edited, error)
	Reschedule(ctx context.Context, ids []domain.JobID, due domain.Due) ([]domain.Edited, error)
}

// BulkOperator is for changing every job that matches as the call began, page by
// page. An empty filter chooses dead jobs, or with All every job.
type BulkOperator interface {
	RetryAll(ctx context.Context, b Bulk, due domain.Due) (BulkResult, error)
	CancelAll(ctx context.Context, b Bulk) (BulkResult, error)
	DeleteAll(ctx context.Context, b Bulk) (BulkResult, error)
}

// Bulk chooses the jobs of a bulk call. A job that left the chosen states since
// it was chosen is refused.
type Bulk struct {
	Filter   domain.Filter
	IDs      []domain.JobID          // these alone, if they are in the filter's states; nothing else may be in the filter
	All      bool                    // an empty filter means every job
	Progress func(done, refused int) // called after each page; may be nil
	Each     func(e []domain.Edited) // the answers of each page; may be nil
}

// BulkResult sums up a bulk call.
type BulkResult struct {
	Done    int
	Refused int
}

// Bounds is for looking at limits, rates and turns, and for releasing chains. Lists
// come in pages of at most domain.MaxPage (0: domain.DefaultPage) after the last
// one of the page before.
type Bounds interface {
	// Declared lists what kinds declare, by kind; those with N = 0 declared once.
	Declared(ctx context.Context, after string, limit int) ([]domain.Declaration, error)
	// Held lists taken slots by key and number: by whom, since when, for how long.
	Held(ctx context.Context, after domain.Slot, limit int) ([]domain.Holder, error)
	// Waiting lists the keys that jobs wait for, in byte order.
	Waiting(ctx context.Context, after string, limit int) ([]Waiting, error)
	// Chains lists the chains that a dead job blocks, by key.
	Chains(ctx context.Context, after string, limit int) ([]domain.Chain, error)
	// Release lets a blocked chain go on; NotFound where no dead job blocks it.
	Release(ctx context.Context, key string) (Released, error)
}

// Waiting says how many jobs wait for a key.
type Waiting struct {
	Key   string // as stored; domain.ParseBoundKey takes it apart
	N     int
	Exact bool // false: there are at least N
	// Turn is the job whose turn it is at a key of a mutex or chain: whatever it waits
	// for, all the others wait for it. Zero at other keys.
	Turn domain.JobID
}

// Released is the answer of a Release.
type Released struct {
	Dead  int // jobs that blocked the chain
	Woken int // jobs that could start at once
}

// Pruner is for removing rows whose retention ended.
type Pruner interface {
	// Prune removes what is over now, in passes, and says how many rows went.
	Prune(ctx context.Context, progress func(removed int)) (int, error)
}

// Worker is for running jobs.
type Worker interface {
	// Work runs jobs until the context ends, then stops gracefully.
	Work(ctx context.Context) error
	// Drain puts back what a crashed runner left, runs what is due of the handled
	// kinds and returns when nothing is left; it does not wait for back-offs, unless
	// it is to include what is delayed.
	Drain(ctx context.Context, o DrainOptions) (Drained, error)
}

// DrainOptions bounds a drain.
type DrainOptions struct {
	Limit    time.Duration // 0: 10 s; NoLimit: none
	Progress func(Drained) // called now and then; may be nil
	// IncludeDelayed runs also what is due later, retries and snoozes among it: whenever
	// nothing else is left all of it is made due, so a job that fails is tried until it is
	// dead. What is paused keeps its time.
	IncludeDelayed bool
}

// NoLimit is the Limit of a drain that takes as long as it takes.
const NoLimit time.Duration = -1

// Drained counts what a drain settled.
type Drained struct {
	Completed, Retried, Snoozed, Dead, Cancelled int
	Recovered                                    int // claims whose lease ran out, put back before
}

// Schema is for installing the tables.
type Schema interface {
	Up(ctx context.Context, to int) ([]Step, error)
	Down(ctx context.Context, to int) ([]Step, error)
	Status(ctx context.Context) ([]Step, error)
	Print(step int) (string, error)
}

// Step is one migration; AppliedAt is zero where it is not applied.
type Step struct {
	Number    int
	Name      string
	AppliedAt time.Time
}
