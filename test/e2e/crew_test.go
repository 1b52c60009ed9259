package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// crewVar makes the test binary a process that works: the address of the gauge.
const crewVar = "ROWLOCK_E2E_CREW"

// Limited is a job of a kind with a limit, by key.
type Limited struct {
	Key  string `json:"key"`
	Hold int    `json:"hold"` // ms
}

// Kind names the sort of job.
func (Limited) Kind() string { return "limited" }

// Pooled is a job of a kind with a limit for all of it, whose slots a runner passes on.
type Pooled struct{ Limited }

// Kind names the sort of job.
func (Pooled) Kind() string { return "pooled" }

// Rated is a job of a kind with a rate.
type Rated struct{ Limited }

// Kind names the sort of job.
func (Rated) Kind() string { return "rated" }

// Both is a job of a kind with a limit and a rate.
type Both struct{ Limited }

// Kind names the sort of job.
func (Both) Kind() string { return "both" }

// Keyed is a job with turns.
type Keyed struct{ Limited }

// Kind names the sort of job.
func (Keyed) Kind() string { return "keyed" }

const (
	rateN      = 5
	rateWindow = 2 * time.Second
	bothN      = 10
	bothWindow = time.Second
)

// crew is the process: a host with bounded kinds.
func crew(gauge string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	limit, err := strconv.Atoi(os.Getenv("ROWLOCK_E2E_LIMIT"))
	if err != nil {
		return err
	}
	lease, err := time.ParseDuration(os.Getenv("ROWLOCK_E2E_LEASE"))
	if err != nil {
		return err
	}
	q, err := openStore(ctx, lease)
	if err != nil {
		return err
	}
	stay := func(a Limited, id domain.JobID) error {
		return visit{Key: a.Key, Job: id.String(), At: time.Now(), Hold: a.Hold}.stay(gauge)
	}
	rowlock.Handle(q, func(_ context.Context, j work.Job[Limited]) error { return stay(j.Args, j.ID) }, work.Timeout(time.Minute), work.Limited(work.Limit{N: limit, Key: work.KeyOf(func(a Limited) string { return a.Key })}))
	rowlock.Handle(q, func(_ context.Context, j work.Job[Pooled]) error { return stay(j.Args.Limited, j.ID) }, work.Timeout(time.Minute), work.Limited(work.Limit{N: limit}))
	rowlock.Handle(q, func(_ context.Context, j work.Job[Rated]) error { return stay(j.Args.Limited, j.ID) }, work.Timeout(time.Minute), work.Rated(work.Rate{N: rateN, Window: rateWindow}))
	rowlock.Handle(q, func(_ context.Context, j work.Job[Both]) error { return stay(j.Args.Limited, j.ID) }, work.Timeout(time.Minute), work.Limited(work.Limit{N: limit}), work.Rated(work.Rate{N: bothN, Window: bothWindow}))
	rowlock.Handle(q, func(_ context.Context, j work.Job[Keyed]) error { return stay(j.Args.Limited, j.ID) }, work.Timeout(time.Minute))
	batchKinds(q, gauge)
	stubborn(q, gauge)
	doomed(q, gauge)
	opts := []rowlock.WorkOption{
		rowlock.Concurrency(16), rowlock.Lease(lease), rowlock.Poll(200 * time.Millisecond), rowlock.Upkeep(500 * time.Millisecond),
	}
	err = q.Work(ctx, append(append(opts, batchOptions()...), stopOptions()...)...)
	return errors.Join(err, q.Close())
}

// isCrew runs this process as one of the crew, if it was started as one.
func isCrew() bool {
	gauge := os.Getenv(crewVar)
	if gauge == "" {
		return false
	}
	if err := crew(gauge); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// crew starts so many processes.
func (b *box) crew(g *gauge, n, limit int, lease time.Duration) []*process {
	b.t.Helper()
	crew := make([]*process, n)
	for i := range crew {
		crew[i] = b.hire(g, limit, lease)
	}
	return crew
}

func dismiss(crew []*process) {
	for _, p := range crew {
		p.stop()
	}
}

// hire starts one process of the crew.
func (b *box) hire(g *gauge, limit int, lease time.Duration) *process {
	b.t.Helper()
	own, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(b.t.Context()), own)
	cmd.Env = append(append(os.Environ(), b.env...), crewVar+"="+g.addr, "ROWLOCK_E2E_LIMIT="+strconv.Itoa(limit), "ROWLOCK_E2E_LEASE="+lease.String())
	return b.watch(cmd)
}

// enqueueAll writes jobs through a client of their own.
func enqueueAll[T work.Args](b *box, all []T, opts func(i int) []enqueue.Option) {
	b.t.Helper()
	q, err := rowlock.Open(b.t.Context(), b.dsn())
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	for i, args := range all {
		var own []enqueue.Option
		if opts != nil {
			own = opts(i)
		}
		if _, _, err := q.Enqueue(b.t.Context(), args, own...); err != nil {
			b.t.Fatal(err)
		}
	}
}
