package work

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Args is the type of a kind's arguments. Kind is asked of its zero value too.
type Args interface{ Kind() string }

// Job is one attempt as its handler sees it.
type Job[T any] struct {
	Info
	Args T
}

// Info is what is known of an attempt besides its args.
type Info struct {
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
	Meta        json.RawMessage
	Inline      bool // run by the caller, without a row
}

// Worker does the work of one kind. Work must be safe for concurrent use.
type Worker[T Args] interface {
	Work(ctx context.Context, job Job[T]) error
}

// Register adds a host's worker, as Handle does.
func Register[T Args](r *Registry, w Worker[T], opts ...Option) error {
	if w == nil {
		return refuse(domain.Invalid, reflect.TypeFor[T]().String(), "the worker is nil")
	}
	return Handle(r, w.Work, opts...)
}

// Handle adds a host's handler for the kind of T. It must be safe for concurrent
// use. Its error is an outcome (Bury, RetryAfter, Snooze, Cancel) or a failed
// attempt. Args that cannot be read into T fail the attempt and never reach it;
// numbers inside an `any` are json.Number, so no digit is lost. A second handler
// of the kind, or one after the start, is a Conflict.
func Handle[T Args](r *Registry, fn func(context.Context, Job[T]) error, opts ...Option) error {
	kind, err := kindOf[T]()
	if err != nil {
		return err
	}
	if fn == nil {
		return refuse(domain.Invalid, kind, "the handler is nil")
	}
	decode := decoderFor(reflect.TypeFor[T]())
	run := func(ctx context.Context, t *driven.Task) error {
		job := Job[T]{Info: infoOf(t)}
		if err := decode(t.Args, &job.Args); err != nil {
			return unreadable(t.Kind, err)
		}
		return fn(ctx, job)
	}
	return r.add(&Entry{Kind: kind, bare: run}, opts)
}

// kindOf asks the zero value of T, or a fresh one where T is a pointer.
func kindOf[T Args]() (kind string, err error) {
	t := reflect.TypeFor[T]()
	defer func() {
		if recover() != nil {
			err = refuse(domain.Invalid, t.String(), "its Kind method must answer for the zero value")
		}
	}()
	var zero T
	if t.Kind() == reflect.Pointer {
		zero = reflect.New(t.Elem()).Interface().(T)
	}
	return zero.Kind(), nil
}

func infoOf(t *driven.Task) Info {
	return Info{
		ID: t.ID, Kind: t.Kind, Queue: t.Queue, Tenant: t.Tenant, Runner: t.Runner,
		Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, EnqueuedAt: t.EnqueuedAt,
		Batch: t.Batch, Tags: t.Tags, Meta: t.Meta, Inline: t.Inline,
	}
}
