package e2e

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// Toil is a job of the outages.
type Toil struct{}

// Kind names the sort of job.
func (Toil) Kind() string { return "toil" }

// siteForm is how large a site is.
type siteForm struct {
	lease  time.Duration
	gap    time.Duration // between two jobs of one writer
	steady time.Duration // how long it is looked at before
	window time.Duration // that a throughput is measured in
	within time.Duration // of the end of an outage everything runs as before
}

func stress() bool { return os.Getenv("ROWLOCK_STRESS") == "1" }

func siteOf() siteForm {
	if stress() {
		return siteForm{lease: 20 * time.Second, gap: 40 * time.Millisecond, steady: 10 * time.Second, window: time.Second, within: 10 * time.Second}
	}
	return siteForm{lease: 2 * time.Second, gap: 80 * time.Millisecond, steady: 1500 * time.Millisecond, window: 500 * time.Millisecond, within: 30 * time.Second}
}

const (
	siteWriters = 4
	siteWorkers = 8
	toilTime    = 5 * time.Millisecond
)

// site is a host's two workers and a third process's writers, all of which reach the
// store by the same way. It notes what became of every job.
type site struct {
	t       *testing.T
	form    siteForm
	before  int // goroutines
	queues  []*rowlock.Queue
	end     context.CancelFunc // of the workers
	workers sync.WaitGroup
	quit    chan struct{} // the writers'
	writers sync.WaitGroup
	done    atomic.Int64
	failed  atomic.Int64 // error events

	mu    sync.Mutex
	acked map[domain.JobID]bool
	runs  map[domain.JobID]int
	ended map[domain.JobID]int // completed, as its runner was told by the store
	notes map[string]int       // events, and errors by their operation
}

// newSite counts the goroutines before anything is begun.
func newSite(t *testing.T) *site {
	return &site{
		t: t, form: siteOf(), before: runtime.NumGoroutine(), quit: make(chan struct{}),
		acked: map[domain.JobID]bool{}, runs: map[domain.JobID]int{}, ended: map[domain.JobID]int{}, notes: map[string]int{},
	}
}

// start begins the work.
func (s *site) start(dsn string) {
	ctx, end := context.WithCancel(context.WithoutCancel(s.t.Context()))
	s.end = end
	for range 2 {
		q := s.open(dsn, rowlock.WithObserver(s))
		rowlock.Handle(q, s.toil)
		s.workers.Go(func() {
			if err := q.Work(ctx, rowlock.Concurrency(siteWorkers), rowlock.Lease(s.form.lease), rowlock.Upkeep(s.form.lease/4)); err != nil {
				s.t.Errorf("a worker ended: %v", err)
			}
		})
	}
	client := s.open(dsn)
	for range siteWriters {
		s.writers.Go(func() { s.write(client) })
	}
}

func (s *site) open(dsn string, opts ...rowlock.Option) *rowlock.Queue {
	q, err := rowlock.Open(s.t.Context(), dsn, append(opts, rowlock.Migrate())...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.queues = append(s.queues, q)
	return q
}

// toil is the handler. Its record is the test's, whatever the store believes.
func (s *site) toil(ctx context.Context, j work.Job[Toil]) error {
	s.mu.Lock()
	s.runs[j.ID]++
	s.mu.Unlock()
	select {
	case <-time.After(toilTime):
	case <-ctx.Done():
	}
	return nil
}

// Observe notes an event.
func (s *site) Observe(e domain.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes[e.Type.String()]++
	switch e.Type {
	case domain.EventCompleted:
		s.ended[e.Job]++
		s.done.Add(1)
	case domain.EventError:
		s.notes["error "+e.Operation]++
		s.failed.Add(1)
	}
}

// write adds jobs steadily, each until the store has said that it has it.
func (s *site) write(q *rowlock.Queue) {
	pace := time.NewTicker(s.form.gap)
	defer pace.Stop()
	for ids := system.IDs(); ; {
		id := ids.NewJobID()
		for !s.add(q, id) {
			select {
			case <-s.quit:
				return
			case <-pace.C:
			}
		}
		select {
		case <-s.quit:
			return
		case <-pace.C:
		}
	}
}

func (s *site) add(q *rowlock.Queue, id domain.JobID) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), 5*time.Second)
	defer cancel()
	if _, _, err := q.Enqueue(ctx, Toil{}, enqueue.ID(id)); err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked[id] = true
	return true
}

