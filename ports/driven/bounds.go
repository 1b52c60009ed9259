package driven

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Bounds are the roles of a store that hold jobs to limits, rates and turns.
type Bounds interface {
	Slots
	Declarer
	BoundFinder
}

// Slots is for giving claimed jobs all that their bounds ask for, or parking them.
type Slots interface {
	// Admit gives each claimed job a slot of each of its bounds and its turn at
	// each of its keys, all or none (bound/all), or parks it: blocked on the first
	// key that it lacks in byte order (bound/first), the claim over, no attempt
	// used (bound/parked). What a key allows is what was declared last for the
	// job's kind, never more (bound/limit), also by many calls at once (bound/race);
	// a kind without a declaration of that sort has no such bound (bound/open).
	// Where less is allowed than are held nothing starts before fewer are
	// (bound/lowered). A turn is given to the least (due, id) of its key alone
	// (turn/mutex), of a mutex by when it is due (turn/aside), of a chain by when it
	// was due as enqueued or rescheduled, until it is over for good (turn/chain).
	// A claim that is lost is in neither list and holds nothing (bound/lost). A call
	// whose answer was lost is made again: the claims get what they took (bound/again).
	// A call takes any number of jobs (bound/many).
	Admit(context.Context, AdmitRequest) (Admission, error)
	// Hold ends or prolongs slots of claims whose outcome is not (or was long ago)
	// settled, each guarded by its ticket; others are left alone (slot/fence). One that
	// Reap keeps for its Linger is prolonged too: its runner came back (slot/return).
	Hold(context.Context, []Holding) error
	// Wake makes ready the blocked jobs whose turn it is at keys that are free
	// (turn/head), and of limits and rates as many as are free (bound/wake), by
	// priority, due time and id (bound/order); none that waits for another key
	// (bound/apart). It looks at what is committed: call it after the write that
	// freed something. Any number of calls is fine, and any number of keys
	// (bound/keys).
	Wake(ctx context.Context, keys []string) (Woken, error)
	// Expire frees at most limit slots that were kept for a while that is over, and
	// names their keys, for Wake (slot/expire). One that a claim holds is not its
	// concern (slot/prolong).
	Expire(ctx context.Context, limit int) (Expired, error)
	// Reap looks at one page of slots: those whose job runs no more under the token
	// that took them are kept for Linger and then free (slot/orphan), and rows of
	// slots that were free for a minute go (slot/idle). What a running job holds is
	// never touched (slot/live), nor the slot of a rate before its window is over,
	// counted from the admission where nobody said when the handler started
	// (slot/started).
	Reap(context.Context, ReapRequest) (Reaped, error)
}

// AdmitRequest lists claimed jobs in the order of their claim.
type AdmitRequest struct {
	Wants []Want
}

// Want is what one claimed job asks for.
type Want struct {
	Ticket domain.Ticket
	Kind   string
	Limit  bool // it is under its kind's limit, if one is declared
	Rate   bool // it is under its kind's rate, if one is declared
	Turn   bool // it takes turns, at keys that the store knows
	// Its own keys of limit and rate, "" for the group's bucket.
	OwnLimit, OwnRate string
}

// Own is its own key of a bound of that sort.
func (w *Want) Own(sort domain.BoundSort) string {
	if sort == domain.BoundRate {
		return w.OwnRate
	}
	return w.OwnLimit
}

// Admission is the answer of an Admit.
type Admission struct {
	Admitted []Admitted // only these may start
	Parked   []Parking
	Wake     []string // keys that the parked ones touched: pass them to Wake (bound/interleave)
}

// Admitted is a job that may start.
type Admitted struct {
	ID    domain.JobID
	Slots []domain.HeldSlot
}

// Parking is a job that was parked.
type Parking struct {
	ID  domain.JobID
	Key string // that it lacked
}

// Holding is a slot of a claim.
type Holding struct {
	Ticket domain.Ticket
	Slot   domain.Slot
	// For is how long the slot stays taken, by the store's clock; 0 with End: no longer.
	For time.Duration
	// End gives the slot back; else the claim goes on to hold it, also where its job
	// does not run under it any more.
	End bool
}

// Woken is the answer of a Wake.
type Woken struct {
	Jobs   int
	Queues []string // that hold them
}

// LoosenRequest asks for one step of it.
type LoosenRequest struct {
	Limit int // jobs that are made ready
	// Depth is how many of those who wait in each group need be looked at, by key and
	// order; 0: all of them.
	Depth int
}

// Loosened is the answer of a Loosen.
type Loosened struct {
	Woken
	More bool // the limit was reached: call again
}

// Expired is the answer of an Expire.
type Expired struct {
	Keys []string
	Next time.Duration // until the next one, at most NoNext
	More bool          // the limit was reached: call again
}

// ReapRequest asks for one page of slots.
type ReapRequest struct {
	After  domain.Slot // the page begins after it; zero: at the first
	Limit  int
	Linger time.Duration
}

// Reaped is the answer of a Reap.
type Reaped struct {
	Orphans int
	Last    domain.Slot // of the page
	More    bool        // there are slots behind it
}

// Declarer is for what kinds declare.
type Declarer interface {
	// Declare stores the limits and rates of the kinds: all that each of them has,
	// from now on. Whoever shares a group has the N and window that were stored
	// last (bound/newest). What a kind had before and has no more is kept with N = 0
	// (bound/declared).
	Declare(ctx context.Context, kinds []string, all []domain.Declaration) error
	// Declared lists what was declared, by kind and sort, at most limit after the
	// kind; those with N = 0 too.
	Declared(ctx context.Context, after string, limit int) ([]domain.Declaration, error)
	// Loosen makes ready jobs that wait on a limit or rate of a group which their kind
	// does not declare, or not any more (bound/removed, bound/moved), and no other. It
	// need not look at groups that no kind names any more: those hold nobody back (Wake).
	Loosen(context.Context, LoosenRequest) (Loosened, error)
}

// Unchained is the answer of an Unchain.
type Unchained struct {
	Dead int      // jobs that blocked the chain
	Keys []string // of all their chains, in byte order: pass them to Wake
}

// BoundFinder is for looking at bounds.
type BoundFinder interface {
	// Held lists taken slots by key and number, at most limit after the given one
	// (slot/held). Whose they are and since when stays as it is while they are prolonged,
	// also once their claims are over (slot/whose).
	Held(ctx context.Context, after domain.Slot, limit int) ([]domain.Holder, error)
	// BlockedKeys lists the keys that blocked jobs wait for, in byte order, at most
	// limit after the given one (bound/pages). It must not walk the jobs of a key.
	BlockedKeys(ctx context.Context, after string, limit int) ([]string, error)
	// Chains lists the chains that a dead job blocks, each once, by key, at most
	// limit after the given one (turn/chains).
	Chains(ctx context.Context, after string, limit int) ([]domain.Chain, error)
	// Heads names, for those of the keys at which jobs take turns, whose turn it is:
	// only that one may start there, or nobody (turn/heads). Other keys, and those where
	// nobody has a place, are left out.
	Heads(ctx context.Context, keys []string) (map[string]domain.JobID, error)
	// Unchain releases a chain: the dead that block it lose their places, those at their
	// other keys too (turn/unchain).
	Unchain(ctx context.Context, key string) (Unchained, error)
}
