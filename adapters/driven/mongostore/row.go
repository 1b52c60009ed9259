package mongostore

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/rowlock/rowlock/domain"
)

// row is a job's document. Moments are whole milliseconds since the epoch by the
// store's clock; spans are milliseconds, negative is for ever; ran is microseconds.
type row struct {
	ID            key          `bson:"_id"`
	State         domain.State `bson:"state"`
	Queue         string       `bson:"queue"`
	Kind          string       `bson:"kind"`
	Priority      int          `bson:"priority"`
	RunAt         int64        `bson:"run_at"`
	DueAt         int64        `bson:"due_at"`  // its place in a chain, which a retry does not change
	WakeAt        int64        `bson:"wake_at"` // when time alone moves the row: due, lease end, expiry; 0 never
	Attempts      int          `bson:"attempts,omitempty"`
	MaxAttempts   int          `bson:"max_attempts,omitempty"`
	Stalls        int          `bson:"stalls,omitempty"`
	Snoozes       int          `bson:"snoozes,omitempty"`
	Token         key          `bson:"token,omitempty"`   // of the claim: there exactly while running
	Settled       key          `bson:"settled,omitempty"` // the token whose outcome was written last
	Mark          key          `bson:"mark,omitempty"`    // the sweep or edit that wrote it last
	Runner        string       `bson:"runner,omitempty"`
	Stuck         int          `bson:"stuck,omitempty"`
	Timeout       int64        `bson:"timeout,omitempty"`
	ForgetArgs    int          `bson:"forget_args,omitempty"` // 1: at done, 2: they were
	LimitKey      string       `bson:"limit_key,omitempty"`
	Turn          domain.Turn  `bson:"turn,omitempty"`
	OnDead        int          `bson:"on_dead,omitempty"`
	BlockedOn     string       `bson:"blocked_on,omitempty"` // there exactly while blocked
	Keys          []string     `bson:"keys,omitempty"`       // stored keys of its turns, in byte order
	Place         *int64       `bson:"place,omitempty"`      // orders the turns at each of its keys, with the id; absent: it has no turn
	Blocks        int          `bson:"blocks,omitempty"`     // 1: it is dead and keeps its place
	UniqueKey     string       `bson:"unique_key,omitempty"`
	UniqueLock    string       `bson:"unique_lock,omitempty"` // the key scoped by its tenant, until terminal
	WindowLock    string       `bson:"window_lock,omitempty"` // that of a window, until the row goes
	Tenant        string       `bson:"tenant,omitempty"`
	Batch         key          `bson:"batch_id,omitempty"`
	FailureKind   string       `bson:"failure_kind,omitempty"`
	Own           int          `bson:"own,omitempty"`  // 1: added by Rowlock itself, under an id that is made again
	Todo          *todo        `bson:"todo,omitempty"` // what its death has left to do
	KeepDone      int64        `bson:"keep_done,omitempty"`
	KeepDead      int64        `bson:"keep_dead,omitempty"`
	KeepCancelled int64        `bson:"keep_cancelled,omitempty"`
	CreatedAt     int64        `bson:"created_at"`
	ClaimedAt     int64        `bson:"claimed_at,omitempty"`
	FinishedAt    int64        `bson:"finished_at,omitempty"`
	Ran           int64        `bson:"ran,omitempty"`
	Error         string       `bson:"error,omitempty"`
	Tags          []string     `bson:"tags,omitempty"`
	Meta          string       `bson:"meta,omitempty"`
	Result        string       `bson:"result,omitempty"`
	History       string       `bson:"history,omitempty"`
	Args          string       `bson:"args"`
}

// forgotten is forget_args of a row whose args were dropped.
const forgotten = 2

// newRow is the document of a new job.
func newRow(n *domain.NewJob, now int64) row {
	r := row{
		ID: key(n.ID), Queue: n.Queue, Kind: n.Kind, Priority: n.Priority, CreatedAt: now, Args: string(n.Args),
		MaxAttempts: n.MaxAttempts, Timeout: ms(n.Timeout), Tenant: n.Tenant, Tags: n.Tags, Meta: string(n.Meta),
		KeepDone: keepMS(n.Keep.Done), KeepDead: keepMS(n.Keep.Dead), KeepCancelled: keepMS(n.Keep.Cancelled),
		LimitKey: n.LimitKey, Turn: n.Turn, OnDead: int(n.OnDead), Keys: n.TurnKeys(), Batch: key(n.Batch), FailureKind: n.FailureKind,
	}
	r.State, r.RunAt, r.WakeAt = waiting(n.Due, now)
	r.DueAt = r.RunAt
	if r.Turn != domain.NoTurn {
		place := r.RunAt
		r.Place = &place
	}
	if n.ForgetArgs {
		r.ForgetArgs = 1
	}
	if n.Unique != nil {
		r.UniqueKey, r.UniqueLock = n.Unique.Key, n.Unique.Lock(n.Tenant)
		if domain.KeptLock(r.UniqueLock) {
			r.UniqueLock, r.WindowLock = "", r.UniqueLock
		}
	}
	return r
}

