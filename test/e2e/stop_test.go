package e2e

import (
	"context"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
)

// Stubborn is a job whose handler heeds no context. It holds in the process that is
// to be stopped; where it runs again it is quick.
type Stubborn struct{ Limited }

// Kind names the sort of job.
func (Stubborn) Kind() string { return "stubborn" }

// stopVar makes a process of the crew one that is to be stopped: its StopTimeout.
const stopVar = "ROWLOCK_E2E_STOP"

const stopExits = time.Second

func stubborn(q *rowlock.Queue, gauge string) {
	rowlock.Handle(q, func(_ context.Context, j work.Job[Stubborn]) error {
		v := visit{Key: j.Args.Key, Job: j.ID.String(), At: time.Now()}
		if os.Getenv(stopVar) != "" {
			v.Hold = j.Args.Hold
		}
		return v.stay(gauge)
	}, work.Timeout(time.Minute), work.Limited(work.Limit{N: 5}))
}

func stopOptions() (opts []rowlock.WorkOption) {
	if limit, err := time.ParseDuration(os.Getenv(stopVar)); err == nil {
		opts = append(opts, rowlock.Concurrency(60), rowlock.StopTimeout(limit), rowlock.ExitsWithin(stopExits))
	}
	if poll, err := time.ParseDuration(os.Getenv(pollVar)); err == nil {
		opts = append(opts, rowlock.Poll(poll))
	}
	return opts
}

const (
	finishing = 50
	deaf      = 5
)

// busy starts a process whose jobs are all in mid-work: some that are about to end,
// and some that heed nothing.
func (b *box) busy(g *gauge, limit, lease time.Duration) *process {
	b.t.Helper()
	quick := make([]Keyed, finishing)
	for i := range quick {
		quick[i].Limited = Limited{Key: "quick", Hold: 500}
	}
	slow := make([]Stubborn, deaf)
	for i := range slow {
		slow[i].Limited = Limited{Key: "slow", Hold: int((5 * time.Minute).Milliseconds())}
	}
	enqueueAll(b, slow, nil)
	enqueueAll(b, quick, nil)
	p := b.with(stopVar+"="+limit.String()).hire(g, 1, lease)
	eventually(b.t, "every handler runs", func() bool {
		return len(g.starts("quick")) == finishing && len(g.starts("slow")) == deaf
	})
	return p
}

// TestStopWithStubbornHandlers: on SIGTERM what is about to end is recorded, once; what
// heeds nothing keeps the process no longer than its deadline, and runs elsewhere when
// the process must be gone, not before, although others look for work all the while.
func TestStopWithStubbornHandlers(t *testing.T) { onEveryStore(t, testStopWithStubbornHandlers) }

func testStopWithStubbornHandlers(t *testing.T, b *box) {
	const limit = 6 * time.Second // the last second of it is for telling handlers and writing
	g := newGauge(t)
	p := b.busy(g, limit, longLease)
	other := b.hire(g, 5, longLease)
	eventually(t, "both are known", func() bool { return len(b.stats().Runners) == 2 })
	told := time.Now()
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 1 {
		t.Errorf("exit %d, want 1: some handlers had not ended", code)
	}
	if took := time.Since(told); took < limit-time.Second || took > limit+5*time.Second {
		t.Errorf("it ended %v after SIGTERM, want %v", took, limit)
	}
	p.logged("given back")
	for _, j := range b.jobs("--kind", "stubborn") {
		if j.State != "scheduled" || j.Attempts != 0 || j.Stalls != 0 {
			t.Errorf("it was not released: %+v", j)
		}
	}
	eventually(t, "every job is done", func() bool { return b.stats().Totals.Done == finishing+deaf })
	other.stop()
	for _, j := range b.jobs() {
		if j.Attempts != 1 || j.Stalls != 0 || j.Error != "" {
			t.Errorf("it ended otherwise than by one attempt: %+v", j)
		}
	}
	for id, n := range g.runs() {
		if n != 1 && b.show(id).Kind != "stubborn" || n > 2 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	again := g.starts("slow")[deaf:]
	for _, at := range again {
		if after := at.Sub(told); after < limit+stopExits {
			t.Errorf("it ran elsewhere %v after SIGTERM, when the process might have been there yet", after)
		}
	}
	if len(again) != deaf || g.highest("slow") != deaf {
		t.Errorf("%d ran again, %d at once", len(again), g.highest("slow"))
	}
}

// TestKillDuringStop: a process that is killed while it stops has recorded what ended,
// and another one does the rest once its lease is over. On servers in the long form only:
// what a kill leaves there TestKilledRunners shows.
func TestKillDuringStop(t *testing.T) {
	on(t, slices.DeleteFunc(stores(), func(s store) bool { return !s.own && rounds() == 1 }), testKillDuringStop)
}

func testKillDuringStop(t *testing.T, b *box) {
	b.ok("migrate", "up")
	const lease = 2 * time.Second
	g := newGauge(t)
	p := b.busy(g, time.Minute, lease)
	p.signal(syscall.SIGTERM)
	eventually(t, "what was about to end is recorded", func() bool { return b.stats().Totals.Done == finishing })
	killed := time.Now()
	p.signal(syscall.SIGKILL)
	p.exit()
	other := b.hire(g, 5, lease)
	eventually(t, "every job is done", func() bool { return b.stats().Totals.Done == finishing+deaf })
	other.stop()
	for _, j := range b.jobs() {
		if j.State != "done" || j.Attempts != 1 || j.Kind == "stubborn" && b.stalls(j.ID) != 1 {
			t.Errorf("it ended otherwise than by one attempt: %+v", j)
		}
	}
	for id, n := range g.runs() {
		if n != 1 && b.show(id).Kind != "stubborn" {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	for _, at := range g.starts("slow")[deaf:] {
		if at.Sub(killed) < lease/2 { // it may have been renewed long before
			t.Errorf("it ran elsewhere %v after the kill", at.Sub(killed))
		}
	}
}
