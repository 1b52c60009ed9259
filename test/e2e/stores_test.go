package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/test/servers"
)

// store is a line of the table: where a test gets an empty database of its own,
// which goes with the test.
type store struct {
	name string
	dsn  func(t *testing.T, dir string) string
	away string // a DSN at which nothing is
	own  bool   // a file of one's own: the command migrates it by itself
}

// stores is every store that the command can be told by a DSN, but the one in
// memory, which no two processes share. A server that is missing skips its test
// with a loud word, or fails it where ROWLOCK_REQUIRE names it.
func stores() []store {
	return []store{
		{name: "sqlite", dsn: file, away: "sqlite:/is/not/there/hush.db", own: true},
		{name: "postgres", dsn: server(servers.Postgres), away: "postgres://app:hush@127.0.0.1:1/hush"},
		{name: "mysql", dsn: server(servers.MySQL), away: "mysql://app:hush@127.0.0.1:1/hush"},
		{name: "mariadb", dsn: server(servers.MariaDB), away: "mariadb://app:hush@127.0.0.1:1/hush"},
		{name: "mongo", dsn: server(servers.Mongo), away: "mongodb://app:hush@127.0.0.1:1/hush?serverSelectionTimeoutMS=200"},
		{name: "sqlserver", dsn: server(servers.MSSQL), away: "sqlserver://app:hush@127.0.0.1:1?database=hush"},
	}
}

func file(_ *testing.T, dir string) string { return "sqlite:" + filepath.Join(dir, "app.db") }

func server(fresh func(testing.TB, ...servers.Option) string) func(*testing.T, string) string {
	return func(t *testing.T, _ string) string { return servers.URL(fresh(t)) }
}

// onEveryStore runs a case on each store, with the tables installed.
func onEveryStore(t *testing.T, test func(t *testing.T, b *box)) {
	t.Helper()
	onEveryEmptyStore(t, func(t *testing.T, b *box) {
		b.ok("migrate", "up")
		test(t, b)
	})
}

// onEveryEmptyStore runs a case on each store as it is before the first command.
func onEveryEmptyStore(t *testing.T, test func(t *testing.T, b *box)) {
	t.Helper()
	on(t, stores(), test)
}

func on(t *testing.T, stores []store, test func(t *testing.T, b *box)) {
	t.Helper()
	t.Parallel()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s.box(t))
		})
	}
}

// box is a user with this store.
func (s store) box(t *testing.T) *box {
	dir := t.TempDir()
	return &box{t: t, store: s, dir: dir, env: []string{storeVar + s.dsn(t, dir), "TMPDIR=" + dir}}
}

const storeVar = "ROWLOCK_STORE="

// dsn names the user's store.
func (b *box) dsn() string { return strings.TrimPrefix(b.env[0], storeVar) }

// newBox is a user with a file of their own, for what no store has a part in.
func newBox(t *testing.T) *box { return stores()[0].box(t) }

// many is how many a case takes: on servers a fifth, except in the long form.
func (b *box) many(all int) int {
	if b.store.own || os.Getenv("ROWLOCK_STRESS") == "1" {
		return all
	}
	return all / 5
}
