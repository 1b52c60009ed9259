package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// sortOf says how the server treats the n-th URL.
func sortOf(n int) string {
	switch {
	case n%20 == 1:
		return "gone" // 410
	case n%20 == 2 || n%20 == 3:
		return "shaky" // 500 on the first visit
	case n%20 == 4 || n%20 == 5:
		return "busy" // 429 with Retry-After on the first visit
	case n%40 == 6:
		return "slow" // hangs on the first visit
	case n%40 == 26:
		return "stuck" // hangs on every visit
	}
	return "fine"
}

func webhookServer(t *testing.T) *web {
	return serve(t, func(w http.ResponseWriter, r *http.Request, visit int) int {
		sort, first := strings.Split(r.URL.Path, "/")[1], visit == 1
		switch {
		case sort == "gone":
			return say(w, http.StatusGone)
		case sort == "shaky" && first:
			return say(w, http.StatusInternalServerError)
		case sort == "busy" && first:
			w.Header().Set("Retry-After", "1")
			return say(w, http.StatusTooManyRequests)
		case sort == "slow" && first, sort == "stuck":
			<-r.Context().Done()
			return 0
		}
		return say(w, http.StatusOK)
	})
}

// TestThousandWebhooks is the main job on real input: every count of the store
// matches what the server saw.
func TestThousandWebhooks(t *testing.T) {
	onEveryStore(t, testWebhooks)
}

func testWebhooks(t *testing.T, b *box) {
	srv := webhookServer(t)
	lines, sorts := make([]string, b.many(1000)), map[string]int{}
	for n := range lines {
		sort, timeout := sortOf(n), "30s" // none of those that answer is late, however busy the machine is
		if sort == "slow" || sort == "stuck" {
			timeout = "500ms"
		}
		sorts[sort]++
		lines[n] = fmt.Sprintf(`{"kind":"http","args":{"url":"%s/%s/%d?token=hush","method":"POST","body":{"n":%d},"timeout":"%s"},"max_attempts":2}`, srv.URL, sort, n, n, timeout)
	}
	var added struct{ Enqueued, Refused int }
	if added = read[struct{ Enqueued, Refused int }](t, b.ok("enqueue", "--file", b.file(lines...), "--json")); added.Enqueued != len(lines) || added.Refused != 0 {
		t.Fatalf("enqueued %+v", added)
	}
	work := func() (done struct{ Completed, Retried, Dead int }) {
		return read[struct{ Completed, Retried, Dead int }](t, b.ok("work", "--once", "--http-allow-private", "--concurrency", "20", "--json"))
	}
	// the first time everything is tried; what is told to wait a second may come round already
	first := work()
	if first.Dead != sorts["gone"] || first.Completed < sorts["fine"] || first.Retried != sorts["shaky"]+sorts["busy"]+sorts["slow"]+sorts["stuck"] {
		t.Fatalf("first %+v of %+v", first, sorts)
	}
	eventually(t, "nothing is waiting", func() bool {
		if s := b.stats(); s.Totals.Due == 0 {
			return s.Totals.Scheduled == 0
		}
		work()
		return false
	})
	checkWebhooks(t, b, srv, len(lines), sorts)
}

func checkWebhooks(t *testing.T, b *box, srv *web, jobs int, sorts map[string]int) {
	t.Helper()
	visits := map[string]int{"fine": 1, "gone": 1, "shaky": 2, "busy": 2, "slow": 2, "stuck": 2}
	log, done, dead := srv.log(), 0, 0
	for path, hits := range log {
		sort := strings.Split(path, "/")[1]
		if len(hits) != visits[sort] {
			t.Errorf("%s was hit %d times, want %d", path, len(hits), visits[sort])
		}
		if hits[len(hits)-1].status == http.StatusOK {
			done++
		} else {
			dead++
		}
		if sort == "busy" && len(hits) == 2 && hits[1].at.Sub(hits[0].at).Seconds() < 1 {
			t.Errorf("%s was hit again after %v, against its Retry-After", path, hits[1].at.Sub(hits[0].at))
		}
		if want := fmt.Sprintf(`{"n":%s}`, path[strings.LastIndex(path, "/")+1:]); hits[0].body != want {
			t.Errorf("%s got the body %q", path, hits[0].body)
		}
	}
	if s := b.stats().Totals; len(log) != jobs || s.Done != done || s.Dead != dead || s.Pending != 0 || s.Running != 0 || s.Cancelled != 0 {
		t.Errorf("the server saw %d done and %d dead of %d, the store counts %+v", done, dead, len(log), s)
	}
	gone := 0
	for _, j := range b.jobs("--state", "dead") {
		switch {
		case strings.Contains(j.Error, "hush"):
			t.Errorf("a secret is in an error: %s", j.Error)
		case j.Attempts == 1 && strings.Contains(j.Error, "POST 127.0.0.1:") && strings.Contains(j.Error, "answered 410 Gone"):
			gone++
		case j.Attempts != 2 || !strings.Contains(j.Error, "no answer within 500ms"):
			t.Errorf("dead: %+v", j)
		}
	}
	if gone != sorts["gone"] {
		t.Errorf("%d of %d are dead with 410 after one attempt", gone, sorts["gone"])
	}
}

func TestPrivateAddressesAreRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) int { return say(w, 200) })
	b := newBox(t)
	b.ok("enqueue", "http", `{"url":"`+srv.URL+`"}`)
	b.ok("work", "--once")
	dead := b.jobs("--state", "dead")
	if len(dead) != 1 || dead[0].Attempts != 1 || !strings.Contains(dead[0].Error, "--http-allow-private") || len(srv.log()) != 0 {
		t.Fatalf("dead %+v, hits %v", dead, srv.log())
	}
	b.ok("dead", "retry", dead[0].ID)
	b.with("ROWLOCK_HTTP_ALLOW_PRIVATE=true", "ROWLOCK_ONCE=1").ok("work")
	if s := b.stats().Totals; s.Done != 1 || len(srv.log()) != 1 {
		t.Errorf("allowed: %+v, hits %v", s, srv.log())
	}
}
