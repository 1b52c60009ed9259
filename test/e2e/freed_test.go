package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/test/servers"
)

// One and Other share a limit, and no program has both.
type (
	One   struct{}
	Other struct{}
)

// Kind names the sort of job.
func (One) Kind() string { return "one" }

// Kind names the sort of job.
func (Other) Kind() string { return "other" }

// freedPoll is so long that a slot which is taken in a quarter of it was heard of.
const freedPoll = 10 * time.Second

// A slot that one program frees goes at once to a job that waits for another program's
// workers, which poll seldom and are told by NOTIFY.
func TestAFreedSlotWakesAnotherProgram(t *testing.T) {
	t.Parallel()
	dsn, began, release := servers.Postgres(t), make(chan string), make(chan struct{})
	shared := work.Limited(work.Limit{N: 1, Group: "shared"})
	open := func() *rowlock.Queue {
		q, err := rowlock.Open(t.Context(), dsn, rowlock.Migrate())
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	ctx, end := context.WithCancel(t.Context())
	var works sync.WaitGroup
	run := func(q *rowlock.Queue) {
		works.Go(func() {
			if err := q.Work(ctx, rowlock.Poll(freedPoll), rowlock.Upkeep(time.Minute)); err != nil {
				t.Error(err)
			}
		})
	}
	first, second := open(), open()
	rowlock.Handle(first, func(ctx context.Context, _ work.Job[One]) error {
		began <- "one"
		select {
		case <-release:
		case <-ctx.Done(): // the test failed
		}
		return nil
	}, work.Timeout(time.Minute), shared)
	rowlock.Handle(second, func(context.Context, work.Job[Other]) error { began <- "other"; return nil }, work.Timeout(time.Minute), shared)
	run(first)
	run(second)
	defer func() {
		end()
		works.Wait()
		_, _ = first.Close(), second.Close()
	}()
	add := func(q *rowlock.Queue, args work.Args) {
		if _, _, err := q.Enqueue(t.Context(), args); err != nil {
			t.Fatal(err)
		}
	}
	waited := func() time.Duration {
		add(first, One{})
		if who := <-began; who != "one" {
			t.Fatalf("%s ran", who)
		}
		add(second, Other{})
		eventually(t, "the other waits", func() bool {
			stats, err := second.Inspect().Stats(t.Context())
			return err == nil && stats.Totals().Blocked == 1
		})
		release <- struct{}{}
		at := time.Now()
		if who := <-began; who != "other" {
			t.Fatalf("%s ran", who)
		}
		return time.Since(at)
	}
	soon := func() bool { return waited() < freedPoll/4 }
	eventually(t, "a freed slot wakes the other program", soon) // its listener may still have been on its way
	for range 3 {
		if !soon() {
			t.Error("a freed slot was found by polling")
		}
	}
}
