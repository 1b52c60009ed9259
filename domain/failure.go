package domain

import (
	"bytes"
	"cmp"
	"encoding/json"
)

// failureArgs are the args of a failure job.
type failureArgs struct {
	Job   failedJob `json:"job"`
	Error string    `json:"error"`
}

type failedJob struct {
	ID          JobID           `json:"id"`
	Kind        string          `json:"kind"`
	Args        json.RawMessage `json:"args"`
	Attempt     int             `json:"attempt"`
	MaxAttempts int             `json:"max_attempts"`
}

// FailsInto is the kind of the failure job that the job has when it dies: what it
// names, else what its kind declares; "": none. A failure job names its own kind, by
// which it is known to have none itself.
func (j *Job) FailsInto(declared string) string {
	if kind := cmp.Or(j.FailureKind, declared); kind != j.Kind {
		return kind
	}
	return ""
}

// FailureJob is what is added when a job dies under a claim, of the kind that
// FailsInto says. Its id follows from the claim, so that it is added once. It is in
// the job's queue and tenant, in no batch, and has no failure job of its own. Attempts
// that the job does not bound itself are the runner's to name.
func FailureJob(job *Job, kind string, token Token, attempt, maxAttempts int, message string) (NewJob, error) {
	args := json.RawMessage(job.Args)
	if !json.Valid(args) { // somebody wrote over them
		args, _ = json.Marshal(CleanText(string(args), MaxMessage))
	}
	text, err := compact(failureArgs{
		Job:   failedJob{job.ID, job.Kind, args, attempt, maxAttempts},
		Error: CleanText(message, MaxMessage),
	})
	if err != nil {
		return NewJob{}, &Fault{Code: Invalid, Op: "make failure job", Subject: job.ID.String(), Hint: "its args cannot be written as JSON", Err: err}
	}
	made := NewJob{
		ID:   DeriveJobID(job.ClaimedAt, []byte("failure"), job.ID[:], token[:]),
		Kind: kind, Queue: job.Queue, Tenant: job.Tenant, Args: text, FailureKind: kind, Derived: true,
	}
	return made, made.Validate()
}

// compact is JSON without the escapes that are for HTML.
func compact(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
