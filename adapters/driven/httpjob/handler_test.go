package httpjob

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestStatusDecidesTheOutcome(t *testing.T) {
	const policyWait = time.Minute
	cases := []struct {
		name   string
		status int
		retry  string
		expect any
		want   domain.State
		after  time.Duration
	}{
		{"200 is done", 200, "", nil, domain.Done, 0},
		{"204 is done", 204, "", nil, domain.Done, 0},
		{"410 is buried", 410, "", nil, domain.Dead, 0},
		{"404 is buried even with Retry-After", 404, "5", nil, domain.Dead, 0},
		{"408 is tried again", 408, "", nil, domain.Scheduled, policyWait},
		{"425 is tried again", 425, "", nil, domain.Scheduled, policyWait},
		{"429 obeys seconds", 429, "7", nil, domain.Scheduled, 7 * time.Second},
		{"503 obeys a date", 503, now().Add(90 * time.Second).Format(http.TimeFormat), nil, domain.Scheduled, 90 * time.Second},
		{"500 obeys seconds", 500, "3", nil, domain.Scheduled, 3 * time.Second},
		{"500 without is by policy", 500, "", nil, domain.Scheduled, policyWait},
		{"zero is by policy", 503, "0", nil, domain.Scheduled, policyWait},
		{"a date that passed is by policy", 503, now().Add(-time.Hour).Format(http.TimeFormat), nil, domain.Scheduled, policyWait},
		{"nonsense is by policy", 503, "soon", nil, domain.Scheduled, policyWait},
		{"a year is cut to a day", 429, "31536000", nil, domain.Scheduled, maxRetryAfter},
		{"more than a number holds is cut too", 429, "99999999999999999999999", nil, domain.Scheduled, maxRetryAfter},
		{"an expected 404 is done", 404, "", 404, domain.Done, 0},
		{"one of the expected is done", 201, "", []int{200, 201}, domain.Done, 0},
		{"an unexpected 200 is tried again", 200, "", []int{201}, domain.Scheduled, policyWait},
		{"a redirect to nowhere is tried again", 304, "", nil, domain.Scheduled, policyWait},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", now().Format(http.TimeFormat))
				if c.retry != "" {
					w.Header().Set("Retry-After", c.retry)
				}
				w.WriteHeader(c.status)
			})
			args := map[string]any{"url": srv.URL + "/hook?token=hush"}
			if c.expect != nil {
				args["expect"] = c.expect
			}
			err := run(t, open(t), args)
			v := verdict(err)
			if v.To != c.want || v.After != c.after {
				t.Fatalf("got %v after %v, want %v after %v (%v)", v.To, v.After, c.want, c.after, err)
			}
			if err != nil && (strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "GET 127.0.0.1:")) {
				t.Errorf("the error must name method and host and no query: %v", err)
			}
		})
	}
}

func TestRequestIsWhatTheArgsSay(t *testing.T) {
	type seen struct {
		method, host, body string
		header             http.Header
	}
	got := make(chan seen, 1)
	srv := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.Host, string(body), r.Header}
	})
	check := func(name, args, method, body, contentType string) seen {
		t.Helper()
		task := driven.Task{ID: jobID(), Args: []byte(strings.ReplaceAll(args, "URL", srv.URL))}
		if err := open(t).Run(t.Context(), task); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := <-got
		if s.method != method || s.body != body || s.header.Get("Content-Type") != contentType {
			t.Errorf("%s: got %s %q %q", name, s.method, s.body, s.header.Get("Content-Type"))
		}
		return s
	}
	s := check("bare", `{"url":"URL"}`, "GET", "", "")
	if s.header.Get("User-Agent") != "rowlock" || s.header.Get("Idempotency-Key") != jobID().String() {
		t.Errorf("default headers: %v", s.header)
	}
	check("JSON is sent byte by byte", `{"url":"URL","body":{"n": 9007199254740993, "a":[ 1.0 ]}}`, "POST", `{"n": 9007199254740993, "a":[ 1.0 ]}`, "application/json")
	check("text is sent as text", `{"url":"URL","method":"put","body":"a\nb 🦊"}`, "PUT", "a\nb 🦊", "text/plain; charset=utf-8")
	check("nulls are nothing", `{"url":"URL","body":null,"expect":null,"timeout":null,"headers":null}`, "GET", "", "")
	s = check("own headers win", `{"url":"URL","method":"DELETE","headers":{"user-agent":"me","Idempotency-Key":"k","Host":"virtual.example","X-A":"b"}}`, "DELETE", "", "")
	if s.header.Get("User-Agent") != "me" || s.header.Get("Idempotency-Key") != "k" || s.host != "virtual.example" || s.header.Get("X-A") != "b" {
		t.Errorf("own headers: %v, host %q", s.header, s.host)
	}
}

