package bunstore

import (
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/rowlock/rowlock/domain"
)

func TestSplit(t *testing.T) {
	text := "-- a comment; not a statement\nCREATE TABLE a (\n  b INT, -- why; so\n  c INT\n);\n\n-- unless: SELECT 1 FROM x;\nCREATE INDEX i\n  ON a (b);\nDROP TABLE a;"
	want := []statement{
		{"", "CREATE TABLE a (\n  b INT, -- why; so\n  c INT\n)"},
		{"SELECT 1 FROM x", "CREATE INDEX i\n  ON a (b)"},
		{"", "DROP TABLE a"},
	}
	if got := split(text); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestLoadSteps(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{
		"0001_a.up.sql": file("CREATE {schema}{prefix}a;"), "0001_a.down.sql": file("DROP {prefix}a;"),
		"0002_b.up.sql": file("CREATE b;"), "0002_b.down.sql": file("DROP b;"),
	}
	d := &Dialect{Prefix: "p_", Moves: Moves{Files: files, Marks: []string{"{schema}", "s."}}}
	steps, err := loadSteps(d)
	if err != nil || len(steps) != 2 || steps[0].up[0].text != "CREATE s.p_a" || steps[0].down[0].text != "DROP p_a" || steps[1].name != "b" {
		t.Fatalf("%+v %v", steps, err)
	}
	delete(files, "0001_a.up.sql")
	if _, err := loadSteps(d); domain.CodeOf(err) != domain.Internal {
		t.Errorf("a missing number gave %v", err)
	}
}

func TestStepsKnowTheirTables(t *testing.T) {
	text := "-- CREATE TABLE no {prefix}no\nCREATE TABLE \"{schema}\".\"{prefix}jobs\" (\n  a INT\n);\nCREATE INDEX {prefix}jobs_ready ON {prefix}jobs (a);\n" +
		"CREATE TABLE IF NOT EXISTS `{schema}`.`{prefix}job_keys` (\n a INT\n);\nCREATE TABLE [{schema}].[{prefix}slots] (a INT);\n"
	if got, want := tablesOf(text, "p_"), []string{"p_jobs", "p_job_keys", "p_slots"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
