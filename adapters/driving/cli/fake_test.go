package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// fake is an App that records what it is asked and answers what it is told.
type fake struct {
	settings Settings
	tenant   string
	opened   int
	closed   int
	err      error // of every call
	switches *fakeSwitches

	added   []domain.NewJob
	calls   int // of Add
	addErr  func(jobs []domain.NewJob) error
	jobs    []domain.Job
	filter  domain.Filter
	page    domain.Page
	stats   driving.Stats
	edited  []domain.Edited
	ids     []domain.JobID
	due     domain.Due
	bulk    driving.Bulk
	act     string
	drain   driving.DrainOptions
	drained driving.Drained
	steps   []driving.Step
	fresh   bool
	onWork  func()
	bounds  *fakeBounds
	batches *fakeBatches
	sched   *fakeSchedules
	results []domain.Inserted // of the jobs in turn
}

func (f *fake) Check(ctx context.Context, job domain.NewJob) error {
	if job.ID.IsZero() {
		job.ID = id(1)
	}
	if job.Queue == "" {
		job.Queue = "default"
	}
	return job.Validate()
}

func (f *fake) Add(ctx context.Context, jobs []domain.NewJob) ([]driving.Added, error) {
	f.calls++
	f.tenant = domain.TenantOf(ctx)
	if f.err != nil {
		return nil, f.err
	}
	if f.addErr != nil {
		if err := f.addErr(jobs); err != nil {
			return nil, err
		}
	}
	var out []driving.Added
	for _, j := range jobs {
		if err := f.Check(ctx, j); err != nil {
			return nil, err
		}
		f.added = append(f.added, j)
		answer := driving.Added{ID: id(len(f.added))}
		if n := len(f.added); n <= len(f.results) {
			answer.Result = f.results[n-1]
		}
		out = append(out, answer)
	}
	return out, nil
}

func (f *fake) Get(context.Context, domain.JobID) (domain.Job, error) {
	if f.err != nil || len(f.jobs) == 0 {
		return domain.Job{}, f.err
	}
	return f.jobs[0], nil
}

func (f *fake) List(_ context.Context, filter domain.Filter, page domain.Page) ([]domain.Job, error) {
	f.filter, f.page = filter, page
	return f.jobs, f.err
}

func (f *fake) Count(context.Context, domain.Filter) (driving.Count, error) {
	return driving.Count{}, f.err
}
func (f *fake) Stats(context.Context) (driving.Stats, error) { return f.stats, f.err }

func (f *fake) edit(act string, ids []domain.JobID, due domain.Due) ([]domain.Edited, error) {
	f.act, f.ids, f.due = act, ids, due
	return f.edited, f.err
}

func (f *fake) Retry(_ context.Context, ids []domain.JobID, due domain.Due) ([]domain.Edited, error) {
	return f.edit("retry", ids, due)
}

func (f *fake) Cancel(_ context.Context, ids []domain.JobID) ([]domain.Edited, error) {
	return f.edit("cancel", ids, domain.Due{})
}

func (f *fake) Delete(_ context.Context, ids []domain.JobID) ([]domain.Edited, error) {
	return f.edit("delete", ids, domain.Due{})
}

func (f *fake) Reschedule(_ context.Context, ids []domain.JobID, due domain.Due) ([]domain.Edited, error) {
	return f.edit("reschedule", ids, due)
}

func (f *fake) every(act string, b driving.Bulk, due domain.Due) (driving.BulkResult, error) {
	f.act, f.bulk, f.due = act, b, due
	var sum driving.BulkResult
	for _, e := range f.edited {
		if e.Err != nil {
			sum.Refused++
		} else {
			sum.Done++
		}
	}
	if len(f.edited) > 0 {
		b.Each(f.edited)
		if b.Progress != nil {
			b.Progress(sum.Done, sum.Refused)
		}
	}
	return sum, f.err
}

func (f *fake) RetryAll(_ context.Context, b driving.Bulk, due domain.Due) (driving.BulkResult, error) {
	return f.every("retry all", b, due)
}

