package mssqlstore

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/migrations"
)

// printed are all steps as they are run, with a schema that needs its quotes.
func printed(t *testing.T) string {
	t.Helper()
	cfg := Config{Schema: "odd ] schema", TablePrefix: "p_"}
	text, err := bunstore.New(newDialect(nil, cfg), newEngine(nil, cfg, false), nil).Migrator().Print(0)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestPrinted ends each batch for a person's own client; the store sends no GO.
func TestPrinted(t *testing.T) {
	text := printed(t)
	if ends, batches := strings.Count(text, ";\n"), strings.Count(text, ";\nGO\n"); ends != batches || batches < 15 {
		t.Errorf("%d statements and %d batches", ends, batches)
	}
}

// TestSchemaText has each statement of a step be a batch of its own, with its
// marks replaced and its names qualified.
func TestSchemaText(t *testing.T) {
	text := strings.ReplaceAll(printed(t), ";\nGO\n", ";\n")
	for what, form := range map[string]string{
		"a mark":                             `\{(schema|prefix)\}`,
		"a GO, which no driver understands":  `(?mi)^\s*GO\s*$`,
		"a table without its schema":         `(?i)\b(TABLE|ON|FROM|VIEW|FUNCTION)\s+\[p_`,
		"a schema that is not quoted":        `odd \] schema`,
		"a LOB in an index":                  `(?i)INDEX .*\((args|error|history)`,
		"a local time":                       `(?i)getdate`,
		"an id that sorts by its last bytes": `(?i)uniqueidentifier`,
		"a filter that is not by literals":   `WHERE \w+ (=|<>|>) @`,
	} {
		if found := regexp.MustCompile(form).FindString(text); found != "" {
			t.Errorf("the schema has %s: %q", what, found)
		}
	}
	if open, closed := strings.Count(text, "("), strings.Count(text, ")"); open != closed {
		t.Errorf("%d parentheses open and %d close", open, closed)
	}
	if n, end := len(regexp.MustCompile(`\bBEGIN\b`).FindAllString(text, -1)), len(regexp.MustCompile(`\bEND\b`).FindAllString(text, -1)); end-n != strings.Count(text, "CASE") {
		t.Errorf("%d BEGIN, %d CASE and %d END", n, strings.Count(text, "CASE"), end)
	}
	if !strings.Contains(text, "SET (LOCK_ESCALATION = DISABLE)") {
		t.Error("one large write could lock the whole table")
	}
}

// TestDownUndoesUp has a step's way back drop what it made, and nothing else.
func TestDownUndoesUp(t *testing.T) {
	made := regexp.MustCompile(`(?m)^CREATE (TABLE|VIEW|FUNCTION) (\S+)`)
	gone := regexp.MustCompile(`(?m)^DROP (TABLE|VIEW|FUNCTION) ([^\s;]+);$`)
	for _, step := range []string{"0001_jobs", "0002_runners", "0003_bounds", "0004_batches", "0005_schedules"} {
		up, down := read(t, step+".up.sql"), read(t, step+".down.sql")
		want := map[string]bool{}
		for _, m := range made.FindAllStringSubmatch(up, -1) {
			want[m[1]+" "+m[2]] = true
		}
		for _, m := range gone.FindAllStringSubmatch(down, -1) {
			if !want[m[1]+" "+m[2]] {
				t.Errorf("%s drops %s, which it did not make", step, m[2])
			}
			delete(want, m[1]+" "+m[2])
		}
		for left := range want {
			t.Errorf("%s leaves %s behind", step, left)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := fs.ReadFile(migrations.MSSQL(), file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestIndexKeysFit has every key within what the server allows, by design and not
// by the values that happen to come: 900 bytes clustered, 1,700 otherwise.
func TestIndexKeysFit(t *testing.T) {
	index := regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX \[\{prefix\}(\w+)\] ON \S+ \(([^)]+)\)`)
	clustered := regexp.MustCompile(`(?m)CONSTRAINT \[\{prefix\}(\w+)\] PRIMARY KEY (?:CLUSTERED )?\(([^)]+)\)`)
	for step, want := range map[string]struct{ indexes, tables int }{"0001_jobs": {8, 1}, "0003_bounds": {4, 3}} {
		up := read(t, step+".up.sql")
		widths := columnWidths(read(t, "0001_jobs.up.sql") + up) // a step may index the jobs too
		keys := clustered.FindAllStringSubmatch(up, -1)
		widest := 0 // the clustered key is in every other one
		for _, m := range keys {
			n := keyWidth(t, widths, m)
			if widest = max(widest, n); n > 900 {
				t.Errorf("the clustered key %s may have %d bytes", m[1], n)
			}
		}
		found := index.FindAllStringSubmatch(up, -1)
		if len(found) != want.indexes || len(keys) != want.tables {
			t.Fatalf("%s: found %d indexes and %d tables, want %v", step, len(found), len(keys), want)
		}
		for _, m := range found {
			if n := keyWidth(t, widths, m) + widest; n > 1700 {
				t.Errorf("the key of %s may have %d bytes", m[1], n)
			}
		}
	}
}

// keyWidth is how many bytes the columns of an index may have.
func keyWidth(t *testing.T, widths map[string]int, index []string) (total int) {
	t.Helper()
	for _, column := range strings.Split(index[2], ", ") {
		w, known := widths[column]
		if !known {
			t.Errorf("%s: no width of %s", index[1], column)
		}
		total += w
	}
	return total
}

func columnWidths(up string) map[string]int {
	widths := map[string]int{}
	sizes := map[string]int{"TINYINT": 1, "SMALLINT": 2, "INT": 4, "BIGINT": 8}
	column := regexp.MustCompile(`(?m)^\t(\w+)\s+(TINYINT|SMALLINT|INT|BIGINT|(?:VAR)?BINARY\((\d+)\))\s`)
	for _, m := range column.FindAllStringSubmatch(up, -1) {
		widths[m[1]] = sizes[m[2]]
		if m[3] != "" {
			widths[m[1]], _ = strconv.Atoi(m[3])
		}
	}
	return widths
}

// What a row source may hold fits the column that it goes to, one byte more and
// the column refuses it.
func TestRowSourceFitsColumns(t *testing.T) {
	widths := columnWidths(read(t, "0001_jobs.up.sql"))
	for _, c := range bunstore.InsertCols {
		if w := width(c.Name); w > 0 && w != widths[c.Name]+1 {
			t.Errorf("%s is %d bytes in a row source and %d in its column", c.Name, w, widths[c.Name])
		}
	}
}
