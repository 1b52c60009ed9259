package sqlitestore

import (
	"strconv"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// hot are the statements that SQLite has its own form for.
func hot(d *bunstore.Dialect) bunstore.Hot {
	table, compile := d.Table("jobs"), d.Marks.Compile
	cl := &claimer{
		marks: d.Marks, table: table, kinds: map[int]bunstore.Stmt{},
		promote: compile(promoteText(table)), many: compile(manyText(table)),
	}
	st := &settler{done: compile(doneText(d)), any: compile(bunstore.SettleText(d))}
	return bunstore.Hot{Insert: newInserter(d).Insert, Claim: cl.Claim, Promote: cl.Promote, Settle: st.Settle}
}

func itoa(n int) string { return strconv.Itoa(n) }
