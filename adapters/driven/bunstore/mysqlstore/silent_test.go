package mysqlstore_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/domain"
)

// TestSilentServer: a server that takes connections and says nothing is waited for
// no longer than the DSN says, or four seconds.
func TestSilentServer(t *testing.T) {
	for dsn, want := range map[string]time.Duration{
		"u@silent(x)/app":            4 * time.Second,
		"u@silent(x)/app?timeout=2s": 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			defer func() { _, _ = here.Close(), there.Close() }()
			mysql.RegisterDialContext("silent", func(context.Context, string) (net.Conn, error) { return here, nil })
			defer mysql.DeregisterDialContext("silent")
			began := time.Now()
			_, err := mysqlstore.Open(t.Context(), mysqlstore.Config{DSN: dsn})
			wantCode(t, dsn, err, domain.Unavailable, "does not answer")
			if took := time.Since(began); took != want {
				t.Errorf("%s: it was waited for %v, want %v", dsn, took, want)
			}
		})
	}
}
