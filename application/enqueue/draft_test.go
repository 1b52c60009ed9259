package enqueue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
)

// mourned is a kind whose args ask for a failure job.
type mourned struct{}

func (mourned) Kind() string                     { return "mourned" }
func (mourned) EnqueueOptions() []enqueue.Option { return []enqueue.Option{enqueue.FailureKind("own")} }

func TestFailureKindPrecedence(t *testing.T) {
	f, r := &fake{}, work.NewRegistry()
	for _, k := range []string{"own", "declared", "named"} {
		must(t, r.AddBuiltin(kind(k)))
	}
	must(t, work.Handle(r, func(context.Context, work.Job[mourned]) error { return nil }, work.OnDeath("declared")))
	for _, c := range []struct {
		client *enqueue.Client
		opts   []enqueue.Option
		want   string
	}{
		{client(f, nil), nil, "own"},
		{client(f, r), nil, ""}, // its kind's, which the runner knows
		{client(f, r), []enqueue.Option{enqueue.FailureKind("named")}, "named"},
	} {
		_, _, err := c.client.Enqueue(t.Context(), mourned{}, c.opts...)
		must(t, err)
		if got := f.rows[len(f.rows)-1].FailureKind; got != c.want {
			t.Errorf("the row names %q, want %q", got, c.want)
		}
	}
}

func TestFailureKindsAreJudged(t *testing.T) {
	f, r := &fake{}, work.NewRegistry()
	must(t, r.AddBuiltin(kind("hello")))
	for name, err := range map[string]error{
		"unknown": second(client(f, r).Enqueue(t.Context(), hello{}, enqueue.FailureKind("typo"))),
		"own":     second(client(f, nil).Enqueue(t.Context(), hello{}, enqueue.FailureKind("hello"))),
		"empty":   second(client(f, nil).Enqueue(t.Context(), hello{}, enqueue.FailureKind(""))),
		"long":    second(client(f, nil).Enqueue(t.Context(), hello{}, enqueue.FailureKind(strings.Repeat("x", 121)))),
		"raw":     client(f, r).Check(t.Context(), domain.NewJob{Kind: "hello", Args: []byte("1"), FailureKind: "typo"}),
	} {
		if domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		if (name == "unknown" || name == "raw") && !strings.Contains(err.Error(), "failure kind is registered; known are hello") {
			t.Errorf("%s: the known are not named: %v", name, err)
		}
	}
	if len(f.rows) != 0 {
		t.Error("something was written")
	}
}

func second(_ enqueue.Job, _ domain.Inserted, err error) error { return err }

func TestTemplate(t *testing.T) {
	f := &fake{}
	acme := domain.WithTenant(t.Context(), "acme")
	got, err := client(f, nil).Template(acme, hello{Name: "<"}, enqueue.Queue("q"), enqueue.Priority(3), enqueue.MaxAttempts(2),
		enqueue.Timeout(time.Minute), enqueue.Tags("a"), enqueue.FailureKind("f"), enqueue.ForgetArgs(), enqueue.Keep(domain.Retention{Dead: domain.KeepForever}))
	must(t, err)
	if job := got.Job(f.NewJobID(), "acme", domain.Due{}); got.Kind != "hello" || string(job.Args) != `{"name":"<"}` || job.Queue != "q" || job.Priority != 3 ||
		job.MaxAttempts != 2 || job.Timeout != time.Minute || job.FailureKind != "f" || !job.ForgetArgs || job.Keep.Dead != domain.KeepForever {
		t.Errorf("template %+v", got)
	}
	batch := domain.BatchID(f.NewJobID())
	for name, opt := range map[string]enqueue.Option{
		"After": enqueue.After(time.Second), "At": enqueue.At(time.Now()), "Unique": enqueue.Unique("k"), "Mutex, Chain": enqueue.Mutex("k"),
		"LimitKey": enqueue.LimitKey("k"), "Batch": enqueue.Batch(batch), "ID": enqueue.ID(f.NewJobID()), "In": enqueue.In(tx("fake")), "Tenant": enqueue.Tenant(""),
	} {
		_, err := client(f, nil).Template(acme, hello{}, opt)
		if domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), name+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(f.rows) != 0 {
		t.Error("something was written")
	}
}

func TestADraftIsWrittenOnlyWhenAskedFor(t *testing.T) {
	f := &fake{}
	batch, other := domain.BatchID(f.NewJobID()), domain.BatchID(f.NewJobID())
	d, err := client(f, nil).Draft(t.Context(), []enqueue.Item{{Args: hello{}}, {Args: hello{}, Options: []enqueue.Option{enqueue.Batch(batch)}}})
	must(t, err)
	if f.calls != 0 || d.InHostTx() {
		t.Fatal("a draft wrote")
	}
	err = d.Join(other)
	wantCode(t, err, domain.Invalid)
	if !strings.Contains(err.Error(), "jobs[1]") {
		t.Error(err)
	}
	must(t, d.Join(batch))
	receipts, err := d.Write(t.Context())
	must(t, err)
	if len(receipts) != 2 || f.calls != 1 || f.rows[0].Batch != batch || f.rows[1].Batch != batch {
		t.Errorf("receipts %v, rows %+v", receipts, f.rows)
	}
}

func TestABatchIsNamedByAnID(t *testing.T) {
	_, _, err := client(&fake{}, nil).Enqueue(t.Context(), hello{}, enqueue.Batch(domain.BatchID{}))
	wantCode(t, err, domain.Invalid)
}
