package servers

import (
	"database/sql"
	"strings"
	"testing"
)

// makes lists what each server says of itself and how a database is looked up.
var makes = map[string]struct {
	open    func(testing.TB, ...Option) string
	version string
	says    string
	current string
	list    string
}{
	"postgres":  {Postgres, "SELECT version()", "PostgreSQL", "SELECT current_database()", "SELECT count(*) FROM pg_database WHERE datname = $1"},
	"pgbouncer": {pgBouncer, "SELECT version()", "PostgreSQL", "SELECT current_database()", "SELECT count(*) FROM pg_database WHERE datname = $1"},
	"mysql":     {MySQL, "SELECT concat(version(), '-', @@version_comment)", "!MariaDB", "SELECT database()", "SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?"},
	"mariadb":   {MariaDB, "SELECT version()", "MariaDB", "SELECT database()", "SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?"},
	"mssql":     {MSSQL, "SELECT @@version", "SQL Server", "SELECT db_name()", "SELECT count(*) FROM sys.databases WHERE name = @p1"},
}

func pgBouncer(t testing.TB, opts ...Option) string {
	t.Helper()
	return PgBouncer(t, append(opts, Param("default_query_exec_mode", "exec"))...)
}

func text(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	var s string
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s
}

func TestAnswers(t *testing.T) {
	for name, make := range makes {
		t.Run(name, func(t *testing.T) {
			version := text(t, Open(t, make.open(t)), make.version)
			want, not := strings.CutPrefix(make.says, "!")
			if strings.Contains(version, want) == not {
				t.Fatalf("%q is not the right server, looking for %q", version, make.says)
			}
			t.Log(version)
		})
	}
}

func TestIsolated(t *testing.T) {
	for name, make := range makes {
		t.Run(name, func(t *testing.T) {
			one, two := make.open(t), make.open(t)
			Exec(t, one, "CREATE TABLE things (id int)", "INSERT INTO things VALUES (1)")
			Exec(t, two, "CREATE TABLE things (id int)")
			for dsn, want := range map[string]string{one: "1", two: "0"} {
				if got := text(t, Open(t, dsn), "SELECT count(*) FROM things"); got != want {
					t.Errorf("%s rows, want %s", got, want)
				}
			}
		})
	}
}

func TestDropped(t *testing.T) {
	for name, make := range makes {
		t.Run(name, func(t *testing.T) {
			watch := Open(t, make.open(t))
			var database string
			t.Run("inner", func(t *testing.T) {
				db := Open(t, make.open(t))
				database = text(t, db, make.current)
				if got := text(t, watch, make.list, database); got != "1" {
					t.Fatalf("%s databases called %s, want 1", got, database)
				}
			})
			if got := text(t, watch, make.list, database); got != "0" {
				t.Errorf("%s is still there after its test", database)
			}
		})
	}
}

// A session left open by mistake, outside any transaction, keeps no database.
func TestDroppedUnderAnOpenSession(t *testing.T) {
	for name, make := range makes {
		t.Run(name, func(t *testing.T) {
			var left *sql.DB
			watch := Open(t, make.open(t))
			var database string
			t.Run("inner", func(inner *testing.T) {
				left = Open(t, make.open(inner))
				database = text(inner, left, make.current)
			})
			if got := text(t, watch, make.list, database); got != "0" {
				t.Errorf("%s is still there after its test", database)
			}
		})
	}
}

func TestVaried(t *testing.T) {
	for _, make := range []struct {
		name  string
		open  func(testing.TB, ...Option) string
		param Option
		query string
		want  string
	}{
		{"postgres", Postgres, Param("search_path", `"odd Name", public`), "SHOW search_path", `"odd Name", public`},
		{"mysql", MySQL, Param("sql_mode", "''"), "SELECT @@sql_mode", ""},
		{"mariadb", MariaDB, Param("time_zone", "'+08:00'"), "SELECT @@time_zone", "+08:00"},
		{"mssql", MSSQL, Param("app name", "varied"), "SELECT app_name()", "varied"},
	} {
		t.Run(make.name, func(t *testing.T) {
			if got := text(t, Open(t, make.open(t, make.param)), make.query); got != make.want {
				t.Errorf("%s = %q, want %q", make.query, got, make.want)
			}
			dsn := make.open(t)
			if got := text(t, Open(t, With(dsn, make.param)), make.query); got != make.want {
				t.Errorf("%s = %q of a varied DSN, want %q", make.query, got, make.want)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	db := Postgres(t)
	var name string
	t.Run("inner", func(t *testing.T) {
		one, two := Schema(t, db), Schema(t, db)
		Exec(t, one, "CREATE TABLE things (id int)")
		Exec(t, two, "CREATE TABLE things (id int)")
		name = text(t, Open(t, one), "SELECT current_schema()")
	})
	if got := text(t, Open(t, db), "SELECT count(*) FROM pg_namespace WHERE nspname = $1", name); got != "0" {
		t.Errorf("schema %s is still there after its test", name)
	}
}

func BenchmarkFresh(b *testing.B) {
	for _, name := range []string{"postgres", "pgbouncer", "mysql", "mariadb"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				once := &lease{TB: b}
				makes[name].open(once)
				once.end()
			}
		})
	}
}

// lease is a test within a benchmark: it ends before the benchmark does.
type lease struct {
	testing.TB
	cleanups []func()
}

func (l *lease) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }
func (l *lease) end() {
	for _, f := range l.cleanups {
		f()
	}
}
