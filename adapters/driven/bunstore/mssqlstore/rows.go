package mssqlstore

import (
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// utf8Collation is by what NVARCHAR becomes UTF-8: a VARCHAR made from a text has
// the text's collation, hence its code page.
const utf8Collation = "Latin1_General_100_BIN2_UTF8"

// width is how many bytes the column of a name or key holds, one more than it may
// have: what is too long is then refused by the column, not cut on its way there.
func width(column string) int {
	switch column {
	case "queue", "kind", "failure_kind":
		return 121
	case "tenant", "unique_key", "grp", "name", "namespace":
		return 191
	case "unique_lock", "lock", "bound", "limit_key":
		return 401
	}
	return 0
}

// source says how one column comes out of the JSON and what it then becomes. Each
// type is that of the table's column, so that a join by it seeks.
func source(c bunstore.Col) (in, out string) {
	text := "t." + c.Name
	n := width(c.Name)
	size := strconv.Itoa(n)
	switch {
	case c.Type == bunstore.ColID:
		return "VARCHAR(32)", "CONVERT(BINARY(16), " + text + ", 2)"
	case c.Name == "slot":
		return "INT", text
	case c.Type == bunstore.ColInt:
		return "BIGINT", text
	case n > 0:
		return "NVARCHAR(" + size + ")", asBytes(text, size)
	case c.Name == "args":
		return "NVARCHAR(MAX)", asBytes(text, "MAX")
	}
	return "NVARCHAR(MAX)", text
}

func asBytes(text, size string) string {
	return "CONVERT(VARBINARY(" + size + "), CONVERT(VARCHAR(" + size + "), " + text + " COLLATE " + utf8Collation + "))"
}

// rows reads a JSON array of arrays, each column with its type.
func rows(param string, cols []bunstore.Col) string {
	with, out := make([]string, len(cols)), make([]string, len(cols))
	for i, c := range cols {
		in, expr := source(c)
		with[i] = c.Name + " " + in + " '$[" + strconv.Itoa(i) + "]'"
		out[i] = expr + " AS " + c.Name
	}
	return "(SELECT " + strings.Join(out, ", ") + " FROM OPENJSON(" + asText(param) + ") WITH (" + strings.Join(with, ", ") + ") AS t)"
}
