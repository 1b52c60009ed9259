package bunstore

import "strings"

// SelectLimit renders a read for databases with LIMIT; lock words go last.
func SelectLimit(q Select, locks map[Lock]string) string {
	var b strings.Builder
	b.WriteString("SELECT " + q.Columns + " FROM ")
	if q.Join != "" {
		b.WriteString(q.Join + " AS o, ")
	}
	b.WriteString(q.From + " AS j WHERE " + q.Where)
	if q.Order != "" {
		b.WriteString(" ORDER BY " + q.Order)
	}
	if q.Limit != "" {
		b.WriteString(" LIMIT " + q.Limit)
	}
	if words := locks[q.Lock]; words != "" {
		b.WriteString(" " + words)
	}
	return b.String()
}

// UpdateFrom renders UPDATE .. AS j SET .. FROM .. AS o WHERE, without a FROM where
// there is no row source.
func UpdateFrom(u Update) string {
	set := make([]string, len(u.Set))
	for i, a := range u.Set {
		set[i] = a.Col + " = " + a.Expr
	}
	from := ""
	if u.From != "" {
		from = " FROM " + u.From + " AS o"
	}
	return "UPDATE " + u.Table + " AS j SET " + strings.Join(set, ", ") + from + " WHERE " + u.Where
}

// DeleteIn renders a DELETE by the keys of a row source.
func DeleteIn(q Delete) string {
	ours, theirs := "j."+strings.Join(q.Cols, ", j."), "o."+strings.Join(q.Cols, ", o.")
	if len(q.Cols) > 1 {
		ours = "(" + ours + ")"
	}
	text := "DELETE FROM " + q.Table + " AS j WHERE " + ours + " IN (SELECT " + theirs + " FROM " + q.From + " AS o)"
	if q.Where != "" {
		text += " AND " + q.Where
	}
	return text
}

// Match is the condition that a row of j is one of the row source o.
func (q Delete) Match() string {
	equal := make([]string, len(q.Cols))
	for i, col := range q.Cols {
		equal[i] = "j." + col + " = o." + col
	}
	return strings.Join(equal, " AND ")
}

// BlockedStep is Forms.Blocked of one key, for databases that cannot step on by themselves.
func BlockedStep(d *Dialect) string { return blockedBehind(d, "$2") }

// BlockedSteps is Forms.Blocked for databases that step from one key to the next in a
// recursion.
func BlockedSteps(d *Dialect) string {
	return "WITH RECURSIVE k (name, n) AS (SELECT (" + blockedBehind(d, "$2") + "), 1 UNION ALL SELECT (" + blockedBehind(d, "k.name") +
		"), k.n + 1 FROM k WHERE k.name IS NOT NULL AND k.n < $3) SELECT k.name FROM k WHERE k.name IS NOT NULL"
}

// blockedBehind finds the next key by one seek.
func blockedBehind(d *Dialect, after string) string {
	return d.Forms.Select(Select{
		Columns: "j.blocked_on", From: d.Table("jobs"), Where: "j.state = 2 AND j.blocked_on > " + after, Order: "j.blocked_on", Limit: "1", Index: "blocked",
	})
}
