package work

import (
	"encoding/json"
	"fmt"

	"github.com/rowlock/rowlock/domain"
)

// FailedJob is what the args of a failure job hold: embed it in the args type of its
// kind, whose other fields stay empty.
type FailedJob struct {
	Job struct {
		ID          domain.JobID    `json:"id"`
		Kind        string          `json:"kind"`
		Args        json.RawMessage `json:"args"`
		Attempt     int             `json:"attempt"`
		MaxAttempts int             `json:"max_attempts"`
	} `json:"job"`
	Error string `json:"error"`
}

// BatchReport is what the args of a batch's callback hold beside its own: give the
// args type a field `Batch work.BatchReport` with the tag `json:"batch,omitzero"`.
type BatchReport = domain.BatchReport

// Failures are the failure kinds that the kinds declare. One that nobody handles here
// is refused by name.
func (r *Registry) Failures() (map[string]string, error) {
	failures := make(map[string]string)
	for _, kind := range r.Kinds() {
		e, ok := r.Find(kind)
		if !ok || e.Failure == "" {
			continue
		}
		if _, known := r.Find(e.Failure); !known {
			return nil, refuse(domain.Invalid, kind, fmt.Sprintf("OnDeath names the kind %q, which has no handler here", e.Failure))
		}
		failures[kind] = e.Failure
	}
	return failures, nil
}
