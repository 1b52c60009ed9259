package servers

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// probe notes how a test would have ended.
type probe struct {
	testing.TB
	failed, skipped string
}

func (p *probe) Fatalf(format string, args ...any) {
	p.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (p *probe) Skipf(format string, args ...any) {
	p.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func probed(t *testing.T, test func(testing.TB)) *probe {
	p := &probe{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(p)
	}()
	<-done
	return p
}

func TestMissingServer(t *testing.T) {
	for _, c := range []struct{ require, failed, skipped string }{
		{"", "", "NOTHING IS TESTED ON MYSQL"},
		{"postgres,mariadb", "", "ROWLOCK_MYSQL_DSN is not set"},
		{"postgres, mysql", "ROWLOCK_REQUIRE names mysql", ""},
		{"mysql57", `names "mysql57"`, ""},
	} {
		t.Run(c.require, func(t *testing.T) {
			t.Setenv("ROWLOCK_MYSQL_DSN", "")
			t.Setenv("ROWLOCK_REQUIRE", c.require)
			p := probed(t, func(t testing.TB) { MySQL(t) })
			if !strings.Contains(p.failed, c.failed) || !strings.Contains(p.skipped, c.skipped) {
				t.Errorf("failed %q, skipped %q, want %q and %q", p.failed, p.skipped, c.failed, c.skipped)
			}
			if (p.failed == "") != (c.failed == "") || (p.skipped == "") != (c.skipped == "") {
				t.Errorf("failed %q, skipped %q", p.failed, p.skipped)
			}
		})
	}
}

// A DSN that is not understood fails without being shown: it may hold a password.
func TestStrangeDSN(t *testing.T) {
	t.Setenv("ROWLOCK_POSTGRES_DSN", "host=db password=secret")
	p := probed(t, func(t testing.TB) { Postgres(t) })
	if !strings.Contains(p.failed, "postgres://") || strings.Contains(p.failed, "secret") {
		t.Errorf("failed with %q", p.failed)
	}
}
