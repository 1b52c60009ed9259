package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// Member is a job of a batch; it ends when all of them are there.
type Member struct {
	Dies bool `json:"dies"`
}

// Kind names the sort of job.
func (Member) Kind() string { return "member" }

// Callback counts the members that have not ended.
type Callback struct {
	Batch work.BatchReport `json:"batch,omitzero"`
}

// Kind names the sort of job.
func (Callback) Kind() string { return "callback" }

// told is what a callback says of itself.
type told struct {
	Report     domain.BatchReport `json:"report"`
	Unfinished int                `json:"unfinished"` // members, by its own look
}

// unended are the states of members that have not ended.
var unended = []domain.State{domain.Ready, domain.Scheduled, domain.Blocked, domain.Running}

// batchKinds registers what the crew does for batches.
func batchKinds(q *rowlock.Queue, barrier string) {
	rowlock.Handle(q, func(_ context.Context, j work.Job[Member]) error {
		if err := pass(barrier, nil); err != nil {
			return err
		}
		if j.Args.Dies {
			return work.Bury(errors.New("asked to"))
		}
		return nil
	})
	rowlock.Handle(q, func(ctx context.Context, j work.Job[Callback]) error {
		left, err := q.Inspect().Count(ctx, domain.Filter{Batch: j.Args.Batch.ID, States: unended})
		if err != nil {
			return err
		}
		return pass(barrier, &told{j.Args.Batch, left.N})
	})
	rowlock.Handle(q, func(context.Context, work.Job[Brief]) error { return nil }, work.Keep(domain.Retention{Done: time.Millisecond}))
}

// The settings of a crew that only some tests want.
const (
	noPrefetchVar = "ROWLOCK_E2E_NO_PREFETCH"
	pruneVar      = "ROWLOCK_E2E_PRUNE"
)

func batchOptions() (opts []rowlock.WorkOption) {
	if os.Getenv(noPrefetchVar) != "" { // else a member waits behind one that waits for it
		opts = append(opts, rowlock.NoPrefetch())
	}
	if os.Getenv(pruneVar) != "" {
		opts = append(opts, rowlock.PruneEvery(200*time.Millisecond), rowlock.PruneBatch(100), rowlock.PrunePause(20*time.Millisecond))
	}
	return opts
}

// pass goes through the barrier. A callback tells what it saw and passes at once.
func pass(addr string, saw *told) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := json.NewEncoder(c).Encode(saw); err != nil {
		return err
	}
	_, err = bufio.NewReader(c).ReadString('\n')
	return err
}

// barrier holds members until it is opened, and hears callbacks.
type barrier struct {
	addr string

	mu    sync.Mutex
	wait  []net.Conn
	heard []told
}

func newBarrier(t *testing.T) *barrier {
	t.Helper()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &barrier{addr: door.Addr().String()}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := door.Accept()
			if err != nil {
				return
			}
			open.Go(func() { b.meet(c) })
		}
	})
	t.Cleanup(func() {
		_ = door.Close()
		b.open()
		open.Wait()
	})
	return b
}

func (b *barrier) meet(c net.Conn) {
	in := bufio.NewScanner(c)
	var saw *told
	if !in.Scan() || json.Unmarshal(in.Bytes(), &saw) != nil {
		_ = c.Close()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if saw == nil {
		b.wait = append(b.wait, c)
		return
	}
	b.heard = append(b.heard, *saw)
	through(c)
}

// through lets a handler pass; one that is gone need not hear it.
func through(c net.Conn) {
	_, _ = fmt.Fprintln(c, "on")
	_ = c.Close()
}

func (b *barrier) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.wait)
}

func (b *barrier) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.wait {
		through(c)
	}
	b.wait = nil
}

// callbacks are those that came for a batch.
func (b *barrier) callbacks(id domain.BatchID) (all []told) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.heard {
		if one.Report.ID == id {
			all = append(all, one)
		}
	}
	return all
}

// queue is a client in the test's own process.
func (b *box) queue() *rowlock.Queue {
	b.t.Helper()
	q, err := rowlock.Open(b.t.Context(), b.dsn())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = q.Close() })
	return q
}

// TestBatchesEndOnce: 50 members on four processes end at one moment, and there is one
// callback, which sees no member that has not ended.
func TestBatchesEndOnce(t *testing.T) { onEveryStore(t, testBatchesEndOnce) }

func testBatchesEndOnce(t *testing.T, b *box) {
	const members, dead = 50, 5
	bar, q := newBarrier(t), b.queue()
	crew := b.with(noPrefetchVar+"=1").crew(&gauge{addr: bar.addr}, 4, 1, longLease)
	items := make([]enqueue.Item, members)
	for i := range items {
		items[i].Args = Member{Dies: i < dead}
	}
	all := max(rounds(), 2)
	for round := range all {
		made, err := q.Batch(t.Context(), batches.Options{Name: fmt.Sprint("round ", round), Callback: Callback{}}, batches.Of(items...))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "all members run", func() bool { return bar.waiting() == members })
		if early := bar.callbacks(made.ID); len(early) > 0 {
			t.Fatalf("a callback while all members run: %+v", early)
		}
		bar.open()
		eventually(t, "the callback ran", func() bool { return len(bar.callbacks(made.ID)) > 0 })
		want := told{Report: domain.BatchReport{ID: made.ID, Name: fmt.Sprint("round ", round), Total: members, Done: members - dead, Failed: dead}}
		if got := bar.callbacks(made.ID)[0]; got != want {
			t.Errorf("round %d: the callback saw %+v, want %+v", round, got, want)
		}
	}
	dismiss(crew)
	if n, err := q.Inspect().Count(t.Context(), domain.Filter{Kind: Callback{}.Kind()}); err != nil || n.N != all {
		t.Errorf("%d callbacks of %d batches, %v", n.N, all, err)
	}
	if len(bar.heard) != all {
		t.Errorf("callbacks ran %d times for %d batches", len(bar.heard), all)
	}
}
