package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// The sizes of the tour.
const (
	tourWorkers = 8
	welcomes    = 100
	signups     = 20
	thumbnails  = 30
	payments    = 20
	webhooks    = 5
	reports     = 5
	surveys     = 4
	reminders   = 6
	importsLost = 3
)

// run goes from step to step.
func (t *tour) run(ctx context.Context) error {
	t.handlers()
	for _, step := range []func(context.Context) error{
		t.enqueueMany, t.enqueueTwice, t.enqueueLater, t.newsletter, t.crash, t.work,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enqueue adds one job and counts the answer.
func (t *tour) enqueue(ctx context.Context, args work.Args, opts ...enqueue.Option) error {
	_, result, err := t.queue.Enqueue(ctx, args, opts...)
	if err == nil {
		t.count(result)
	}
	return err
}

func (t *tour) count(result domain.Inserted) {
	if result == domain.Existing {
		t.existing.Add(1)
	} else {
		t.enqueued.Add(1)
	}
}

// several are n items of one kind.
func several(n int, args func(i int) work.Args) []enqueue.Item {
	items := make([]enqueue.Item, n)
	for i := range items {
		items[i].Args = args(i + 1)
	}
	return items
}

func (t *tour) enqueueMany(ctx context.Context) error {
	var items []enqueue.Item
	for _, some := range [][]enqueue.Item{
		several(welcomes, func(i int) work.Args { return welcome{i} }),
		several(signups, func(i int) work.Args { return signup{welcomes + i} }),
		several(thumbnails, func(i int) work.Args { return thumbnail{i} }),
		several(payments, func(i int) work.Args { return payment{i, 1 + i%3} }),
		several(webhooks, func(i int) work.Args { return webhook{i} }),
		several(reports, func(i int) work.Args { return report{i} }),
		several(surveys, func(i int) work.Args { return survey{i} }),
	} {
		items = append(items, some...)
	}
	receipts, err := t.queue.EnqueueMany(ctx, items)
	if err != nil {
		return err
	}
	for _, r := range receipts {
		t.count(r.Result)
	}
	t.say("1. Enqueued %d jobs of 7 kinds in one transaction: all of them or none.", len(receipts))
	return nil
}

func (t *tour) enqueueTwice(ctx context.Context) error {
	for range 3 {
		if err := t.enqueue(ctx, welcome{1}, enqueue.Unique("welcome:1")); err != nil {
			return err
		}
	}
	t.say("2. Enqueued one job with a unique key three times: it is there once, %d calls were answered with the job that was there.", t.existing.Load())
	return nil
}

func (t *tour) enqueueLater(ctx context.Context) error {
	var ids []domain.JobID
	for i := range reminders {
		job, result, err := t.queue.Enqueue(ctx, reminder{i}, enqueue.After(time.Hour))
		if err != nil {
			return err
		}
		t.count(result)
		ids = append(ids, job.ID)
	}
	edited, err := t.queue.Operate().Cancel(ctx, ids[:reminders/2])
	if err != nil {
		return err
	}
	for _, e := range edited {
		if e.Err != nil {
			return e.Err
		}
	}
	t.waiting = reminders - reminders/2
	t.say("3. Enqueued %d reminders for in an hour, and cancelled %d of them by id.", reminders, len(edited))
	return nil
}

// crash is a runner that claims and is never seen again.
func (t *tour) crash(ctx context.Context) error {
	for i := range importsLost {
		if err := t.enqueue(ctx, imports{i}, enqueue.Queue("imports")); err != nil {
			return err
		}
	}
	claims, err := t.backend.Store.Claim(ctx, driven.ClaimRequest{
		Token: system.IDs().NewToken(), Runner: "crashed-runner", Lease: 200 * time.Millisecond,
		Queue: "imports", Kinds: []string{imports{}.Kind()}, N: importsLost,
	})
	if err != nil {
		return err
	}
	t.say("5. A runner took %d imports and crashed: their lease of 200 ms is not renewed.", len(claims.Jobs))
	return nil
}

// work runs the runner until everything ended, mends the bug and retries.
func (t *tour) work(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	t.say("6. Started a runner with %d workers.", tourWorkers)
	go func() {
		ended <- t.queue.Work(working, rowlock.Concurrency(tourWorkers), rowlock.Lease(2*time.Second), rowlock.Poll(50*time.Millisecond),
			rowlock.Upkeep(100*time.Millisecond), rowlock.Stalls(domain.StallPolicy{Base: 50 * time.Millisecond, Cap: time.Second, Max: 3}))
	}()
	err := t.watch(ctx)
	stop()
	return errors.Join(err, <-ended)
}

func (t *tour) watch(ctx context.Context) error {
	if err := t.until(ctx, t.settled); err != nil {
		return err
	}
	sum, err := t.totals(ctx)
	if err != nil {
		return err
	}
	t.say("7. It ran everything that was due: %d done, %d failures were tried again after a wait, %d imports were put back when their lease ran out and then done.", sum.Done, t.retried.Load(), t.stalled.Load())
	if err := t.posted(); err != nil {
		return err
	}
	dead, err := t.reasons(ctx)
	if err != nil {
		return err
	}
	t.say("9. %d are dead and kept with their reason:", sum.Dead)
	for _, reason := range dead {
		t.say("     %s", reason)
	}
	t.fixed.Store(true)
	bulk, err := t.queue.Operate().RetryAll(ctx, driving.Bulk{Filter: domain.Filter{Kind: report{}.Kind()}}, domain.Due{})
	if err != nil {
		return err
	}
	if err := t.until(ctx, t.settled); err != nil {
		return err
	}
	t.say("10. Mended the bug of the reports and retried the %d dead ones by hand: they are done now.", bulk.Done)
	if err := t.clockwork(ctx); err != nil {
		return err
	}
	t.say("12. Stopped the runner. %d jobs were cancelled (by hand, or by their handler), %d wait for their time.", sum.Cancelled, t.waiting)
	return nil
}

func (t *tour) totals(ctx context.Context) (domain.Tally, error) {
	stats, err := t.queue.Inspect().Stats(ctx)
	return stats.Totals(), err
}

// reasons gives one line for each kind with dead jobs.
func (t *tour) reasons(ctx context.Context) (lines []string, err error) {
	for _, kind := range []string{webhook{}.Kind(), report{}.Kind(), letter{}.Kind()} {
		jobs, err := t.queue.Inspect().List(ctx, domain.Filter{States: []domain.State{domain.Dead}, Kind: kind}, domain.Page{})
		if err != nil {
			return nil, err
		}
		if len(jobs) > 0 {
			lines = append(lines, fmt.Sprintf("%d x %s, attempt %d: %s", len(jobs), kind, jobs[0].Attempts, jobs[0].Error))
		}
	}
	return lines, nil
}
