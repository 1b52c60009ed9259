package sqlitestore

import (
	"strconv"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// hot are the statements that SQLite has its own form for.
func hot(d *bunstore.Dialect) bunstore.Hot {
	table := d.Table("jobs")
	in := &inserter{row: d.Marks.Compile(insertText(table))}
	cl := &claimer{marks: d.Marks, table: table, promote: d.Marks.Compile(promoteText(table))}
	return bunstore.Hot{Insert: in.Insert, Claim: cl.Claim, Promote: cl.Promote}
}

func itoa(n int) string { return strconv.Itoa(n) }
