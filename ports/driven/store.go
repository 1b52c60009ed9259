package driven

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Store is all roles of a job store; a service takes the one it needs. Methods
// are safe for concurrent use. Errors are *domain.Fault by the store's typed
// codes (errors/codes); a store never retries, retrystore does.
type Store interface {
	Inserter
	Claimer
	Settler
	Leases
	Editor
	Finder
	Pruner
	Runners
	Bounds
	Batches
	Schedules
	Switches
}

// Inserter is for writing new jobs.
type Inserter interface {
	// Insert writes all rows or none (insert/atomic), however many there are
	// (insert/many), and answers for each in order. A row whose id or unique key
	// is held, also by an earlier row of the call, is Existing with the holder's
	// id and changes nothing (unique/skip); with domain.Error a held key makes
	// the whole call a Conflict whose Subject is the holder's id (unique/error).
	// With domain.Replace a waiting holder takes from the new job all but id, tenant,
	// unique key, turns and batch, attempts and stalls 0, and waits as the new one would
	// (unique/replace); with domain.Reschedule it takes the due time alone
	// (unique/reschedule); both move its place in chains, and a holder that is blocked
	// is so no more. A holder that runs or is terminal is Existing, untouched
	// (unique/busy). The key frees in the write that makes its row terminal
	// (unique/frees), that of a window with its row (unique/window). Of holders that an
	// earlier row of the call wrote or changed the last word counts (unique/twice).
	// A batch that a row names must be there, of the row's tenant or of none, and not
	// sealed, else the call is NotFound or a Conflict whose Subject is the batch's id,
	// and nothing is written (batch/sealed). Only what was written is a member (batch/existing).
	// Rows come validated; the store writes now + Due.After by its own clock,
	// and a row that is due is ready (insert/due), whether its turns are free or not.
	Insert(context.Context, []domain.NewJob) ([]Inserted, error)
}

// Inserted is the answer for one row.
type Inserted struct {
	ID     domain.JobID // of the row that is there now
	Result domain.Inserted
	Keys   []string // turns of a holder that was moved: pass them to Wake
}

// Claimer is for taking due jobs.
type Claimer interface {
	// Claim moves at most N due jobs of one queue and the given kinds from ready
	// to running, under the fresh token and a lease from the store's now, and
	// answers them in order of priority, due time, id (order/all). No two claims
	// get one job (claim/once), none before it is due (claim/due), none of
	// another queue or kind (claim/kinds). Scheduled jobs that time has made due
	// are made ready first (claim/promote). Attempts stay as they are (claim/attempts).
	Claim(context.Context, ClaimRequest) (Claims, error)
	// Queues lists the queues that hold a ready or scheduled job, in byte order,
	// at most limit after the given name (claim/queues). It must not walk the
	// rows of a queue.
	Queues(ctx context.Context, after string, limit int) ([]string, error)
}

// ClaimRequest asks for due jobs.
type ClaimRequest struct {
	Token  domain.Token // fresh
	Runner string
	Lease  time.Duration
	Queue  string
	Kinds  []string // none: nothing is claimed
	N      int
	// Fair serves the queue's tenants in turn (fair/turns): the first is the one that
	// follows After in byte order, after the greatest comes the least (fair/wraps),
	// and "", the jobs of none, is one of them. Each gets its share of N, rounded up,
	// while there is room, its own jobs in their order (fair/order); what a tenant has
	// no use for goes to others (fair/room). A claim looks at so many tenants, and so
	// many jobs of each, that it stays bounded, and each has its turn (fair/bounded).
	// Where the jobs of none have no index of their own their turn may go to the
	// first jobs of all, whosever they are: theirs come by age.
	Fair  bool
	After string
}

// Claims is what was taken.
type Claims struct {
	Jobs []Claimed
	// Tenant is whose turn a fair claim served last: After of the next one. Where it
	// took nothing it is that claim's own After.
	Tenant string
	// Next is how long until time alone makes a job of any queue ready, at most
	// an hour; a store that gave all N need not look (claim/next).
	Next time.Duration
	// More says that due jobs may be left that only the limits of this call
	// held back: claim again without a wait.
	More bool
}

