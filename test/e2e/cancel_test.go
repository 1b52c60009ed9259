package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// Doomed is a short job that an operator cancels at some moment of its life. It fails
// so many times before it succeeds.
type Doomed struct {
	Hold  int `json:"hold"` // ms
	Fails int `json:"fails"`
}

// Kind names the sort of job.
func (Doomed) Kind() string { return "doomed" }

const doomedTries = 3

func doomed(q *rowlock.Queue, gauge string) {
	rowlock.Handle(q, func(_ context.Context, j work.Job[Doomed]) error {
		v := visit{Key: "doomed", Job: j.ID.String(), At: time.Now(), Hold: j.Args.Hold}
		if err := v.stay(gauge); err != nil {
			return err
		}
		if j.Attempt <= j.Args.Fails {
			return work.RetryAfter(20*time.Millisecond, errors.New("asked to"))
		}
		return nil
	}, work.MaxAttempts(doomedTries))
}

const (
	doomedLease = 6 * time.Second
	doomedSpan  = 300 * time.Millisecond // in which a job is cancelled that waits
	doomedPage  = 25
)

// TestCancels: jobs of 0 to 20 ms are cancelled at random moments, waiting, running,
// between two attempts and when they are over. The answer to a cancel equals the final
// row, and a job whose cancel was granted is neither retried nor claimed again.
func TestCancels(t *testing.T) {
	onEveryStore(t, func(t *testing.T, b *box) {
		pages := 2
		if os.Getenv("ROWLOCK_STRESS") == "1" {
			pages = 100
		}
		g := newGauge(t)
		crew := b.crew(g, 2, 1, doomedLease)
		q, err := rowlock.Open(t.Context(), b.dsn())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = q.Close() }()
		c := &cancels{t: t, q: q, g: g, of: map[domain.JobID]verdict{}}
		var operators sync.WaitGroup
		for range 4 {
			operators.Go(func() {
				for range pages {
					c.page()
				}
			})
		}
		operators.Wait()
		eventually(t, "every job has ended", func() bool {
			left, err := q.Inspect().Count(t.Context(), domain.Filter{States: unended})
			return err == nil && left.N == 0
		})
		dismiss(crew) // what still runs is over then
		c.check(4 * pages * doomedPage)
	})
}

// cancels are what operators asked for and were told.
type cancels struct {
	t  *testing.T
	q  *rowlock.Queue
	g  *gauge
	mu sync.Mutex
	of map[domain.JobID]verdict
}

// verdict is the answer to a cancel, and when it came.
type verdict struct {
	err error
	at  time.Time
}

// page enqueues some jobs and cancels each at a moment of its own.
func (c *cancels) page() {
	items := make([]enqueue.Item, doomedPage)
	for i := range items {
		items[i].Args = Doomed{Hold: rand.IntN(21), Fails: rand.IntN(doomedTries + 1)}
	}
	receipts, err := c.q.EnqueueMany(c.t.Context(), items)
	if err != nil {
		c.t.Error(err)
		return
	}
	var all sync.WaitGroup
	for i, r := range receipts {
		all.Go(func() {
			if c.await(r.Job.ID, i) {
				c.cancel(r.Job.ID)
			}
		})
	}
	all.Wait()
}

// await waits for the moment of a job's life at which it is cancelled: a random one from
// its birth or, however slow the store is today, from its first start on, and of one
// job in a page after its end.
func (c *cancels) await(id domain.JobID, i int) bool {
	holds, span := func() bool { return true }, doomedSpan
	switch {
	case i == 0:
		holds, span = func() bool {
			row, err := c.q.Inspect().Get(c.t.Context(), id)
			return err == nil && row.State.Terminal()
		}, time.Millisecond
	case i%3 > 0:
		holds, span = func() bool { return c.g.has(id.String()) }, 50*time.Millisecond
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	ticker := time.NewTicker(3 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit.C:
			c.t.Errorf("waited in vain for the moment of job %s", id)
			return false
		}
	}
	<-time.After(rand.N(span)) // of its life
	return true
}

// cancel asks until it is told: of two answers that contend the store may give neither.
func (c *cancels) cancel(id domain.JobID) {
	for {
		edited, err := c.q.Operate().Cancel(c.t.Context(), []domain.JobID{id})
		if code := domain.CodeOf(err); code == domain.Contended || code == domain.Unavailable {
			continue
		}
		if err != nil || len(edited) != 1 {
			c.t.Errorf("cancel of %s: %v, %v", id, edited, err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.of[id] = verdict{edited[0].Err, time.Now()}
		return
	}
}

// check compares every answer with the row that is there in the end, and with what ran.
func (c *cancels) check(want int) {
	c.t.Helper()
	if len(c.of) != want {
		c.t.Errorf("%d answers, want %d", len(c.of), want)
	}
	tally := map[string]int{}
	runs, late := c.g.runs(), c.late()
	for id, v := range c.of {
		row, err := c.q.Inspect().Get(c.t.Context(), id)
		if err != nil {
			c.t.Fatal(err)
		}
		began, known := runs[id.String()], c.known(row)
		switch told, is := domain.CodeOf(v.err), row.State; {
		case told == "" && is == domain.Cancelled && began <= known:
			tally["cancelled while it waited"]++
		case told == "" && is == domain.Cancelled && began == known+1:
			tally["cancelled while it ran"]++
		case told == domain.Conflict && is == domain.Done && strings.Contains(v.err.Error(), "done"),
			told == domain.Conflict && is == domain.Dead && strings.Contains(v.err.Error(), "dead"):
			tally["refused"]++
		default:
			c.t.Errorf("job %s is %s, began %d times of which its row knows %d, and its operator was told %v: %s", id, is, began, known, v.err, row.History)
		}
		if n := late[id]; n > 1 {
			c.t.Errorf("job %s began %d times after it was cancelled", id, n)
		}
	}
	c.t.Log(fmt.Sprint(tally), len(late), "of them were claimed before and began after the answer")
	for _, what := range []string{"cancelled while it waited", "cancelled while it ran", "refused"} {
		if tally[what] == 0 {
			c.t.Errorf("none was %s", what)
		}
	}
}

// known counts the runs that the row tells of: those that were settled, put back, or
// given up by a runner that a busy machine kept from renewing.
func (c *cancels) known(row domain.Job) int {
	notes, err := row.History.Notes()
	if err != nil {
		c.t.Fatal(err)
	}
	n := row.Attempts + row.Stalls
	for _, note := range notes {
		if note.Message == domain.ErrLeaseLost.Error() {
			n++
		}
	}
	return n
}

// late counts runs that began after their job's cancel was granted. A runner that had
// claimed the job before may begin it, until it knows.
func (c *cancels) late() map[domain.JobID]int {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	late := map[domain.JobID]int{}
	for _, visit := range c.g.visits {
		id, err := domain.ParseJobID(visit.Job)
		if err != nil {
			c.t.Fatal(err)
		}
		v := c.of[id]
		if v.err == nil && visit.At.After(v.at) {
			if late[id]++; visit.At.Sub(v.at) > doomedLease {
				c.t.Errorf("job %s began %v after it was cancelled", id, visit.At.Sub(v.at))
			}
		}
	}
	return late
}