// rate is how many jobs a second are done.
func (s *site) rate(over time.Duration) float64 {
	was, began := s.done.Load(), time.Now()
	<-time.After(over)
	return float64(s.done.Load()-was) / time.Since(began).Seconds()
}

// steady waits until the work is at its pace and says what that is.
func (s *site) steady() float64 {
	s.t.Helper()
	eventually(s.t, "jobs are done", func() bool { return s.done.Load() > 20 })
	return s.rate(s.form.steady)
}

// smooth is over how many windows the pace is taken: one may miss what the next has.
const smooth = 3

// back waits until the pace is again what it was.
func (s *site) back(before float64) {
	s.t.Helper()
	began, was := time.Now(), s.failed.Load()
	var rates []float64
	for sum := 0.0; sum < 0.9*before*smooth; {
		at := time.Since(began)
		rates = append(rates, math.Round(s.rate(s.form.window)))
		if sum += rates[len(rates)-1]; len(rates) > smooth {
			sum -= rates[len(rates)-1-smooth]
		}
		if sum < 0.9*before*smooth && at > s.form.within {
			s.t.Fatalf("%v after the end the pace is %v/s, %.0f/s before; errors since: %d, all: %v\n%s",
				time.Since(began), rates, before, s.failed.Load()-was, s.tally(), stacks())
		}
	}
	s.t.Logf("back: %v/s, each in %v from the end on, %.0f/s before", rates, s.form.window, before)
}

func (s *site) tally() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.notes)
}

// close ends the writers, lets everything be done, checks it and ends the workers.
func (s *site) close() {
	s.t.Helper()
	close(s.quit)
	s.writers.Wait()
	began := time.Now()
	s.check()
	s.t.Logf("all done %v later: %s", time.Since(began).Round(10*time.Millisecond), s.tally())
	s.end()
	hung := time.AfterFunc(20*time.Second, func() { s.t.Logf("the workers do not end:\n%s", stacks()) })
	s.workers.Wait()
	hung.Stop()
	for _, q := range s.queues {
		if err := q.Close(); err != nil {
			s.t.Errorf("close: %v", err)
		}
	}
}

// check: every job that was acknowledged is done, by one outcome, and ran as often
// as its row says.
func (s *site) check() {
	s.t.Helper()
	q := s.queues[0]
	eventually(s.t, "nothing is left to do", func() bool {
		n, err := q.Inspect().Count(s.t.Context(), domain.Filter{States: []domain.State{domain.Ready, domain.Scheduled, domain.Blocked, domain.Running}})
		return err == nil && n.N == 0
	})
	eventually(s.t, "the runners know of it", s.told) // the last answers may be on their way, or be lost
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.acked) < 50 {
		s.t.Fatalf("%d jobs are too few to tell", len(s.acked))
	}
	reruns := 0
	for id := range s.acked {
		j, err := q.Inspect().Get(s.t.Context(), id)
		switch {
		case err != nil:
			s.t.Errorf("an acknowledged job: %v", err)
		case j.State != domain.Done || j.Attempts != 1 || j.Stalls != 0:
			s.t.Errorf("job %v is %v after %d attempts", id, j.State, j.Attempts)
		case s.ended[id] != 1:
			s.t.Errorf("job %v was recorded %d times", id, s.ended[id])
		case s.runs[id] < 1 || s.runs[id] > 1+len(j.History):
			s.t.Errorf("job %v ran %d times, its history is %+v", id, s.runs[id], j.History)
		}
		reruns += s.runs[id] - 1
	}
	s.t.Logf("%d jobs, %d reruns", len(s.acked), reruns)
}

// told says that every job that was acknowledged was recorded.
func (s *site) told() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.acked {
		if s.ended[id] == 0 {
			return false
		}
	}
	return true
}

// left waits until no goroutine is left of what the test began.
func (s *site) left() {
	s.t.Helper()
	limit := time.Now().Add(30 * time.Second) // drivers say goodbye to dead connections for a while
	for runtime.NumGoroutine() > s.before {
		if time.Now().After(limit) {
			s.t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), s.before, stacks())
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	s.t.Logf("goroutines: %d before, %d after", s.before, runtime.NumGoroutine())
}

func stacks() []byte {
	all := make([]byte, 1<<20)
	return all[:runtime.Stack(all, true)]
}
