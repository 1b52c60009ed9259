package sqlitestore

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

func TestFresh(t *testing.T) {
	statement := func(query string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			db, err := open(dsn(path))
			if err != nil {
				t.Fatal(err)
			}
			defer func(db *sql.DB) { _ = db.Close() }(db)
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
	}
	text := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := map[string]struct {
		make func(*testing.T, string)
		want bool
		code domain.Code
	}{
		"no file":        {func(*testing.T, string) {}, true, ""},
		"no byte":        {text(""), true, ""},
		"no table":       {statement("PRAGMA journal_mode = WAL"), true, ""},
		"a host's table": {statement("CREATE TABLE users (id INTEGER)"), false, ""},
		"not a database": {text("Dear diary, this is no database at all, and it is long enough to be read as one."), false, domain.Unavailable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a b?c#d.db")
			c.make(t, path)
			got, err := Fresh(t.Context(), path)
			if got != c.want || domain.CodeOf(err) != c.code {
				t.Errorf("fresh %v, %v; want %v, %q", got, err, c.want, c.code)
			}
		})
	}
}
