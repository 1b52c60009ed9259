package rowlocktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// Want is one more thing that an enqueued job must be.
type Want func(*want)

type want struct {
	checks []func(*domain.Job) string // what is wrong with it, "" if nothing
}

// Queue wants the job in that queue.
func Queue(name string) Want {
	return wants(func(j *domain.Job) string { return differs("queue", j.Queue, name) })
}

// Tenant wants the job to be that tenant's, "" for nobody's.
func Tenant(name string) Want {
	return wants(func(j *domain.Job) string { return differs("tenant", j.Tenant, name) })
}

// Priority wants that priority.
func Priority(p int) Want {
	return wants(func(j *domain.Job) string { return differs("priority", j.Priority, p) })
}

// Tagged wants all those tags among the job's.
func Tagged(tags ...string) Want {
	return wants(func(j *domain.Job) string {
		for _, tag := range tags {
			if !slices.Contains(j.Tags, tag) {
				return fmt.Sprintf("it has no tag %q", tag)
			}
		}
		return ""
	})
}

// State wants the job in that state; without it any will do.
func State(s domain.State) Want {
	return wants(func(j *domain.Job) string { return differs("state", j.State, s) })
}

// DueIn wants the job due within so much of that delay, counted from its enqueue.
func DueIn(delay, give time.Duration) Want {
	return wants(func(j *domain.Job) string {
		got := j.RunAt.Sub(j.CreatedAt)
		if (got - delay).Abs() <= give {
			return ""
		}
		return fmt.Sprintf("it is due %v after its enqueue, not %v", got, delay)
	})
}

func wants(check func(*domain.Job) string) Want {
	return func(w *want) { w.checks = append(w.checks, check) }
}

func differs[T comparable](what string, got, want T) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("its %s is %v, not %v", what, got, want)
}

// RequireEnqueued fails the test unless exactly one job of the args' kind has those
// args (compared as JSON: the order of fields is nothing) and is all that is wanted.
// It gives that job.
func RequireEnqueued(t testing.TB, q *rowlock.Queue, args work.Args, more ...Want) domain.Job {
	t.Helper()
	found, near := find(t, q, args, more)
	switch len(found) {
	case 1:
		return found[0]
	case 0:
		t.Fatalf("no job %s is enqueued as wanted; of its kind there are:%s", args.Kind(), near)
	default:
		t.Fatalf("%d jobs %s are enqueued as wanted, not one", len(found), args.Kind())
	}
	return domain.Job{}
}

// RequireNotEnqueued fails the test if any job of the args' kind has those args and
// is all that is said.
func RequireNotEnqueued(t testing.TB, q *rowlock.Queue, args work.Args, more ...Want) {
	t.Helper()
	if found, _ := find(t, q, args, more); len(found) > 0 {
		t.Fatalf("%d jobs %s are enqueued, the first is %s", len(found), args.Kind(), found[0].ID)
	}
}

// find looks at every job of the kind, whosever it is.
func find(t testing.TB, q *rowlock.Queue, args work.Args, more []Want) (found []domain.Job, near string) {
	t.Helper()
	var w want
	for _, add := range more {
		add(&w)
	}
	text, err := work.Marshal("args", args)
	if err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	ctx := domain.WithTenant(t.Context(), "")
	for page := (domain.Page{Size: domain.MaxPage}); ; {
		jobs := list(ctx, t, q, args.Kind(), page)
		for i := range jobs {
			job := &jobs[i]
			if wrong := w.wrong(job, text); wrong != "" {
				fmt.Fprintf(&seen, "\n  %s: %s", job.ID, wrong)
				continue
			}
			found = append(found, *job)
		}
		if len(jobs) < page.Size {
			break
		}
		page.Before = jobs[len(jobs)-1].ID
	}
	if seen.Len() == 0 {
		seen.WriteString(" none")
	}
	return found, domain.CleanText(seen.String(), domain.MaxMessage)
}

func list(ctx context.Context, t testing.TB, q *rowlock.Queue, kind string, page domain.Page) []domain.Job {
	t.Helper()
	jobs, err := q.Inspect().List(ctx, domain.Filter{Kind: kind}, page)
	if err != nil {
		t.Fatalf("list jobs: %v", err)
	}
	return jobs
}

func (w *want) wrong(job *domain.Job, args []byte) string {
	if !sameJSON(job.Args, args) {
		return "its args are others"
	}
	for _, check := range w.checks {
		if wrong := check(job); wrong != "" {
			return wrong
		}
	}
	return ""
}

func sameJSON(a, b []byte) bool {
	read := func(text []byte) (v any, err error) {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		err = dec.Decode(&v)
		return v, err
	}
	x, errX := read(a)
	y, errY := read(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
