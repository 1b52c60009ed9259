package sqlitestore

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

func TestConfigIsChecked(t *testing.T) {
	long := strings.Repeat("p", 41)
	bad := []Config{
		{Path: ""},
		{Path: ":memory:"},
		{Path: "x", TablePrefix: `a"b`},
		{Path: "x", TablePrefix: "1a"},
		{Path: "x", TablePrefix: long},
		{Path: "x", TablePrefix: "a b"},
		{Path: "x", Synchronous: "OFF"},
	}
	for _, cfg := range bad {
		if _, err := Open(t.Context(), cfg); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%+v gave %v", cfg, err)
		}
	}
	if _, err := FromDB(nil, Config{}); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("no pool gave %v", err)
	}
}

// Any name of a file is that file, and nothing of it is read as a setting.
func TestOddPaths(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"a b.db", "q?mode=memory.db", "h#x.db", "p%41.db", "ä&b;c='d'.db", "file:x.db"} {
		path := filepath.Join(dir, file)
		b, err := Open(t.Context(), Config{Path: path, TablePrefix: "p_"})
		if err != nil {
			t.Errorf("%q: %v", file, err)
			continue
		}
		if _, err := b.Schema.Up(t.Context(), 0); err != nil {
			t.Errorf("%q: %v", file, err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("%q: %v", file, err)
		}
		if found, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || !contains(found, path) {
			t.Errorf("%q is not there: %v %v", file, found, err)
		}
	}
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

// The settings hold on the writer and on every connection that reads, however
// often the pool opens one.
func TestPragmasOnEveryConnection(t *testing.T) {
	for _, sync := range []string{"FULL", "NORMAL"} {
		e, err := newEngine(Config{Path: filepath.Join(t.TempDir(), "jobs.db"), Synchronous: sync})
		if err != nil {
			t.Fatal(err)
		}
		wantSync := map[string]string{"FULL": "2", "NORMAL": "1"}[sync]
		pragmas(t, e.owned[1], 1, map[string]string{"journal_mode": "wal", "synchronous": wantSync, "busy_timeout": "0", "query_only": "0"})
		pragmas(t, e.read, readers, map[string]string{"journal_mode": "wal", "busy_timeout": "5000", "query_only": "1"})
		if _, err := e.read.ExecContext(t.Context(), "CREATE TABLE x (x)"); err == nil {
			t.Error("a reading connection wrote")
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// After Close everything is in the one file: who copies it copies all jobs.
func TestCloseLeavesOneFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.db")
	b, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store.Queues(t.Context(), "", 1); err != nil { // a reader has read
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(found) != 1 || found[0] != path {
		t.Errorf("what Close left: %v %v", found, err)
	}
}

func pragmas(t *testing.T, db *sql.DB, conns int, want map[string]string) {
	t.Helper()
	for range conns { // all at once, so that they are different ones
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		for name, value := range want {
			var got string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got); err != nil || got != value {
				t.Errorf("%s is %q (%v), want %q", name, got, err, value)
			}
		}
	}
}
