package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const crashLease = 2 * time.Second

func (b *box) worker(more ...string) *process {
	args := []string{"work", "--http-allow-private", "--lease", crashLease.String(), "--poll", "100ms", "--concurrency", "4"}
	return b.start(append(args, more...)...)
}

// holds lists the running jobs of a process: a runner's id holds its pid.
func (b *box) holds(p *process) (ids []string) {
	b.t.Helper()
	for _, j := range b.jobs("--state", "running") {
		if strings.Contains(j.Runner, "-"+strconv.Itoa(p.cmd.Process.Pid)+"-") {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// TestKilledRunners kills a runner in mid-work three times in a row while two
// others live on the same file.
func TestKilledRunners(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) int {
		select { // a job takes a while, so that a kill meets it
		case <-time.After(60 * time.Millisecond):
		case <-r.Context().Done():
		}
		return say(w, 200)
	})
	b := newBox(t)
	lines := make([]string, 400)
	for n := range lines {
		lines[n] = fmt.Sprintf(`{"kind":"http","args":{"url":"%s/%d"}}`, srv.URL, n)
	}
	b.ok("enqueue", "--file", b.file(lines...))
	others := []*process{b.worker(), b.worker()}
	held := map[string]bool{} // jobs that a killed runner held
	for range 3 {
		victim := b.worker()
		eventually(t, "the runner is in mid-work", func() bool { return len(b.holds(victim)) > 0 })
		victim.signal(syscall.SIGKILL)
		victim.exit()
		for _, id := range b.holds(victim) {
			held[id] = true
		}
	}
	eventually(t, "every job ended", func() bool { s := b.stats().Totals; return s.Pending == 0 && s.Running == 0 })
	for _, p := range others {
		p.stop()
	}
	checkReruns(t, b, srv, len(lines), held)
}

// checkReruns: none lost, a job ran again only after the lease of a killed
// runner ended, and that was no attempt.
func checkReruns(t *testing.T, b *box, srv *web, jobs int, held map[string]bool) {
	t.Helper()
	if len(held) == 0 {
		t.Fatal("no runner was killed in mid-work")
	}
	if s := b.stats().Totals; s.Done != jobs {
		t.Errorf("%d of %d are done: %+v", s.Done, jobs, s)
	}
	for _, j := range b.jobs() {
		if j.State != "done" || j.Attempts != 1 || j.Error != "" {
			t.Errorf("a crash counted as an attempt: %+v", j)
		}
	}
	runs := map[string][]hit{}
	for _, hits := range srv.log() {
		for _, h := range hits {
			runs[h.job] = append(runs[h.job], h)
		}
	}
	if len(runs) != jobs {
		t.Errorf("%d of %d jobs ran", len(runs), jobs)
	}
	for id, hits := range runs {
		if len(hits) > 1 || held[id] {
			if stalls := b.stalls(id); stalls == 0 || stalls < len(hits)-1 {
				t.Errorf("%s ran %d times, its history knows %d stalls", id, len(hits), stalls)
			}
		}
		for i := 1; i < len(hits); i++ {
			if gap := hits[i].at.Sub(hits[i-1].at); gap < crashLease-100*time.Millisecond {
				t.Errorf("%s ran again after %v, before its lease ended", id, gap)
			}
		}
	}
}

// stalls counts the leases of a job that ran out.
func (b *box) stalls(id string) (n int) {
	b.t.Helper()
	for _, note := range b.show(id).History {
		if strings.HasPrefix(note.Message, "stalled") {
			n++
		}
	}
	return n
}

// TestResumedRunnerIsRefused stops a runner past its lease and resumes it when
// another has done its job: what it then says of the job does not count.
func TestResumedRunnerIsRefused(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request, visit int) int {
		if visit == 1 {
			select {
			case <-release:
				return say(w, http.StatusGone) // would bury the job
			case <-r.Context().Done():
				return 0
			}
		}
		return say(w, 200)
	})
	b := newBox(t)
	b.ok("enqueue", "http", `{"url":"`+srv.URL+`"}`)
	stale := b.worker()
	eventually(t, "the job runs", func() bool { return len(b.holds(stale)) == 1 })
	stale.signal(syscall.SIGSTOP)
	other := b.worker()
	eventually(t, "another runner did the job", func() bool { return b.stats().Totals.Done == 1 })
	close(release)
	stale.signal(syscall.SIGCONT)
	eventually(t, "the resumed runner learned that it lost the job", func() bool {
		log := stale.log.String()
		return strings.Contains(log, "lease_lost") || strings.Contains(log, "outcome_dropped")
	})
	stale.stop()
	other.stop()
	j := b.jobs()[0]
	if whole := b.show(j.ID); j.State != "done" || j.Attempts != 1 || len(whole.History) != 1 || !strings.HasPrefix(whole.History[0].Message, "stalled") {
		t.Errorf("the job is %+v", whole)
	}
	if hits := srv.log()["/"]; len(hits) != 2 {
		t.Errorf("it ran %d times", len(hits))
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 9), make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request, visit int) int {
		arrived <- struct{}{}
		if visit > 1 {
			<-r.Context().Done()
			return 0
		}
		<-release
		return say(w, 200)
	})
	b := newBox(t)
	add := func() { b.ok("enqueue", "http", `{"url":"`+srv.URL+`"}`) }
	add()
	graceful := b.worker("--json")
	<-arrived
	graceful.signal(syscall.SIGTERM)
	graceful.logged("stopping")
	close(release)
	if code := graceful.exit(); code != 0 || graceful.out.String() != "{\"stopped\":true}\n" {
		t.Errorf("one signal: exit %d, %s", code, graceful.out)
	}
	if s := b.stats().Totals; s.Done != 1 {
		t.Errorf("the running job was not finished: %+v", s)
	}
	add()
	hasty := b.worker("--stop-timeout", "5m")
	<-arrived
	hasty.signal(syscall.SIGINT)
	eventually(t, "the second signal ends it", func() bool {
		hasty.signal(syscall.SIGINT)
		select {
		case <-hasty.ended:
			return true
		default:
			return false
		}
	})
	if code := hasty.exit(); code != 130 {
		t.Errorf("two signals: exit %d", code)
	}
}

func TestInterruptedDrain(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	srv := serve(t, func(_ http.ResponseWriter, r *http.Request, _ int) int {
		close(arrived)
		<-r.Context().Done()
		return 0
	})
	b := newBox(t)
	b.ok("enqueue", "http", `{"url":"`+srv.URL+`"}`)
	p := b.start("work", "--once", "--http-allow-private", "--stop-timeout", "200ms", "--json")
	<-arrived
	p.signal(syscall.SIGINT)
	if code := p.exit(); code != 130 {
		t.Errorf("exit %d", code)
	}
	if s := b.stats().Totals; s.Pending != 1 || b.jobs()[0].Attempts != 0 {
		t.Errorf("the job was not given back: %+v", s)
	}
}
