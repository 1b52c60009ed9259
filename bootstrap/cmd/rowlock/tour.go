package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/adapters/driving/cli"
	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// tour is one run of the demo.
type tour struct {
	backend driven.Backend
	queue   *rowlock.Queue
	tell    cli.Tell

	enqueued atomic.Int64
	existing atomic.Int64
	retried  atomic.Int64
	stalled  atomic.Int64
	beats    atomic.Int64
	ticks    int // jobs that the schedule added
	bounced  atomic.Int64
	mailed   atomic.Pointer[domain.BatchReport] // what the batch's callback was told
	fixed    atomic.Bool                        // the bug that buries demo/report is mended
	waiting  int64                              // jobs that are meant to be waiting in the end
}

// tourLimit is how long the demo may take before it is called stuck.
const tourLimit = time.Minute

// demo runs the tour on a throw-away file, or on a store under a prefix of its own.
func demo(ctx context.Context, s cli.Settings, tell cli.Tell) (report cli.DemoReport, err error) {
	ctx, cancel := context.WithTimeout(ctx, tourLimit)
	defer cancel()
	clock := system.Clock()
	began := clock.Now()
	t := &tour{tell: tell}
	free, err := t.open(ctx, s.Store)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, free()) }()
	if err := t.run(ctx); err != nil {
		return report, err
	}
	report, err = t.report(ctx)
	report.Seconds = float64(clock.Now().Sub(began).Milliseconds()) / 1000
	return report, err
}

// open makes the tables and answers what removes them.
func (t *tour) open(ctx context.Context, dsn string) (free func() error, err error) {
	token := system.IDs().NewToken()
	o, where, remove := backends.Options{}, "", func() error { return nil }
	if dsn == "" {
		dir, err := os.MkdirTemp("", "rowlock-demo-")
		if err != nil {
			return nil, &domain.Fault{Code: domain.Unavailable, Op: "make a throw-away file", Hint: "set TMPDIR to a folder that can be written", Err: err}
		}
		dsn, where = "sqlite:"+filepath.Join(dir, "demo.db"), "a throw-away SQLite file in "+dir
		remove = func() error { return os.RemoveAll(dir) }
	} else {
		o.TablePrefix = "rowlock_demo_" + hex.EncodeToString(token[:4]) + "_"
		where = "your store, under the table prefix " + o.TablePrefix
	}
	if t.backend, err = backends.Open(ctx, dsn, o); err != nil {
		return nil, errors.Join(err, remove())
	}
	if t.queue, err = rowlock.New(t.backend, rowlock.Migrate(), rowlock.WithObserver(t)); err != nil {
		return nil, errors.Join(err, t.backend.Close(), remove())
	}
	t.say("This is a tour of Rowlock on %s.", where)
	return func() error {
		return errors.Join(t.dropTables(context.WithoutCancel(ctx)), t.queue.Close(), remove())
	}, nil
}

func (t *tour) dropTables(ctx context.Context) error {
	schema := t.queue.Schema()
	if schema == nil {
		return nil
	}
	_, err := schema.Down(ctx, 0)
	return err
}

func (t *tour) say(format string, args ...any) { t.tell(fmt.Sprintf(format, args...)) }

// Observe counts what the summary tells.
func (t *tour) Observe(e domain.Event) {
	switch e.Type {
	case domain.EventRetried:
		t.retried.Add(1)
	case domain.EventStalled:
		t.stalled.Add(1)
	default:
	}
}

// report reads the store once more and checks that no job was lost or made twice.
func (t *tour) report(ctx context.Context) (cli.DemoReport, error) {
	stats, err := t.queue.Inspect().Stats(ctx)
	if err != nil {
		return cli.DemoReport{}, err
	}
	sum := stats.Totals()
	r := cli.DemoReport{
		Enqueued: int(t.enqueued.Load()), Done: int(sum.Done), Dead: int(sum.Dead), Cancelled: int(sum.Cancelled), Waiting: int(sum.Pending()),
		Existing: int(t.existing.Load()), Retried: int(t.retried.Load()), Stalled: int(t.stalled.Load()), Ticks: t.ticks,
	}
	if r.Enqueued != r.Done+r.Dead+r.Cancelled+r.Waiting || sum.Running != 0 {
		return r, &domain.Fault{Code: domain.Internal, Op: "demo", Hint: fmt.Sprintf("the summary does not add up: %+v", r)}
	}
	return r, nil
}

// until waits for a state of the queues.
func (t *tour) until(ctx context.Context, reached func(domain.Tally) bool) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		stats, err := t.queue.Inspect().Stats(ctx)
		if err != nil {
			return err
		}
		if reached(stats.Totals()) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return &domain.Fault{Code: domain.CodeOf(ctx.Err()), Op: "demo", Hint: fmt.Sprintf("the jobs did not end: %+v", stats.Totals()), Err: ctx.Err()}
		}
	}
}

// settled says that nothing moves any more but what is meant to wait. A job that
// moves while the states are counted one after another may be in none of them, so
// all must be there.
func (t *tour) settled(sum domain.Tally) bool {
	all := sum.Pending() + sum.Running + sum.Done + sum.Dead + sum.Cancelled
	return sum.Due == 0 && sum.Running == 0 && sum.Scheduled == t.waiting && all == t.enqueued.Load()
}
