package sqlitestore

import (
	"database/sql"
	"strconv"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/migrations"
)

// now is SQLite's time in milliseconds. 'subsec' has whole milliseconds inside;
// round takes back what the float added.
const now = "coalesce($1, CAST(round(unixepoch('subsec') * 1000) AS INTEGER))"

// newDialect is SQLite's dialect for tables of a prefix.
func newDialect(db *sql.DB, prefix string) bunstore.Dialect {
	d := bunstore.Dialect{
		Name:   name,
		Build:  bun.NewDB(db, sqlitedialect.New()),
		Prefix: prefix,
		Table:  func(table string) string { return `"` + prefix + table + `"` },
		Marks:  bunstore.Marks{Prefix: "?", Positional: true}, // numbered ones are matched by name, one by one
		Words: bunstore.Words{
			Now:      now,
			BigInt:   "INTEGER",
			Contains: func(text, part string) string { return "instr(" + text + ", " + part + ") > 0" },
			Rows:     rows,
			HasTable: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1",
		},
		Forms: bunstore.Forms{
			Select:  selectText,
			Update:  bunstore.UpdateFrom,
			Delete:  bunstore.DeleteIn,
			Blocked: bunstore.BlockedSteps,
		},
		Moves: bunstore.Moves{
			Files:  migrations.SQLite(),
			Book:   `CREATE TABLE IF NOT EXISTS "` + prefix + `migrations" (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`,
			Atomic: true,
		},
		Codes: bunstore.Codes{Of: codeOf, Refused: refused, Unique: unique},
		Chunk: bunstore.Chunk{Rows: 1000, Bytes: 8 << 20},
		Save:  [3]string{"SAVEPOINT rowlock_host", "ROLLBACK TO rowlock_host", "RELEASE rowlock_host"},
	}
	d.Hot = hot(&d)
	return d
}

// selectText hides a bound limit from SQLite's planner: it would plan a prepared
// statement anew each time a value is bound to it (130 us a claim).
func selectText(q bunstore.Select) string {
	if strings.HasPrefix(q.Limit, "$") {
		q.Limit += " + 0"
	}
	return bunstore.SelectLimit(q, nil)
}

// rows reads a JSON array of arrays.
func rows(param string, cols []bunstore.Col) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		expr := "value ->> " + strconv.Itoa(i)
		if c.Type == bunstore.ColID {
			expr = "unhex(" + expr + ")"
		}
		out[i] = expr + " AS " + c.Name
	}
	return "(SELECT " + strings.Join(out, ", ") + " FROM json_each(" + param + "))"
}
