package mysqlstore

import (
	"database/sql"
	"strconv"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/migrations"
)

// now is the server's time in whole milliseconds, cut, in every time zone of a
// session. The cast makes it a number whatever the type of the parameter is.
const now = "CAST(coalesce($1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000) AS SIGNED)"

// marks are how the driver has its parameters.
var marks = bunstore.Marks{Prefix: "?", Positional: true}

// newDialect is the dialect of both products: all that is used they share.
func newDialect(db *sql.DB, srv server, prefix string) bunstore.Dialect {
	d := bunstore.Dialect{
		Name:   name,
		Build:  bun.NewDB(db, silent{mysqldialect.New()}),
		Prefix: prefix,
		Table:  func(bare string) string { return srv.table(prefix + bare) },
		Marks:  marks,
		Words:  newWords(srv),
		Forms: bunstore.Forms{
			Select:  func(q bunstore.Select) string { return selectText(q, locks(srv.skip)) },
			Update:  updateText,
			Delete:  deleteText,
			Blocked: blockedText,
		},
		Moves: bunstore.Moves{
			Files: migrations.MySQL(),
			Book: "CREATE TABLE IF NOT EXISTS " + srv.table(prefix+"migrations") +
				" (number INT NOT NULL PRIMARY KEY, name VARBINARY(200) NOT NULL, applied_at BIGINT NOT NULL) ENGINE = InnoDB",
			Marks: []string{"{schema}", srv.database},
		},
		Codes:   bunstore.Codes{Of: codeOf, Refused: refused, Unique: unique},
		Chunk:   bunstore.Chunk{Rows: 1000, Bytes: 4 << 20}, // of 16 MiB that the servers take at least
		Save:    [3]string{"SAVEPOINT rowlock_host", "ROLLBACK TO SAVEPOINT rowlock_host", "RELEASE SAVEPOINT rowlock_host"},
		Singles: true, Whole: true, LooksFirst: true,
	}
	cl, sl := newClaimer(&d), newSlots(&d)
	d.Hot = bunstore.Hot{
		Insert: newInserter(&d).Insert, Claim: cl.Claim, Promote: cl.Promote, Settle: newSettler(&d).Settle,
		TakeSlots: sl.Take, Waiters: sl.Waiters,
	}
	return d
}

func newWords(srv server) bunstore.Words {
	return bunstore.Words{
		Now:      now,
		BigInt:   "SIGNED",
		Contains: func(text, part string) string { return "LOCATE(" + part + ", " + text + ") > 0" }, // of bytes: the text is a BLOB
		Rows:     rows,
		Seek:     force("PRIMARY"),
		Member:   member,
		Exists:   exists,
		HasTable: "SELECT 1 FROM information_schema.tables WHERE table_schema = '" + srv.database + "' AND table_name = $1",
	}
}

// silent is bun's dialect without its question for the version, which it would
// ask of any pool it is given and log when it fails.
type silent struct{ *mysqldialect.Dialect }

// Init asks nothing.
func (silent) Init(*sql.DB) {}

// rows reads a JSON array of arrays. The parameter's bytes are taken as UTF-8
// whatever the connection's character set is, and texts come out as bytes: what a
// JSON_TABLE cannot read is an error, as it would be NULL without a word.
func rows(param string, cols []bunstore.Col) string {
	out, in := make([]string, len(cols)), make([]string, len(cols))
	for i, c := range cols {
		n := "c" + strconv.Itoa(i)
		expr, typ := "t."+n, "BIGINT"
		switch c.Type {
		case bunstore.ColID:
			expr, typ = "UNHEX("+expr+")", "VARCHAR(32) CHARACTER SET utf8mb4"
		case bunstore.ColText:
			expr, typ = "CONVERT("+expr+" USING binary)", "LONGTEXT CHARACTER SET utf8mb4"
		case bunstore.ColInt:
		}
		out[i] = expr + " AS `" + c.Name + "`"
		in[i] = n + " " + typ + " PATH '$[" + strconv.Itoa(i) + "]' ERROR ON ERROR"
	}
	return "(SELECT " + strings.Join(out, ", ") + " FROM JSON_TABLE(CONVERT(CAST(" + param +
		" AS BINARY) USING utf8mb4), '$[*]' COLUMNS (" + strings.Join(in, ", ") + ")) AS t)"
}

