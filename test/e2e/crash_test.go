package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
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
// others live on the same store.
func TestKilledRunners(t *testing.T) {
	onEveryStore(t, testKilledRunners)
}

func testKilledRunners(t *testing.T, b *box) {
	jobs, begun, killed := b.many(500), atomic.Int64{}, make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) int {
		hold := time.After(60 * time.Millisecond) // a job takes a while, so that a kill meets it
		if begun.Add(1) > int64(jobs/2) {
			select { // and enough are left for the last one
			case <-killed:
			case <-r.Context().Done():
			}
		}
		select {
		case <-hold:
		case <-r.Context().Done():
		}
		return say(w, 200)
	})
	lines := make([]string, jobs)
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
	close(killed)
	eventually(t, "every job is done", func() bool { return b.stats().Totals.Done == jobs })
	for _, p := range others {
		p.stop()
	}
	checkReruns(t, b, srv, jobs, held)
}

// checkReruns: none lost, a job ran again only after the lease of a killed
// runner ended, and that was no attempt.
func checkReruns(t *testing.T, b *box, srv *web, jobs int, held map[string]bool) {
	t.Helper()
	if len(held) == 0 {
		t.Fatal("no runner was killed in mid-work")
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
	onEveryStore(t, testResumedRunnerIsRefused)
}

func testResumedRunnerIsRefused(t *testing.T, b *box) {
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
	b.ok("enqueue", "http", `{"url":"`+srv.URL+`"}`)
	stale := b.worker()
	eventually(t, "the job runs", func() bool { return len(srv.log()["/"]) == 1 && len(b.holds(stale)) == 1 })
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

// TestRecoveryByHand: what a killed runner held is put back by a command that runs
// once, and a job that takes its process down each time is dead in the end, with its failure
// job.
func TestRecoveryByHand(t *testing.T) {
	onEveryStore(t, testRecoveryByHand)
}

func testRecoveryByHand(t *testing.T, b *box) {
	srv := serve(t, func(_ http.ResponseWriter, r *http.Request, _ int) int {
		<-r.Context().Done()
		return 0
	})
	b.ok("enqueue", "http", `{"url":"`+srv.URL+`"}`, "--unique", "u", "--failure-kind", "told")
	id := b.jobs()[0].ID
	for crash := 1; crash <= 4; crash++ { // the fourth in a row is one too many
		victim := b.worker("--lease", "600ms", "--upkeep", "5m")
		eventually(t, "the job runs", func() bool { return len(srv.log()["/"]) == crash })
		victim.signal(syscall.SIGKILL)
		victim.exit()
		eventually(t, "it is put back", func() bool {
			b.ok("work", "--once", "--queue", "other", "--lease", "600ms")
			return b.show(id).State != "running"
		})
		if j := b.show(id); j.Attempts != 0 || j.Stalls != crash || len(j.History) != crash || !strings.HasPrefix(j.History[crash-1].Message, "stalled") {
			t.Fatalf("after crash %d: %+v", crash, j)
		}
	}
	if j := b.show(id); j.State != "dead" || !strings.HasPrefix(j.Error, "stalled") {
		t.Errorf("after the last: %+v", j)
	}
	if told := b.jobs("--kind", "told"); len(told) != 1 || told[0].State != "ready" || !strings.Contains(string(b.show(told[0].ID).Args), id) {
		t.Errorf("its failure jobs are %+v", told)
	}
	if r := b.ok("enqueue", "http", `{"url":"`+srv.URL+`"}`, "--unique", "u", "--json"); read[struct{ ID string }](t, r).ID == id {
		t.Error("the dead job holds its key")
	}
}