func TestHangingServerTimesOut(t *testing.T) {
	release := make(chan struct{})
	srv := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	err := run(t, open(t), map[string]any{"url": srv.URL, "timeout": "30ms"})
	if v := verdict(err); v.To != domain.Scheduled || !strings.Contains(err.Error(), "no answer within 30ms") {
		t.Fatalf("got %v: %v", v.To, err)
	}
}

func TestRunnersCancelKeepsItsCause(t *testing.T) {
	arrived := make(chan struct{})
	srv := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(domain.ErrLeaseLost)
	}()
	err := open(t).Run(ctx, driven.Task{Args: []byte(`{"url":"` + srv.URL + `"}`)})
	if !errors.Is(err, domain.ErrLeaseLost) {
		t.Fatalf("got %v", err)
	}
}

func TestNetworkFailuresAreTriedAgainAndTellNoSecret(t *testing.T) {
	gone := serve(t, func(http.ResponseWriter, *http.Request) {})
	gone.Close()
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake fails, as it should
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, c := range map[string]struct{ url, want string }{
		"untrusted": {secure.URL, "certificate is not trusted"},
		"refused":   {gone.URL, "connection refused"},
		"closed":    {cut.URL, "closed the connection"},
		"not TLS":   {strings.Replace(cut.URL, "http:", "https:", 1), "https"},
		"no server": {"http://rowlock.invalid", "cannot be resolved"},
	} {
		err := run(t, open(t), map[string]any{
			"url": strings.Replace(c.url, "://", "://user:hush@", 1) + "/hush?hush=hush#hush", "method": "POST",
			"headers": map[string]string{"Authorization": "hush"}, "body": "hush",
		})
		if v := verdict(err); v.To != domain.Scheduled {
			t.Errorf("%s: got %v", name, v.To)
		}
		if text := err.Error(); strings.Contains(text, "hush") || (name != "not TLS" && !strings.Contains(text, c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	var hops atomic.Int32
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != "" || r.Header.Get("Idempotency-Key") == "" {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/five", "/six":
			left := map[string]int32{"/five": 5, "/six": 6}[r.URL.Path] - hops.Add(1) + 1
			if left > 0 {
				http.Redirect(w, r, r.URL.Path, http.StatusFound)
			}
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/inside":
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "127.0.0.2", 1), http.StatusFound)
		}
	})
	// a guard that takes 127.0.0.1 for the public Internet and 127.0.0.2 for the inside
	h := newHandler(func(a netip.Addr) string {
		if a == netip.MustParseAddr("127.0.0.1") {
			return ""
		}
		return "a loopback"
	}, fixedClock{now()})
	t.Cleanup(h.Close)
	for _, c := range []struct {
		path   string
		expect any
		want   domain.State
	}{
		{"/five", nil, domain.Done},
		{"/six", nil, domain.Scheduled},
		{"/away", nil, domain.Done},
		{"/file", nil, domain.Dead},
		{"/inside", nil, domain.Dead},
		{"/inside", 302, domain.Done},
	} {
		hops.Store(0)
		args := map[string]any{"url": srv.URL + c.path, "headers": map[string]string{"X-Api-Key": "hush", "Authorization": "hush"}}
		if c.expect != nil {
			args["expect"] = c.expect
		}
		err := run(t, h, args)
		if v := verdict(err); v.To != c.want {
			t.Errorf("%s expecting %v: got %v, want %v (%v)", c.path, c.expect, v.To, c.want, err)
		}
	}
}

func TestLongBodyIsNotReadToItsEnd(t *testing.T) {
	var sent atomic.Int64
	ended := make(chan struct{})
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		block := make([]byte, 64<<10)
		for sent.Load() < 1<<30 {
			n, err := w.Write(block)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	if err := run(t, open(t), map[string]any{"url": srv.URL}); err != nil {
		t.Fatal(err)
	}
	<-ended
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}
