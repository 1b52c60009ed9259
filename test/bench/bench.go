package bench

import (
	"context"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// Kit is what a benchmark needs of the outside.
type Kit struct {
	Backend driven.Backend // empty, with its tables
	IDs     driven.IDs
	Clock   driven.Clock
	Tidy    func() // has the server do at once what it would do later about many new rows; nil: nothing
}

// Factory opens a fresh store; what it opened it closes in b.Cleanup.
type Factory func(b *testing.B) Kit

// chunk is how many jobs one call of EnqueueMany adds.
const chunk = 1000

// nop is a job that does nothing.
type nop struct {
	N int `json:"n"`
}

// Kind is "bench/nop".
func (nop) Kind() string { return "bench/nop" }

// Enqueue adds jobs one a call.
func Enqueue(b *testing.B, open Factory) {
	client := client(open(b))
	measure(b, func(n int) error {
		for i := range n {
			if _, _, err := client.Enqueue(b.Context(), nop{i}); err != nil {
				return err
			}
		}
		return nil
	})
}

// EnqueueMany adds jobs a thousand a call.
func EnqueueMany(b *testing.B, open Factory) {
	client := client(open(b))
	measure(b, func(n int) error { return fill(b.Context(), client, n) })
}

// Work runs jobs that do nothing, through a runner of ten workers, until none is left.
func Work(b *testing.B, open Factory) {
	kit := open(b)
	if err := fill(b.Context(), client(kit), b.N); err != nil {
		b.Fatal(err)
	}
	measure(b, func(n int) error {
		drain(b, kit, n)
		return nil
	})
}

// drain works off the n jobs that there are.
func drain(b *testing.B, kit Kit, n int) {
	registry := work.NewRegistry()
	if err := work.Handle(registry, func(context.Context, work.Job[nop]) error { return nil }); err != nil {
		b.Fatal(err)
	}
	r, err := runner.New(runner.Config{}, runner.Deps{Store: kit.Backend.Store, Registry: registry, IDs: kit.IDs, Clock: kit.Clock})
	if err != nil {
		b.Fatal(err)
	}
	got, err := r.Drain(b.Context(), driving.DrainOptions{Limit: 10 * time.Minute})
	if err != nil || got.Completed != n {
		b.Fatalf("completed %d of %d, %v", got.Completed, n, err)
	}
}

func client(kit Kit) *enqueue.Client {
	return enqueue.New(enqueue.Config{Store: kit.Backend.Store, IDs: kit.IDs, Clock: kit.Clock})
}

// fill adds n jobs.
func fill(ctx context.Context, client *enqueue.Client, n int) error {
	for n > 0 {
		items := make([]enqueue.Item, min(n, chunk))
		for i := range items {
			items[i] = enqueue.Item{Args: nop{i}}
		}
		receipts, err := client.EnqueueMany(ctx, items)
		if err != nil {
			return err
		}
		if receipts[0].Result != domain.InsertedNew {
			return &domain.Fault{Code: domain.Internal, Op: "bench", Hint: "a job was there already"}
		}
		n -= len(items)
	}
	return nil
}

// measure runs b.N jobs and reports the processor time of one.
func measure(b *testing.B, do func(n int) error) {
	b.ReportAllocs()
	before := cpu()
	b.ResetTimer()
	if err := do(b.N); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	used := cpu() - before
	b.ReportMetric(float64(used)/float64(time.Microsecond)/float64(b.N), "cpu-us/job")
}
