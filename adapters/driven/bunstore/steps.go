package bunstore

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/domain"
)

// A step is two files, NNNN_name.up.sql and NNNN_name.down.sql. A statement ends
// with a semicolon at the end of a line. {prefix} and the dialect's own marks are
// replaced. A line `-- unless: QUERY` before a statement makes it repeatable where
// DDL is not part of a transaction: it is passed over when the query has a row.

// step is one migration.
type step struct {
	number int
	name   string
	up     []statement
	down   []statement
	tables []string // that up creates, by their bare names
}

// statement is one DDL statement.
type statement struct{ unless, text string }

// loadSteps reads all steps, in order.
func loadSteps(d *Dialect) ([]step, error) {
	names, err := fs.Glob(d.Moves.Files, "*.up.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	marks := strings.NewReplacer(append([]string{"{prefix}", d.Prefix}, d.Moves.Marks...)...)
	steps := make([]step, 0, len(names))
	for i, file := range names {
		base := strings.TrimSuffix(file, ".up.sql")
		number, name, _ := strings.Cut(base, "_")
		s := step{name: name}
		if s.number, err = strconv.Atoi(number); err != nil || s.number != i+1 {
			return nil, &domain.Fault{Code: domain.Internal, Op: "read migrations", Subject: file, Hint: fmt.Sprintf("step %d was expected", i+1)}
		}
		for ext, to := range map[string]*[]statement{".up.sql": &s.up, ".down.sql": &s.down} {
			text, err := fs.ReadFile(d.Moves.Files, base+ext)
			if err != nil {
				return nil, err
			}
			*to = split(marks.Replace(string(text)))
			if ext == ".up.sql" {
				s.tables = tablesOf(string(text), d.Prefix)
			}
		}
		steps = append(steps, s)
	}
	return steps, nil
}

var creates = regexp.MustCompile(`(?m)^CREATE TABLE .*\{prefix\}(\w+)`)

// tablesOf gives the bare names of the tables that a file creates.
func tablesOf(text, prefix string) (names []string) {
	for _, m := range creates.FindAllStringSubmatch(text, -1) {
		names = append(names, prefix+m[1])
	}
	return names
}

// split cuts a file into statements and leaves comments out.
func split(text string) (out []statement) {
	var cur statement
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		trimmed := strings.TrimSpace(line)
		if query, ok := strings.CutPrefix(trimmed, "-- unless: "); ok {
			cur.unless = strings.TrimSuffix(query, ";")
			continue
		}
		if trimmed == "" || strings.HasPrefix(trimmed, "--") {
			continue
		}
		lines = append(lines, line)
		if strings.HasSuffix(line, ";") {
			cur.text = strings.TrimSuffix(strings.Join(lines, "\n"), ";")
			out = append(out, cur)
			cur, lines = statement{}, nil
		}
	}
	return out
}

// print gives a step as a text that a person can run, its record included.
func (s step) print(record, batch string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- step %d: %s\n", s.number, s.name)
	for _, st := range s.up {
		if st.unless != "" {
			b.WriteString("-- unless: " + st.unless + "\n")
		}
		b.WriteString(st.text + ";\n" + batch)
	}
	return b.String() + record + ";\n" + batch
}
