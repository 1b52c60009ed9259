package mssqlstore

import (
	"strings"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// A row source is read first and the table is sought for each of its rows: with
// LOOP the optimizer cannot turn that around, and FORCESEEK keeps it from reading
// the table whole while that is small, where it would wait for any row that a
// transaction of a host's holds. Both can always be met: the id is the primary key.
const (
	loop   = " AS o INNER LOOP JOIN "
	seekID = "FORCESEEK"
)

// selectText renders a read with TOP; hints stand behind the table.
func selectText(q bunstore.Select) string {
	if q.Index == "blocked" && q.Lock == bunstore.NoLock {
		q.Lock = bunstore.Past // whoever changes such a row looks for waiters after that
	}
	var b strings.Builder
	b.WriteString("SELECT ")
	if q.Limit != "" {
		b.WriteString("TOP (" + q.Limit + ") ")
	}
	b.WriteString(q.Columns + " FROM ")
	switch {
	case q.Join == "":
		b.WriteString(q.From + " AS j" + before(hint(locks[q.Lock])) + " WHERE " + q.Where)
	case q.Index == "unique": // the filter's own words let its index be used
		b.WriteString(q.Join + loop + q.From + " AS j" + before(hint(locks[q.Lock])) + " ON " + q.Where + " AND j.unique_lock IS NOT NULL")
	default:
		b.WriteString(q.Join + loop + q.From + " AS j" + before(hint(seekID, locks[q.Lock])) + " ON " + q.Where)
	}
	if q.Order != "" {
		b.WriteString(" ORDER BY " + q.Order)
	}
	return b.String()
}

// updateText renders an UPDATE of rows by the ids of a row source.
func updateText(u bunstore.Update) string {
	return "UPDATE j SET " + assigns(u.Set) + " FROM " + u.From + loop + u.Table + " AS j" + before(hint(seekID, rowLock)) + " ON " + u.Where
}

// deleteText renders a DELETE by the keys of a row source.
func deleteText(q bunstore.Delete) string {
	text := "DELETE j FROM " + q.From + loop + q.Table + " AS j" + before(hint(seekID, rowLock)) + " ON " + q.Match()
	if q.Where != "" {
		text += " AND " + q.Where
	}
	return text
}

func assigns(list []bunstore.Assign) string {
	set := make([]string, len(list))
	for i, a := range list {
		set[i] = a.Col + " = " + a.Expr
	}
	return strings.Join(set, ", ")
}

// hint renders the hints of a table, "" for none.
func hint(words ...string) string {
	var given []string
	for _, w := range words {
		if w != "" {
			given = append(given, w)
		}
	}
	if len(given) == 0 {
		return ""
	}
	return "WITH (" + strings.Join(given, ", ") + ")"
}

// before puts a space before what is not empty.
func before(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}
