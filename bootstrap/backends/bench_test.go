package backends_test

import (
	"path/filepath"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/test/bench"
	"github.com/rowlock/rowlock/test/servers"
)

// BenchmarkBeside compares free jobs alone with free jobs beside a crowd that waits.
func BenchmarkBeside(b *testing.B) { onEach(b, bench.Beside) }

// BenchmarkPrune compares jobs alone with jobs beside a prune of rows that are over.
func BenchmarkPrune(b *testing.B) { onEach(b, bench.Prune) }

func onEach(b *testing.B, measure func(*testing.B, bench.Factory)) {
	for name, dsn := range map[string]func(testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "bench.db") },
		"postgres": func(t testing.TB) string { return servers.Postgres(t) },
		"mysql":    func(t testing.TB) string { return servers.URL(servers.MySQL(t)) },
		"mariadb":  func(t testing.TB) string { return servers.URL(servers.MariaDB(t)) },
	} {
		b.Run(name, func(b *testing.B) {
			measure(b, func(b *testing.B) bench.Kit {
				at := dsn(b)
				kit := open(b, at)
				if name == "postgres" {
					kit.Tidy = func() { servers.Exec(b, at, "VACUUM (ANALYZE)") }
				}
				return kit
			})
		})
	}
}

func open(b *testing.B, dsn string) bench.Kit {
	backend, err := backends.Open(b.Context(), dsn, backends.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = backend.Close() })
	if _, err := backend.Schema.Up(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	return bench.Kit{Backend: backend, IDs: system.IDs(), Clock: system.Clock()}
}
