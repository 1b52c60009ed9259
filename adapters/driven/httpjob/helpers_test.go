package httpjob

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

type fixedClock struct{ at time.Time }

func (c fixedClock) Now() time.Time { return c.at }

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func jobID() domain.JobID { return domain.JobID{6: 0x70, 8: 0x80, 15: 9} }

// open gives a handler that may reach the test's own servers.
func open(t *testing.T) *Handler {
	h := New(Config{AllowPrivate: true, Clock: fixedClock{now()}})
	t.Cleanup(h.Close)
	return h
}

// serve starts a server.
func serve(t *testing.T, fn http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(fn)
	t.Cleanup(s.Close)
	return s
}

// run runs one attempt with the given args.
func run(t *testing.T, h *Handler, args map[string]any) error {
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return h.Run(t.Context(), driven.Task{ID: jobID(), Kind: Kind, Attempt: 1, Args: text})
}

// verdict is what becomes of a job of ten attempts after its first one.
func verdict(err error) domain.Verdict {
	rule := domain.Rule{Policy: domain.RetryPolicy{Base: time.Minute, Factor: 2, Cap: time.Hour, MaxAttempts: 10}}
	return domain.Judge(&domain.Job{MaxAttempts: 10}, domain.Attempt{Err: err}, rule)
}