// indexes are the names of the indexes that a Select may ask for.
var indexes = map[string]string{
	"ready": "ready", "wake": "wake", "unique": "locked", "tenant": "tenant", "fair": "fair", "blocked": "blocked",
	"ends": "ends", "turn": "turn", "blocks": "blocks", "batch": "batch", "stand": "stand", "due": "due", "owner": "owner", "key": "PRIMARY",
}

// force names the index to go by. The servers guess from samples that are minutes
// old, and of a table that just was empty they scan all of it: with locks, that
// would lock all of it.
func force(index string) string { return " FORCE INDEX (" + index + ")" }

func selectText(q bunstore.Select, locks map[bunstore.Lock]string) string {
	switch {
	case q.Index == "turn":
		q = inTurn(q)
	case q.Index == "due" && strings.Contains(q.Where, "= o."): // as inTurn; of one kind MariaDB would sort them so
		q.Order = "j.idle, j.kind, " + q.Order
	case q.Index == "batch" && q.Order != "":
		q.Order = "j.batch_id, " + q.Order
	}
	var b strings.Builder
	if q.Lock == bunstore.Current { // may stand in a UNION
		b.WriteString("(")
	}
	b.WriteString("SELECT " + q.Columns + " FROM ")
	switch {
	case q.Join != "":
		b.WriteString(q.Join + " AS o STRAIGHT_JOIN " + q.From + " AS j" + force(byID(q.Index)) + " ON " + q.Where)
	case q.Index != "":
		b.WriteString(q.From + " AS j" + force(indexes[q.Index]) + " WHERE " + q.Where)
	default:
		b.WriteString(q.From + " AS j WHERE " + q.Where)
	}
	if q.Order != "" {
		b.WriteString(" ORDER BY " + q.Order)
	}
	if q.Limit != "" {
		b.WriteString(" LIMIT " + q.Limit)
	}
	if words := locks[q.Lock]; words != "" {
		b.WriteString(" " + words)
	}
	if q.Lock == bunstore.Current {
		b.WriteString(")")
	}
	return b.String()
}

// blockedText goes from one key to the next by its own means, as long as nothing but the
// key is asked for: blocked_on is NULL in all rows that are not blocked. In a recursion
// neither server would seek.
func blockedText(d *bunstore.Dialect) string {
	return d.Forms.Select(bunstore.Select{
		Columns: "DISTINCT j.blocked_on", From: d.Table("jobs"), Where: "j.blocked_on > $2", Order: "j.blocked_on", Limit: "$3", Index: "blocked",
	})
}

// member puts a query in parentheses, where it may lock, if it has none.
func member(query string) string {
	if strings.HasPrefix(query, "(") {
		return query
	}
	return "(" + query + ")"
}

// exists says that a query has a row, in a form that is asked row by row: EXISTS is
// made a join, for which MariaDB reads a table whole that was empty a minute ago.
func exists(query string) string { return "(" + query + " LIMIT 1) IS NOT NULL" }

// inTurn has a read of turns begin where those who have one begin: they are a part
// of the index of their own. Both servers go by the order of an index from its start
// alone where a row source gives the key (MySQL else sorts all who wait at it).
func inTurn(q bunstore.Select) bunstore.Select {
	q.Where += " AND j.placed = 1"
	q.Order = "j.bound, j.placed, " + q.Order
	return q
}

func byID(index string) string {
	if index == "" {
		return "PRIMARY"
	}
	return indexes[index]
}

// noToken stands for NULL in the column token: a row that keeps its size is changed
// in place, one that grows when it is claimed splits its page (a claim and its
// settle cost 62 us a job so, and 79 with NULL).
const noToken = "CAST('' AS BINARY(16))"

// updateText takes the rows in the order of the row source, each by its id.
func updateText(u bunstore.Update) string {
	set := make([]string, len(u.Set))
	for i, a := range u.Set {
		if a.Col == "token" && a.Expr == "NULL" {
			a.Expr = noToken
		}
		set[i] = "j." + a.Col + " = " + a.Expr
	}
	return "UPDATE " + u.From + " AS o STRAIGHT_JOIN " + u.Table + " AS j" + force("PRIMARY") + " ON " + u.Where + " SET " + strings.Join(set, ", ")
}

func deleteText(q bunstore.Delete) string {
	text := "DELETE j FROM " + q.From + " AS o STRAIGHT_JOIN " + q.Table + " AS j" + force("PRIMARY") + " ON " + q.Match()
	if q.Where != "" {
		text += " WHERE " + q.Where
	}
	return text
}
