package driven

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Handler is for doing the work of one kind from raw args: the built-in kinds
// are such handlers. Run must be safe for concurrent use; its error is an
// outcome of domain (Bury, RetryAfter, Snooze, Cancel) or a plain failure.
type Handler interface {
	Kind() string
	Run(ctx context.Context, task Task) error
}

// Task is one attempt as a handler sees it.
type Task struct {
	ID          domain.JobID
	Kind        string
	Queue       string
	Tenant      string
	Runner      string
	Attempt     int // 1 is the first
	MaxAttempts int
	EnqueuedAt  time.Time
	Batch       domain.BatchID
	Tags        []string
	Meta        []byte
	Inline      bool // run by the caller, without a row
	Args        []byte
}