// NoNext is a Claims' Next where nothing is scheduled.
const NoNext = time.Hour

// Claimed is one taken job. Of Job the store fills what a runner works with:
// ID, State, Kind, Queue, Tenant, Priority, RunAt, Attempts, MaxAttempts,
// Stalls, Snoozes, Timeout, LimitKey, Turn, OnDead, Batch, FailureKind, Args, Error, History, Tags, Meta, Keep,
// ForgetArgs, CreatedAt and ClaimedAt (claim/fields).
type Claimed struct {
	Token domain.Token
	Job   domain.Job
}

// Ticket is the claim's right to the job.
func (c *Claimed) Ticket() domain.Ticket { return domain.Ticket{ID: c.Job.ID, Token: c.Token} }

// Settler is for recording the outcomes of claims.
type Settler interface {
	// Settle writes the outcomes, each guarded by its ticket (settle/fence).
	// What another claim, an operator or an earlier outcome overtook is Dropped
	// and the others stand (settle/partial); an outcome that this very token
	// settled before is a success, not Dropped (settle/repeat). One illegal
	// outcome never fails the rest (settle/illegal).
	Settle(context.Context, []Outcome) (Settled, error)
}

// Outcome is what becomes of one claim.
type Outcome struct {
	Ticket     domain.Ticket
	To         domain.State   // Done, Dead, Cancelled, Scheduled or Ready
	After      time.Duration  // due again at the store's now + After, for Scheduled
	Counts     bool           // attempts + 1 and stalls = 0
	Snoozed    bool           // snoozes + 1
	Ran        time.Duration  // how long the handler ran
	Result     []byte         // JSON, for Done
	Error      string         // the last error; Done clears it
	History    domain.History // the whole history from now on
	Keep       time.Duration  // for a terminal state: until pruned; negative: for ever
	ForgetArgs bool           // args are emptied, for Done
	// Slots are given back in the same write (slot/settle), guarded by the ticket
	// alone: also those of an outcome that is Dropped (slot/dropped) or settled
	// again (slot/repeat).
	Slots []domain.SlotEnd
	// Turn says that the job takes turns: its places follow what becomes of it (turn/dies),
	// but not an outcome that is Dropped or settled again (turn/late).
	Turn bool
	// Failure is added in the same write where the job dies by it (failure/added),
	// once, however often that is settled (failure/once). Where it is refused the job
	// dies without it (failure/refused).
	Failure *domain.NewJob
}

// Settled is the answer of a Settle.
type Settled struct {
	Dropped []domain.JobID
	Refused []domain.JobID // dead without the failure job that they were to have
}

// Leases is for keeping claims alive and putting back those that are not.
type Leases interface {
	// Renew sets the lease of every ticket to the store's now + Lease, guarded by
	// token and state and not by time: a lapsed lease that nobody took is renewed
	// (lease/lapsed). Tickets that no longer hold their job are Lost (lease/lost), but
	// for those of a job that is cancelled: these are Cancelled (lease/cancelled).
	Renew(context.Context, RenewRequest) (Renewed, error)
	// Recover puts back claims whose lease ran out, by the store's clock, at most
	// Limit (recover/bounded). What becomes of each is domain.StallPolicy.Next; its history
	// gains domain.StallMessage. A live lease is never touched (recover/live), and
	// one bad row never keeps the others (recover/bad).
	Recover(context.Context, RecoverRequest) (Recovered, error)
}

// RenewRequest names the claims a runner holds.
type RenewRequest struct {
	Tickets []Renewal
	Lease   time.Duration
}

// Renewal is one held claim.
type Renewal struct {
	Ticket domain.Ticket
	Stuck  bool // its handler runs on after its timeout
}

// Renewed is the answer of a Renew.
type Renewed struct {
	Lost      []domain.JobID
	Cancelled []domain.JobID // not renewed either; a call that renews all asks for none
}

