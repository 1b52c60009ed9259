package e2e

import (
	"net/http"
	"syscall"
	"testing"
)

func TestSignals(t *testing.T) {
	onEveryStore(t, testSignals)
}

func testSignals(t *testing.T, b *box) {
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
	add := func() { b.ok("enqueue", "http", `{"url":"`+srv.URL+`"}`) }
	add()
	graceful := b.worker("--json")
	<-arrived
	graceful.signal(syscall.SIGTERM)
	graceful.signal(syscall.SIGINT) // at once: the same request, by another way
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
	onEveryStore(t, testInterruptedDrain)
}

func testInterruptedDrain(t *testing.T, b *box) {
	arrived := make(chan struct{})
	srv := serve(t, func(_ http.ResponseWriter, r *http.Request, _ int) int {
		close(arrived)
		<-r.Context().Done()
		return 0
	})
	b.ok("enqueue", "http", `{"url":"`+srv.URL+`"}`)
	p := b.start("work", "--once", "--http-allow-private", "--stop-timeout", "3s", "--json")
	<-arrived
	p.signal(syscall.SIGINT)
	if code := p.exit(); code != 130 {
		t.Errorf("exit %d", code)
	}
	if s := b.stats().Totals; s.Pending != 1 || b.jobs()[0].Attempts != 0 {
		t.Errorf("the job was not given back: %+v", s)
	}
}
