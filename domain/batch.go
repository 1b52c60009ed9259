package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Batch is a set of jobs, and a callback that is enqueued once when all of them
// are terminal. A batch finishes, it does not succeed: its members may be dead.
type Batch struct {
	ID         BatchID
	Name       string
	Tenant     string
	Callback   *Template // nil: none
	CreatedAt  time.Time
	SealedAt   time.Time // zero: members may be added
	FinishedAt time.Time // zero: not yet; a finished batch never moves
	Total      int64     // members when it was sealed
	Done       int64     // of a finished one: members that were done
	// Pending is how many members are not terminal, up to a cap, of an unfinished
	// batch that was looked up alone.
	Pending     int64
	CallbackJob JobID         // of a finished one with a callback
	Keep        time.Duration // how long the row stays once it is finished; negative: for ever
}

// Failed is how many members of a finished batch were not done: dead, cancelled or
// deleted.
func (b *Batch) Failed() int64 { return max(b.Total-b.Done, 0) }

// NewBatch is what a batch is made of.
type NewBatch struct {
	ID       BatchID // a UUIDv7
	Name     string  // for people; may be ""
	Tenant   string
	Callback *Template
	Keep     time.Duration // 0: DefaultBatchKeep; negative: for ever
}

// DefaultBatchKeep is how long a finished batch stays to be looked at.
const DefaultBatchKeep = 7 * 24 * time.Hour

// Validate refuses what no store can keep, and a callback that could not be enqueued.
func (b *NewBatch) Validate() error {
	if b.Name != "" {
		if err := ValidateName("batch name", b.Name, MaxBatch); err != nil {
			return err
		}
	}
	if b.Tenant != "" {
		if err := ValidateName("tenant", b.Tenant, MaxTenant); err != nil {
			return err
		}
	}
	fault := &Fault{Code: Invalid, Op: "check batch", Subject: CleanText(b.Name, 80)}
	switch {
	case b.ID.IsZero() || b.ID[6]>>4 != 7 || b.ID[8]>>6 != 2:
		fault.Hint = "the id must be a UUIDv7"
	case b.Keep > MaxDelay || b.Keep > 0 && b.Keep < time.Millisecond:
		fault.Hint = fmt.Sprintf("give 1ms to %v to keep it, a negative span for ever, or 0 for the default", MaxDelay)
	case b.Callback == nil:
		return nil
	default:
		probe := b.Callback.Job(b.ID.callback(), b.Tenant, Due{})
		if err := probe.Validate(); err != nil {
			return err
		}
		return checkCallbackArgs(b.Callback.Args)
	}
	return fault
}

func checkCallbackArgs(args []byte) error {
	var own map[string]json.RawMessage
	if err := json.Unmarshal(args, &own); err != nil || own == nil {
		return &Fault{Code: Invalid, Op: "check batch", Subject: "callback args", Hint: "they must be a JSON object: `batch` is put beside what is in it"}
	}
	if _, taken := own["batch"]; taken {
		return &Fault{Code: Invalid, Op: "check batch", Subject: "callback args.batch", Hint: "this field is filled in when the batch finishes; name yours otherwise"}
	}
	return nil
}

// BatchReport is what a callback learns: the field `batch` of its args.
type BatchReport struct {
	ID        BatchID `json:"id"`
	Name      string  `json:"name"`
	Tenant    string  `json:"-"`
	Total     int64   `json:"total"`
	Done      int64   `json:"done"`
	Failed    int64   `json:"failed"` // dead, cancelled or deleted
	Succeeded bool    `json:"succeeded"`
}

// Report is the report of a batch of which so many are done.
func (b *Batch) Report() BatchReport {
	return BatchReport{ID: b.ID, Name: b.Name, Tenant: b.Tenant, Total: b.Total, Done: b.Done, Failed: b.Failed(), Succeeded: b.Failed() == 0}
}

// Finish is the job that a batch adds when it finishes; nil: it has none. Its
// id follows from the batch's, so that it is added once.
func (b *Batch) Finish() (*NewJob, error) {
	if b.Callback == nil {
		return nil, nil
	}
	report, err := compact(b.Report())
	if err != nil {
		return nil, &Fault{Code: Internal, Op: "finish batch", Subject: b.ID.String(), Err: err}
	}
	own := bytes.TrimSpace(b.Callback.Args)
	if len(own) < 2 || own[0] != '{' { // somebody wrote over it
		own = []byte("{}")
	}
	args := append([]byte{}, own[:len(own)-1]...)
	if len(bytes.TrimSpace(args)) > 1 {
		args = append(args, ',')
	}
	args = append(append(append(args, `"batch":`...), report...), '}')
	job := b.Callback.Job(b.ID.callback(), b.Tenant, Due{})
	job.Args, job.Derived = args, true
	return &job, job.Validate()
}

// callback is the id of the batch's callback job.
func (id BatchID) callback() JobID { return DeriveJobID(JobID(id).Time(), []byte("batch"), id[:]) }

// Sealed is the answer of a seal.
type Sealed struct {
	Total int64
	Again bool // it was sealed before; nothing changed
}

// BatchState says where a batch stands.
type BatchState uint8

// The states of a batch.
const (
	AnyBatch      BatchState = iota
	BatchOpen                // members may be added
	BatchSealed              // it waits for its members
	BatchFinished            // its callback was enqueued
	batchStates
)

var batchStateNames = [batchStates]string{"any", "open", "sealed", "finished"}

// String is the state's word.
func (s BatchState) String() string {
	if s < batchStates {
		return batchStateNames[s]
	}
	return "unknown"
}

// State says where the batch stands.
func (b *Batch) State() BatchState {
	switch {
	case !b.FinishedAt.IsZero():
		return BatchFinished
	case !b.SealedAt.IsZero():
		return BatchSealed
	}
	return BatchOpen
}

// ParseBatchState reads a state's word.
func ParseBatchState(name string) (BatchState, error) {
	for i, known := range batchStateNames {
		if name == known {
			return BatchState(i), nil
		}
	}
	return 0, &Fault{Code: Invalid, Op: "parse batch state", Subject: CleanText(name, 80), Hint: "the states are open, sealed, finished"}
}

// BatchFilter chooses batches. What is zero does not choose.
type BatchFilter struct {
	Tenant string
	State  BatchState
}

// BatchPage asks for one page of batches, newest first. Before is the last id of the
// page before, zero for the first.
type BatchPage struct {
	Before BatchID
	Size   int // 0: DefaultPage
}

// ParseBatchID reads a batch id from its UUID text.
func ParseBatchID(text string) (BatchID, error) {
	id, ok := parseID(text)
	if !ok || id == (id128{}) {
		return BatchID{}, &Fault{Code: Invalid, Op: "parse batch id", Subject: CleanText(text, 80), Hint: "give the id as UUID text, as `rowlock batches list` prints it"}
	}
	return BatchID(id), nil
}

// UnmarshalText reads UUID text.
func (id *BatchID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseBatchID(string(text))
	return err
}

// Compare orders ids by their bytes, hence by the time they were made.
func (id BatchID) Compare(other BatchID) int { return bytes.Compare(id[:], other[:]) }