func (f *fake) CancelAll(_ context.Context, b driving.Bulk) (driving.BulkResult, error) {
	return f.every("cancel all", b, domain.Due{})
}

func (f *fake) DeleteAll(_ context.Context, b driving.Bulk) (driving.BulkResult, error) {
	return f.every("delete all", b, domain.Due{})
}

func (f *fake) Prune(_ context.Context, progress func(int)) (int, error) {
	progress(3)
	return 3, f.err
}

func (f *fake) Work(ctx context.Context) error {
	f.onWork()
	<-ctx.Done()
	return f.err
}

func (f *fake) Drain(_ context.Context, o driving.DrainOptions) (driving.Drained, error) {
	f.drain = o
	o.Progress(f.drained)
	return f.drained, f.err
}

func (f *fake) Up(context.Context, int) ([]driving.Step, error) {
	var done []driving.Step
	for i := range f.steps {
		if f.steps[i].AppliedAt.IsZero() {
			f.steps[i].AppliedAt = now()
			done = append(done, f.steps[i])
		}
	}
	return done, f.err
}
func (f *fake) Down(context.Context, int) ([]driving.Step, error) { return f.steps, f.err }
func (f *fake) Status(context.Context) ([]driving.Step, error)    { return f.steps, nil }
func (f *fake) Print(int) (string, error)                         { return "CREATE TABLE t;\n", f.err }

// hooked wraps the parts of fake that are ports.
func (f *fake) app() *App {
	app := &App{
		Enqueuer: f, Inspector: f, Operator: f, Bulk: f, Pruner: f, Bounds: f.bounds, Batches: f.batches, Schedules: f.sched, Switches: f.switches, Worker: f, Kinds: []string{"http"},
		Fresh: f.fresh, Close: func() error { f.closed++; return nil },
	}
	if f.steps != nil {
		app.Schema = f
	}
	return app
}

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC) }

func id(n int) domain.JobID {
	return domain.JobID{6: 0x70, 8: 0x80, 14: byte(n >> 8), 15: byte(n)}
}

// result is what a run printed.
type result struct {
	code     int
	out, err string
}

// run runs the command line over a fake.
type runner struct {
	fake  *fake
	env   map[string]string
	stdin string
	ctx   context.Context
}

func (r runner) run(t *testing.T, args ...string) result {
	t.Helper()
	if r.ctx == nil {
		r.ctx = t.Context()
	}
	if r.env == nil {
		r.env = map[string]string{"ROWLOCK_STORE": "fake:"}
	}
	var out, errs bytes.Buffer
	code := Run(r.ctx, args, Config{
		Open: func(_ context.Context, s Settings) (*App, error) {
			r.fake.settings = s
			r.fake.opened++
			return r.fake.app(), nil
		},
		Demo: func(_ context.Context, _ Settings, tell Tell) (DemoReport, error) {
			tell("step one")
			return DemoReport{Enqueued: 10, Done: 5, Dead: 2, Cancelled: 1, Waiting: 2}, r.fake.err
		},
		Bench: func(_ context.Context, o BenchOptions, tell Tell) (BenchReport, error) {
			tell("round 1")
			return BenchReport{Store: "fake", Jobs: o.Jobs, Rounds: o.Rounds, Workers: 9, FloorUS: 8, Cases: []BenchCase{{"work", 16, 0.5, 60000}}}, r.fake.err
		},
		Version: "1.2.3", Now: now,
		Getenv: func(name string) (string, bool) { v, ok := r.env[name]; return v, ok },
		Stdin:  strings.NewReader(r.stdin), Stdout: &out, Stderr: &errs,
	})
	if r.fake.opened != r.fake.closed {
		t.Errorf("opened %d times, closed %d times", r.fake.opened, r.fake.closed)
	}
	return result{code, out.String(), errs.String()}
}

// document reads the one JSON document on standard output.
func document[T any](t *testing.T, r result) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(r.out))
	if err := dec.Decode(&v); err != nil || dec.More() {
		t.Fatalf("standard output is not one document: %q (%v)", r.out, err)
	}
	return v
}
