package domain

import (
	"encoding/json"
	"time"
)

// Template is a job that Rowlock enqueues by itself, later: a batch's callback, a
// schedule's tick. It is stored as one JSON text.
type Template struct {
	Kind        string          `json:"kind"`
	Queue       string          `json:"queue"`
	Priority    int             `json:"priority,omitempty"`
	Args        json.RawMessage `json:"args"`
	MaxAttempts int             `json:"max_attempts,omitempty"`
	Timeout     int64           `json:"timeout_ms,omitempty"`
	FailureKind string          `json:"failure_kind,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Meta        json.RawMessage `json:"meta,omitempty"`
	KeepDone    int64           `json:"keep_done_ms,omitempty"`
	KeepDead    int64           `json:"keep_dead_ms,omitempty"`
	KeepCancel  int64           `json:"keep_cancelled_ms,omitempty"`
	ForgetArgs  bool            `json:"forget_args,omitempty"`
}

// TemplateOf is the job without what belongs to one enqueue alone: its id, tenant,
// due time, unique key, turns and batch.
func TemplateOf(n *NewJob) Template {
	return Template{
		Kind: n.Kind, Queue: n.Queue, Priority: n.Priority, Args: json.RawMessage(n.Args),
		MaxAttempts: n.MaxAttempts, Timeout: n.Timeout.Milliseconds(), FailureKind: n.FailureKind,
		Tags: n.Tags, Meta: n.Meta, ForgetArgs: n.ForgetArgs,
		KeepDone: storedSpan(n.Keep.Done), KeepDead: storedSpan(n.Keep.Dead), KeepCancel: storedSpan(n.Keep.Cancelled),
	}
}

// Job makes the job of the template.
func (t *Template) Job(id JobID, tenant string, due Due) NewJob {
	return NewJob{
		ID: id, Kind: t.Kind, Queue: t.Queue, Tenant: tenant, Priority: t.Priority, Due: due, Args: t.Args,
		MaxAttempts: t.MaxAttempts, Timeout: time.Duration(t.Timeout) * time.Millisecond, FailureKind: t.FailureKind,
		Tags: t.Tags, Meta: t.Meta, ForgetArgs: t.ForgetArgs,
		Keep: Retention{readSpan(t.KeepDone), readSpan(t.KeepDead), readSpan(t.KeepCancel)},
	}
}

// Text is the template as it is stored.
func (t *Template) Text() (string, error) {
	text, err := compact(t)
	return string(text), err
}

// ParseTemplate reads a stored template. One that somebody broke is Invalid.
func ParseTemplate(text string) (t Template, err error) {
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return Template{}, &Fault{Code: Invalid, Op: "read template", Hint: "its stored text is not what Rowlock wrote", Err: err}
	}
	return t, nil
}

// storedSpan is in milliseconds, negative for ever.
func storedSpan(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

func readSpan(ms int64) time.Duration {
	if ms < 0 {
		return KeepForever
	}
	return time.Duration(ms) * time.Millisecond
}