// waiting says how a row waits that is due as asked.
func waiting(due domain.Due, now int64) (state domain.State, runAt, wakeAt int64) {
	runAt = now + ms(due.After)
	if !due.At.IsZero() {
		runAt = due.At.UnixMilli()
	}
	if runAt > now {
		return domain.Scheduled, runAt, runAt
	}
	return domain.Ready, runAt, 0
}

// size is about how many bytes the document takes.
func (r *row) size() int {
	return 400 + len(r.Args) + len(r.Meta) + 200*len(r.Tags) + domain.MaxBound*len(r.Keys)
}

// job is the document as the domain knows it.
func (r *row) job() domain.Job {
	j := domain.Job{
		ID: domain.JobID(r.ID), State: r.State, Kind: r.Kind, Queue: r.Queue, Tenant: r.Tenant, Priority: r.Priority,
		RunAt: at(r.RunAt), Attempts: r.Attempts, MaxAttempts: r.MaxAttempts, Stalls: r.Stalls, Snoozes: r.Snoozes,
		Timeout: span(r.Timeout), UniqueKey: r.UniqueKey, Batch: domain.BatchID(r.Batch), Args: bytesOf(r.Args),
		Result: bytesOf(r.Result), Error: r.Error, History: domain.History(r.History), Tags: r.Tags, Meta: bytesOf(r.Meta),
		Keep:       domain.Retention{Done: keepSpan(r.KeepDone), Dead: keepSpan(r.KeepDead), Cancelled: keepSpan(r.KeepCancelled)},
		ForgetArgs: r.ForgetArgs > 0, Forgotten: r.ForgetArgs == forgotten, Runner: r.Runner, Stuck: r.Stuck > 0,
		CreatedAt: at(r.CreatedAt), ClaimedAt: moment(r.ClaimedAt), FinishedAt: moment(r.FinishedAt),
		Ran:      time.Duration(r.Ran) * time.Microsecond,
		LimitKey: r.LimitKey, Turn: r.Turn, OnDead: domain.OnDead(r.OnDead), BlockedOn: r.BlockedOn, FailureKind: r.FailureKind,
	}
	if r.State == domain.Running {
		j.LeaseUntil = moment(r.WakeAt)
	}
	return j
}

// keep is how long the row stays in a terminal state, its own wish before the default.
func (r *row) keep(state domain.State, def domain.Retention) time.Duration {
	own := domain.Retention{Done: keepSpan(r.KeepDone), Dead: keepSpan(r.KeepDead), Cancelled: keepSpan(r.KeepCancelled)}
	return own.For(state, def)
}

// ms cuts a span. A positive one stays positive.
func ms(d time.Duration) int64 {
	if d > 0 && d < time.Millisecond {
		return 1
	}
	return d.Milliseconds()
}

// keepMS is ms for a retention, where every negative span is for ever.
func keepMS(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return ms(d)
}

// expiry is when a terminal row may go, 0 for never.
func expiry(now int64, keep time.Duration) int64 {
	if keep < 0 {
		return 0
	}
	return now + ms(keep)
}

func span(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func keepSpan(n int64) time.Duration {
	if n < 0 {
		return domain.KeepForever
	}
	return span(n)
}

func at(n int64) time.Time { return time.UnixMilli(n).UTC() }

// moment is a time that may be none.
func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return at(n)
}

func bytesOf(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// change is an update: what is empty is unset, so that a document has no nulls.
type change struct{ set, unset, inc bson.D }

func (c *change) put(name string, value any) { c.set = append(c.set, bson.E{Key: name, Value: value}) }

func (c *change) drop(names ...string) {
	for _, name := range names {
		c.unset = append(c.unset, bson.E{Key: name, Value: ""})
	}
}
func (c *change) add(name string) { c.inc = append(c.inc, bson.E{Key: name, Value: 1}) }

// number sets a number, or unsets it where it is 0.
func (c *change) number(name string, value int64) {
	if value == 0 {
		c.drop(name)
		return
	}
	c.put(name, value)
}

// text sets a text, or unsets it where it is empty.
func (c *change) text(name, value string) {
	if value == "" {
		c.drop(name)
		return
	}
	c.put(name, value)
}

// update is the change as the server takes it.
func (c *change) update() bson.D {
	var u bson.D
	for _, op := range []struct {
		name   string
		fields bson.D
	}{{"$set", c.set}, {"$unset", c.unset}, {"$inc", c.inc}} {
		if len(op.fields) > 0 {
			u = append(u, bson.E{Key: op.name, Value: op.fields})
		}
	}
	return u
}
