package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/adapters/driving/cli"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

const (
	benchChunk   = 1000 // jobs of one EnqueueMany
	benchSingle  = 10   // one by one is measured with that part of the jobs: each waits for the disk
	benchWorkers = 100  // claims and outcomes are written in groups about that large
)

// nop is a job that does nothing.
type nop struct {
	N int `json:"n"`
}

// Kind is "bench/nop".
func (nop) Kind() string { return "bench/nop" }

// sample is what one round of a case took.
type sample struct {
	cpu, wall time.Duration
	jobs      int
}

// gauge is one measured way; run does n jobs of it.
type gauge struct {
	name string
	jobs int
	run  func(ctx context.Context, n int) error
}

// bench measures on a throw-away file. The ways take turns, so that what else the
// machine does meets all of them.
func bench(ctx context.Context, o cli.BenchOptions, tell cli.Tell) (report cli.BenchReport, err error) {
	dir, err := os.MkdirTemp("", "rowlock-bench-")
	if err != nil {
		return report, &domain.Fault{Code: domain.Unavailable, Op: "make a throw-away file", Hint: "set TMPDIR to a folder that can be written", Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var names []string
	samples := map[string][]sample{}
	for round := range o.Rounds {
		gauges, free, err := gaugesOf(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", round)), o.Jobs)
		if err != nil {
			return report, err
		}
		for _, g := range gauges {
			took, err := measure(ctx, g)
			if err != nil {
				return report, errors.Join(err, free())
			}
			tell(fmt.Sprintf("round %d: %-12s %6.1f us of processor time a job", round+1, g.name, cpuOf(took)))
			if round == 0 {
				names = append(names, g.name)
			}
			samples[g.name] = append(samples[g.name], took)
		}
		if err := free(); err != nil {
			return report, err
		}
	}
	return summary(o, names, samples), nil
}

// gaugesOf makes fresh files and the ways to be measured on them: the bare loops first.
func gaugesOf(ctx context.Context, path string, jobs int) (gauges []gauge, free func() error, err error) {
	floor, err := sqlitestore.OpenFloor(ctx, sqlitestore.Config{Path: path + ".floor"})
	if err != nil {
		return nil, nil, err
	}
	q, err := rowlock.Open(ctx, "sqlite:"+path, rowlock.Migrate())
	if err != nil {
		return nil, nil, errors.Join(err, floor.Close())
	}
	rowlock.Handle(q, func(context.Context, work.Job[nop]) error { return nil })
	single := max(jobs/benchSingle, 1)
	return []gauge{
		{"bare insert", jobs, floor.Insert},
		{floorName, jobs, func(ctx context.Context, n int) error { return workFloor(ctx, floor, n) }},
		{"enqueue one", single, func(ctx context.Context, n int) error { return enqueueOne(ctx, q, n) }},
		{"enqueue many", jobs, func(ctx context.Context, n int) error { return enqueueMany(ctx, q, n) }},
		{"work", jobs + single, func(ctx context.Context, n int) error { return workAll(ctx, q, n) }},
	}, func() error { return errors.Join(floor.Close(), q.Close()) }, nil
}

// floorName is the bare loop that every way is compared to.
const floorName = "bare work"

func workFloor(ctx context.Context, floor *sqlitestore.Floor, n int) error {
	done, err := floor.Work(ctx)
	return errors.Join(err, complete(done, n))
}

// complete checks that as many jobs were done as there were.
func complete(done, n int) error {
	if done == n {
		return nil
	}
	return &domain.Fault{Code: domain.Internal, Op: "bench", Hint: fmt.Sprintf("%d jobs of %d were completed", done, n)}
}

func enqueueOne(ctx context.Context, q *rowlock.Queue, n int) error {
	for i := range n {
		if _, _, err := q.Enqueue(ctx, nop{i}); err != nil {
			return err
		}
	}
	return nil
}

func enqueueMany(ctx context.Context, q *rowlock.Queue, n int) error {
	for n > 0 {
		items := make([]enqueue.Item, min(n, benchChunk))
		for i := range items {
			items[i].Args = nop{i}
		}
		if _, err := q.EnqueueMany(ctx, items); err != nil {
			return err
		}
		n -= len(items)
	}
	return nil
}

func workAll(ctx context.Context, q *rowlock.Queue, n int) error {
	got, err := q.Drain(ctx, rowlock.DrainOptions{}, rowlock.NoPrune(), rowlock.Concurrency(benchWorkers))
	return errors.Join(err, complete(got.Completed, n))
}

// measure runs one way once.
func measure(ctx context.Context, g gauge) (sample, error) {
	clock := system.Clock()
	cpu, began := processorTime(), clock.Now()
	err := g.run(ctx, g.jobs)
	return sample{cpu: processorTime() - cpu, wall: clock.Now().Sub(began), jobs: g.jobs}, err
}

// summary takes the median round of each way and compares it to the floor's.
func summary(o cli.BenchOptions, names []string, samples map[string][]sample) cli.BenchReport {
	report := cli.BenchReport{Store: "sqlite, synchronous=FULL", Jobs: o.Jobs, Rounds: o.Rounds, Workers: benchWorkers, FloorUS: median(samples[floorName], cpuOf)}
	for _, name := range names {
		cost := median(samples[name], cpuOf)
		report.Cases = append(report.Cases, cli.BenchCase{
			Name: name, USPerJob: cost, Ratio: report.FloorUS / cost, JobsPerSecond: 1e6 / median(samples[name], wallOf),
		})
	}
	return report
}

func cpuOf(s sample) float64  { return microseconds(s.cpu) / float64(s.jobs) }
func wallOf(s sample) float64 { return microseconds(s.wall) / float64(s.jobs) }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	mid := len(values) / 2
	if len(values)%2 == 1 {
		return values[mid]
	}
	return (values[mid-1] + values[mid]) / 2
}
