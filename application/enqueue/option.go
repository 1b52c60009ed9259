package enqueue

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Option says how one job shall be. A job's own options stand above those of
// its args type (a method EnqueueOptions() []Option).
type Option func(*request)

// Queue names the queue; without it "default".
func Queue(name string) Option { return func(r *request) { r.job.Queue = name } }

// Priority sets the priority: lower runs first, 0 is the default.
func Priority(p int) Option { return func(r *request) { r.job.Priority = p } }

// After delays the job, by the store's clock.
func After(d time.Duration) Option { return func(r *request) { r.after = &d } }

// At makes the job due at a moment. Not together with After.
func At(t time.Time) Option { return func(r *request) { r.at = &t } }

// MaxAttempts is how often the job is tried in all.
func MaxAttempts(n int) Option {
	return func(r *request) {
		if n < 1 {
			r.refuse("MaxAttempts", fmt.Sprintf("it is %d, it must be 1 or more", n))
		}
		r.job.MaxAttempts = n
	}
}

// Timeout bounds each attempt of the job.
func Timeout(d time.Duration) Option {
	return func(r *request) {
		if d <= 0 {
			r.refuse("Timeout", fmt.Sprintf("it is %v, it must be positive", d))
		}
		r.job.Timeout = d
	}
}

// Unique makes the job the only one of that key and tenant until it is
// terminal. What is there already is answered as Existing.
func Unique(key string) Option { return func(r *request) { r.key, r.window = &key, 0 } }

// UniqueFor makes the job the only one of that key and tenant in a window: time is cut
// into buckets of that length, from the epoch on and by the client's clock, and each
// has room for one job of the key, whether that is terminal or not. The row stays as
// long as the window at least.
func UniqueFor(key string, window time.Duration) Option {
	return func(r *request) {
		if window <= 0 {
			r.refuse("UniqueFor", fmt.Sprintf("the window is %v, it must be positive", window))
		}
		r.key, r.window = &key, window
	}
}

// OnConflict says what happens where the unique key is held: domain.Skip answers
// Existing, domain.Error is a Conflict that names the holder, domain.Replace makes a
// waiting holder the new job under its own id, with the mutex or chain keys and the
// batch that the holder has, domain.Reschedule moves a waiting holder to the new due
// time. A holder that runs or has ended is Existing, untouched.
func OnConflict(policy domain.OnConflict) Option { return func(r *request) { r.conflict = &policy } }

// Batch makes the job a member of a batch that is not sealed: its callback waits for
// it too. A job that is there already, by its id or unique key, is none.
func Batch(id domain.BatchID) Option {
	return func(r *request) {
		if id.IsZero() {
			r.refuse("Batch", "the id is zero")
		}
		r.job.Batch = id
	}
}

// FailureKind names the kind of the job that is added when this one dies, as
// work.OnDeath does for a whole kind.
func FailureKind(kind string) Option {
	return func(r *request) {
		if kind == "" {
			r.refuse("FailureKind", "it is empty")
		}
		r.job.FailureKind = kind
	}
}

// Mutex names keys that one job holds at a time: all or none, in turn over the
// due jobs of a key, by due time and id. A job that backs off steps aside. Keys
// are the tenant's own.
func Mutex(keys ...string) Option {
	return func(r *request) { r.turn("Mutex", domain.TurnMutex, keys) }
}

// Chain names keys at which jobs run strictly one after the other, by due time
// and id: the next one starts when the one before is settled for good, its
// retries included. OnDead says what a dead one does.
func Chain(keys ...string) Option {
	return func(r *request) { r.turn("Chain", domain.TurnChain, keys) }
}

// OnDead says what happens to the job's chains where it dies: domain.Continue
// lets the next one start, domain.Block holds the chain until the job is retried
// or deleted, by its retention too, or the chain is released by an operator.
func OnDead(what domain.OnDead) Option { return func(r *request) { r.onDead = &what } }

// LimitKey is the bucket that the job counts in, of its kind's limit and rate. It
// stands before the kind's own function.
func LimitKey(key string) Option {
	return func(r *request) {
		if key == "" {
			r.refuse("LimitKey", "it is empty")
		}
		r.job.LimitKey = key
	}
}

// Tenant stamps the job. A tenant in the context is stamped anyway, and naming
// another one is refused; Tenant("") asks for none.
func Tenant(name string) Option { return func(r *request) { r.job.Tenant, r.tenanted = name, true } }

// Tags adds tags, to those of the args type too.
func Tags(tags ...string) Option {
	return func(r *request) { r.job.Tags = slices.Concat(r.job.Tags, tags) }
}

// Meta sets metadata: whatever is a JSON object.
func Meta(v any) Option {
	return func(r *request) {
		text, err := work.Marshal("meta", v)
		if err != nil && r.err == nil {
			r.err = err
		}
		r.job.Meta = text
	}
}

// Keep says how long the row stays once it is terminal.
func Keep(k domain.Retention) Option { return func(r *request) { r.job.Keep = k } }

// ForgetArgs drops the args when the job is done; a dead one keeps them.
func ForgetArgs() Option { return func(r *request) { r.job.ForgetArgs = true } }

// ID gives the job an id of the caller's, a UUIDv7: a repeated enqueue of it is Existing.
func ID(id domain.JobID) Option {
	return func(r *request) {
		if id.IsZero() {
			r.refuse("ID", "it is zero, give a UUIDv7")
		}
		r.job.ID, r.named = id, true
	}
}

// In writes the job in the host's own transaction: rolled back, it was never
// there. It is not retried and, since its commit is not seen from here, no
// event tells of it. Runners of this process are woken several times within
// half a second, and tell others each time; what commits later is found by the next
// poll, unless the handle is one whose commit wakes them all (pgstore.NotifyTx). Whose
// turn comes since a holder was moved is left to the next sweep.
func In(tx driven.HostTx) Option {
	return func(r *request) {
		if tx == nil {
			r.refuse("In", "the transaction is nil")
		}
		r.tx = tx
	}
}
