package bench

import (
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	pruneRounds = 15 // of jobs alone and jobs beside a prune, in turn
	overPerJob  = 4  // rows that are over for each job: with -benchtime 50000x these are 200,000
	leastOver   = 20_000
)

// Prune runs b.N jobs that do nothing twice: alone, and beside the pruning loop with
// its own pauses, over rows whose time is over. Both take turns, so that a machine with
// others on it disturbs both. ratio is the speed beside a prune by the speed alone, of
// the round in the middle; ratio-all is that of all rounds together, in which one that
// was held up weighs more; pruned/job counts the rows that went.
func Prune(b *testing.B, open Factory) {
	kit := open(b)
	over := max(overPerJob*b.N, leastOver)
	expired(b, kit, over)
	n := max(b.N/pruneRounds, 1)
	var alone, beside float64
	pruned := 0
	var ratios []float64
	b.ResetTimer()
	for round := range pruneRounds {
		var took [2]time.Duration
		for turn := range took {
			b.StopTimer()
			if err := fill(b.Context(), client(kit), n); err != nil {
				b.Fatal(err)
			}
			with, stop := (round+turn)%2, func() int { return 0 }
			if with == 1 {
				stop = pruning(b, kit)
			}
			b.StartTimer()
			start := time.Now()
			drain(b, kit, n)
			took[with] = time.Since(start)
			b.StopTimer()
			gone := stop()
			if gone >= over {
				b.Fatalf("all %d rows were pruned before the jobs were done", over)
			}
			pruned += gone
			expired(b, kit, gone) // so that no round has fewer
		}
		alone, beside = alone+took[0].Seconds(), beside+took[1].Seconds()
		ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
	}
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(alone/beside, "ratio-all")
	b.ReportMetric(float64(pruned)/float64(n*pruneRounds), "pruned/job")
}

// expired makes n rows whose time is over.
func expired(b *testing.B, kit Kit, n int) {
	ctx, store := b.Context(), kit.Backend.Store
	for n > 0 {
		rows := make([]domain.NewJob, min(n, 500))
		r := driven.EditRequest{Keep: time.Millisecond}
		for i := range rows {
			rows[i] = domain.NewJob{ID: kit.IDs.NewJobID(), Kind: held, Queue: "default", Args: []byte("{}")}
			r.IDs = append(r.IDs, rows[i].ID)
		}
		if _, err := store.Insert(ctx, rows); err != nil {
			b.Fatal(err)
		}
		if _, err := store.Cancel(ctx, r); err != nil {
			b.Fatal(err)
		}
		n -= len(rows)
	}
}

// counter hears how many rows were pruned.
type counter struct {
	mu    sync.Mutex
	n     int
	begun chan struct{}
}

func (c *counter) Observe(e domain.Event) {
	if e.Type != domain.EventPruned {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == 0 {
		close(c.begun)
	}
	c.n += e.Count
}

// pruning starts the loop and waits until it is at it. What it gives stops it and says
// how many rows went.
func pruning(b *testing.B, kit Kit) func() int {
	heard := &counter{begun: make(chan struct{})}
	u, err := upkeep.New(upkeep.Config{PruneEvery: time.Millisecond}, upkeep.Deps{Store: kit.Backend.Store, Observer: heard, Clock: kit.Clock})
	if err == nil {
		err = u.Start(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	select {
	case <-heard.begun:
	case <-time.After(time.Minute):
		b.Fatal("the prune removes nothing")
	}
	return func() int {
		if err := u.Stop(b.Context()); err != nil {
			b.Error(err)
		}
		heard.mu.Lock()
		defer heard.mu.Unlock()
		return heard.n
	}
}
