package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Job is a job's row. Times are UTC, to the millisecond, zero where there is none.
type Job struct {
	ID          JobID
	State       State
	Kind        string
	Queue       string
	Tenant      string
	Priority    int       // lower runs first
	RunAt       time.Time // due; the second sort key of the claim
	Attempts    int       // settled attempts
	MaxAttempts int       // 0: the runner's default
	Stalls      int       // stalls in a row
	Snoozes     int
	Timeout     time.Duration // 0: the runner's default
	UniqueKey   string
	LimitKey    string   // its own key of its kind's limit or rate
	Turn        Turn     // whether it takes turns at its keys
	Keys        []string // those keys; of a single job that was looked up
	OnDead      OnDead
	BlockedOn   string // while blocked: the stored key of the bound that it waits for
	Batch       BatchID
	FailureKind string // of the job that is added when this one dies; "": none
	Args        []byte // JSON text, byte-exact
	Result      []byte // JSON text
	Error       string // the last error
	History     History
	Tags        []string
	Meta        json.RawMessage // a JSON object of the caller's
	Keep        Retention
	ForgetArgs  bool // args are dropped when the job is done
	Forgotten   bool // they were
	Runner      string
	Stuck       bool // runs on after its timeout
	CreatedAt   time.Time
	ClaimedAt   time.Time
	FinishedAt  time.Time
	LeaseUntil  time.Time // while running
	Ran         time.Duration
}

// Ticket is a claim's right to its job: no later write of the attempt is let through without it.
type Ticket struct {
	ID    JobID
	Token Token
}

// Due says when a job shall run: After counts from the store's own now, At is a
// moment that a user named. Not both; neither means now.
type Due struct {
	After time.Duration
	At    time.Time
}

// Validate refuses what cannot be stored.
func (d Due) Validate() error {
	hint := ""
	switch {
	case d.After != 0 && !d.At.IsZero():
		hint = "give a delay or a moment, not both"
	case d.After < 0 || d.After > MaxDelay:
		hint = fmt.Sprintf("the delay is %v, it must be from 0 to %v", d.After, MaxDelay)
	case !d.At.IsZero() && (d.At.Before(minMoment) || d.At.After(maxMoment)):
		hint = "the moment must lie between 1970 and 9999"
	default:
		return nil
	}
	return &Fault{Code: Invalid, Op: "check due time", Hint: hint}
}

// NewJob is what an enqueue asks for.
type NewJob struct {
	ID          JobID // a UUIDv7; the same id again is Existing
	Kind        string
	Queue       string
	Tenant      string
	Priority    int
	Due         Due
	Args        []byte
	MaxAttempts int           // 0: the runner's default
	Timeout     time.Duration // 0: the runner's default
	Unique      *Unique
	LimitKey    string   // its own key of its kind's limit or rate, before the kind's function
	Turn        Turn     // set exactly where there are Keys
	Keys        []string // turns that it takes, all or none
	OnDead      OnDead   // of a chain
	Batch       BatchID  // that it is a member of
	FailureKind string   // of the job that is added when this one dies; "": its kind's
	Tags        []string
	Meta        json.RawMessage
	Keep        Retention
	ForgetArgs  bool
	// Derived says that Rowlock made the args around a job's own, so that the limit
	// of their size does not count.
	Derived bool
}

