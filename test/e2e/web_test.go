package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
)

// hit is one request that the server got.
type hit struct {
	at     time.Time
	job    string
	body   string
	status int // 0: never answered
}

// web is the server whose log the store's counts must match.
type web struct {
	*httptest.Server
	mu   sync.Mutex
	hits map[string][]hit // by path
}

// serve starts a server; answer is told which visit of the path it is, from 1.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, visit int) int) *web {
	s := &web{hits: make(map[string][]hit)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.hits[r.URL.Path] = append(s.hits[r.URL.Path], hit{at: system.Clock().Now(), job: r.Header.Get("Idempotency-Key"), body: string(body)})
		visit := len(s.hits[r.URL.Path])
		s.mu.Unlock()
		status := answer(w, r, visit)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hits[r.URL.Path][visit-1].status = status
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// log is a copy of the hits.
func (s *web) log() map[string][]hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	hits := make(map[string][]hit, len(s.hits))
	for path, list := range s.hits {
		hits[path] = append([]hit(nil), list...)
	}
	return hits
}

// say answers with a status.
func say(w http.ResponseWriter, status int) int {
	w.WriteHeader(status)
	return status
}
