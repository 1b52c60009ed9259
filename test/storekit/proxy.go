package storekit

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/test/faults"
)

// Through leads a DSN, a URL of one server, through a proxy that is closed with the test.
func Through(t testing.TB, dsn string) (*faults.Proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("the DSN must be of one server: %v", err)
	}
	p, err := faults.NewProxy(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	u.Host = p.Addr()
	if query := u.Query(); strings.HasPrefix(u.Scheme, "mongodb") { // else it would be told the server's own address
		query.Set("directConnection", "true")
		u.RawQuery = query.Encode()
	}
	return p, u.String()
}

// Idle has a pool hold n connections that are not in use.
func Idle(t testing.TB, db *sql.DB, n int) {
	t.Helper()
	db.SetMaxIdleConns(n)
	for range n {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }() // all at once
	}
}