// TurnKeys are the stored keys of the turns that the job takes, in byte order.
func (n *NewJob) TurnKeys() []string {
	if n.Turn == NoTurn {
		return nil
	}
	keys := make([]string, len(n.Keys))
	for i, key := range n.Keys {
		keys[i] = TurnKey(n.Turn, n.Tenant, key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Validate is the one check of a new job at every door.
func (n *NewJob) Validate() error {
	checks := []error{
		n.validateNames(),
		n.validateNumbers(),
		n.validateBounds(),
		n.Due.Validate(),
		n.Keep.Validate(),
		n.validateArgs(),
		n.validateMeta(),
	}
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *NewJob) validateArgs() error {
	if !n.Derived {
		return ValidateJSON("args", n.Args, MaxArgs)
	}
	if len(n.Args) > maxDerived || !json.Valid(n.Args) {
		return badJSON("args", "what was made around a job's own args is not JSON, or too long")
	}
	return nil
}

func (n *NewJob) validateNames() error {
	if err := ValidateName("kind", n.Kind, MaxKind); err != nil {
		return err
	}
	if err := ValidateName("queue", n.Queue, MaxQueue); err != nil {
		return err
	}
	if n.Tenant != "" {
		if err := ValidateName("tenant", n.Tenant, MaxTenant); err != nil {
			return err
		}
	}
	if n.Unique != nil {
		if err := n.Unique.Validate(); err != nil {
			return err
		}
	}
	if n.FailureKind != "" {
		if err := ValidateName("failure kind", n.FailureKind, MaxKind); err != nil {
			return err
		}
	}
	if len(n.Tags) > MaxTags {
		return &Fault{Code: Invalid, Op: "check tags", Hint: fmt.Sprintf("there are %d, the limit is %d", len(n.Tags), MaxTags)}
	}
	for _, tag := range n.Tags {
		if err := ValidateName("tag", tag, MaxTag); err != nil {
			return err
		}
	}
	return nil
}

func (n *NewJob) validateNumbers() error {
	hint := ""
	switch {
	case n.ID.IsZero() || n.ID[6]>>4 != 7 || n.ID[8]>>6 != 2:
		hint = "the id must be a UUIDv7, so that ids rise with time"
	case n.Priority < MinPriority || n.Priority > MaxPriority:
		hint = fmt.Sprintf("the priority is %d, it must be from %d to %d", n.Priority, MinPriority, MaxPriority)
	case n.MaxAttempts < 0 || n.MaxAttempts > MaxMaxAttempts:
		hint = fmt.Sprintf("the attempts are %d, they must be from 1 to %d", n.MaxAttempts, MaxMaxAttempts)
	case n.Timeout < 0 || n.Timeout > MaxDelay || (n.Timeout > 0 && n.Timeout < time.Millisecond):
		hint = fmt.Sprintf("the timeout is %v, it must be from 1ms to %v", n.Timeout, MaxDelay)
	default:
		return nil
	}
	return &Fault{Code: Invalid, Op: "check job", Subject: CleanText(n.Kind, MaxKind), Hint: hint}
}

func (n *NewJob) validateBounds() error {
	if n.LimitKey != "" {
		if err := ValidateName("limit key", n.LimitKey, MaxKey); err != nil {
			return err
		}
	}
	for _, key := range n.Keys {
		if err := ValidateName(n.Turn.Sort().String()+" key", key, MaxKey); err != nil {
			return err
		}
	}
	hint := ""
	switch {
	case n.Turn > TurnChain || (n.Turn == NoTurn) != (len(n.Keys) == 0):
		hint = "a job that takes turns needs its keys, and only that one"
	case len(n.Keys) > MaxKeys:
		hint = fmt.Sprintf("there are %d keys, the limit is %d", len(n.Keys), MaxKeys)
	case n.OnDead > Block:
		hint = fmt.Sprintf("OnDead is %d, it must be Continue or Block", n.OnDead)
	case n.OnDead == Block && n.Turn != TurnChain:
		hint = "only a chain can be blocked by its dead"
	default:
		return nil
	}
	return &Fault{Code: Invalid, Op: "check turns", Subject: CleanText(n.Kind, MaxKind), Hint: hint}
}

func (n *NewJob) validateMeta() error {
	if len(n.Meta) == 0 {
		return nil
	}
	if err := ValidateJSON("meta", n.Meta, MaxMeta); err != nil {
		return err
	}
	if bytes.TrimLeft(n.Meta, jsonSpace)[0] != '{' {
		return badJSON("meta", "it must be a JSON object")
	}
	return nil
}

// Inserted says what an enqueue did.
type Inserted uint8

// The answers of an enqueue.
const (
	InsertedNew Inserted = iota // a row was written
	Existing                    // a row of that id or unique key was there, untouched
	Replaced                    // the waiting holder of the unique key became the new job
	Rescheduled                 // the waiting holder of the unique key is due as the new job would be
	insertedAnswers
)

var insertedNames = [insertedAnswers]string{"inserted", "existing", "replaced", "rescheduled"}

// String is the answer's word.
func (i Inserted) String() string {
	if i < insertedAnswers {
		return insertedNames[i]
	}
	return "unknown"
}

// MarshalText gives the answer's word.
func (i Inserted) MarshalText() ([]byte, error) { return []byte(i.String()), nil }
