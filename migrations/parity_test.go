package migrations_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/migrations"
)

func sqlDialects() map[string]fs.FS {
	return map[string]fs.FS{
		"sqlite": migrations.SQLite(), "postgres": migrations.Postgres(), "mysql": migrations.MySQL(), "mssql": migrations.MSSQL(),
	}
}

// TestSameSteps has every database have the same steps, each with its way back.
func TestSameSteps(t *testing.T) {
	want := files(t, migrations.SQLite())
	for i := 0; i < len(want); i += 2 {
		down, up := want[i], want[i+1]
		if strings.TrimSuffix(down, ".down.sql") != strings.TrimSuffix(up, ".up.sql") {
			t.Errorf("%s and %s are not the two ways of one step", down, up)
		}
	}
	for name, dialect := range sqlDialects() {
		if got := files(t, dialect); !slices.Equal(got, want) {
			t.Errorf("%s has %v, SQLite %v", name, got, want)
		}
	}
}

// TestSameColumns has each step make the same tables with the same columns, in
// the same order, on every database.
func TestSameColumns(t *testing.T) {
	for _, file := range files(t, migrations.SQLite()) {
		if !strings.HasSuffix(file, ".up.sql") {
			continue
		}
		want := tables(t, migrations.SQLite(), file)
		for name, dialect := range sqlDialects() {
			got := tables(t, dialect, file)
			for table, columns := range want {
				if !slices.Equal(got[table], columns) {
					t.Errorf("%s: %s of %s has the columns\n%v\nand SQLite's\n%v", file, table, name, got[table], columns)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s: %s makes %d tables, SQLite %d", file, name, len(got), len(want))
			}
		}
	}
}

func files(t *testing.T, dialect fs.FS) []string {
	t.Helper()
	names, err := fs.Glob(dialect, "*.sql")
	if err != nil || len(names) == 0 || len(names)%2 != 0 {
		t.Fatalf("the steps are %v (%v)", names, err)
	}
	return names
}

var (
	create = regexp.MustCompile("(?ms)^CREATE TABLE [^(]*\\{prefix\\}(\\w+)[\"`\\]] \\(\n(.*?)^\\)")
	column = regexp.MustCompile("^\t[\"`\\[]?(\\w+)[\"`\\]]?\\s+\\w")
	// other is no column, or one that a database has of its own for an index.
	other = regexp.MustCompile(`^\t(PRIMARY KEY|UNIQUE|KEY|INDEX|CONSTRAINT|CHECK|FOREIGN)\b|GENERATED ALWAYS`)
)

// tables are the columns of each table that a step makes.
func tables(t *testing.T, dialect fs.FS, file string) map[string][]string {
	t.Helper()
	text, err := fs.ReadFile(dialect, file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, m := range create.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(m[2]) {
			if found := column.FindStringSubmatch(line); found != nil && !other.MatchString(line) {
				out[m[1]] = append(out[m[1]], found[1])
			}
		}
		if len(out[m[1]]) < 3 {
			t.Fatalf("%s: only %v was read of %s", file, out[m[1]], m[1])
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s makes no table", file)
	}
	return out
}