// RecoverRequest bounds one sweep.
type RecoverRequest struct {
	Limit    int
	Stalls   domain.StallPolicy
	KeepDead time.Duration // for those that die, where the row has no own retention
	Except   string        // the calling runner, whose own claims stay
	// Failures are the failure kinds of kinds, for rows that name none: who dies here
	// has its failure job in the same write (failure/stalled).
	Failures map[string]string
	// Attempts is how often a job is tried that does not say so, for its failure job.
	Attempts int
}

// Recovered is what a sweep put back.
type Recovered struct {
	Jobs []Recovery
	More bool // the limit was reached: sweep again
}

// Recovery is one claim that was put back.
type Recovery struct {
	ID     domain.JobID
	Kind   string
	Queue  string
	Runner string // whose lease ran out
	To     domain.State
	Stalls int
	After  time.Duration
	Batch  domain.BatchID
	// Failed is its failure job, zero where it has none; Refused says that it should
	// have one.
	Failed  domain.JobID
	Refused bool
}

// Editor is for an operator's changes. Each answers per id, in order; ids not
// there or of another tenant are NotFound (edit/tenant), those in a state that was
// not asked for are Conflict (edit/states). An id that is named twice has one
// answer (edit/twice). One refusal never keeps the rest (edit/partial). A job that
// waited for a bound waits for it no more (bound/edited), its turns follow what
// becomes of it, and the answer names their keys for Wake (turn/cancel), and the
// batch of one that is terminal or gone, for FinishBatches (batch/edited).
type Editor interface {
	// Retry makes waiting and terminal jobs due as asked, attempts and stalls 0,
	// history kept, the unique key retaken (edit/retry). Running: Conflict naming
	// the runner. Key held by another: Conflict naming the holder (edit/clash).
	// Args forgotten: Conflict. Its turns are those that it had (turn/retry), also
	// if its chains were released from it meanwhile (turn/unchain). A batch that is not
	// finished waits for it again, a finished one never moves (batch/retried).
	Retry(context.Context, EditRequest) ([]domain.Edited, error)
	// Cancel makes waiting jobs cancelled (edit/cancel), and running ones at once: the
	// claim is over, its outcome Dropped, attempts stay, and the row says which runner it
	// was (edit/cancel-running). What such a job holds of its bounds stays taken until its
	// runner gives it back or a sweep finds it, for the handler may run on
	// (slot/cancelled). A cancelled one stays so and is no fault; done, dead: Conflict.
	Cancel(context.Context, EditRequest) ([]domain.Edited, error)
	// Delete removes rows (edit/delete) with their turns (turn/delete). Running:
	// Conflict naming the runner.
	Delete(context.Context, EditRequest) ([]domain.Edited, error)
	// Reschedule moves the due time of waiting jobs (edit/reschedule), and with it
	// their place in chains too (turn/reschedule); others: Conflict.
	Reschedule(context.Context, EditRequest) ([]domain.Edited, error)
}

// EditRequest names the jobs to change.
type EditRequest struct {
	IDs    []domain.JobID
	Tenant string // "" is any
	// States are those that the caller saw and means: a job that has left them is
	// refused. None: any.
	States []domain.State
	Due    domain.Due
	Keep   time.Duration // Cancel: until pruned, where the row has no own retention
}

// Finder is for looking. Nothing of it scans without a bound but Match and Jobs
// with a filter that no index serves, which end with their context (find/bounded).
type Finder interface {
	// Job answers one whole row; NotFound, also for another tenant's (find/one).
	Job(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error)
	// Jobs answers one page, newest id first, without gaps or repeats (find/pages).
	Jobs(context.Context, domain.Filter, domain.Page) ([]domain.Job, error)
	// Match answers ids alone, newest first, as Jobs does (find/match).
	Match(context.Context, domain.Filter, domain.Page) ([]domain.JobID, error)
	// Count counts up to the limit; exact is false where there are more (find/count).
	Count(ctx context.Context, f domain.Filter, limit int) (n int, exact bool, err error)
	// Stats counts each state up to a cap (find/stats).
	Stats(ctx context.Context, tenant string, limit int) (domain.Stats, error)
}
