package pgstore

import (
	"database/sql"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/migrations"
)

// instant is PostgreSQL's time in milliseconds at the start of the statement.
// clock_timestamp() would not do as an index condition; the cast alone would
// round up. As a subquery, now, it is worked out once a statement and not for each
// row, which is 1 us of each row of an insert.
const (
	instant = "coalesce($1::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)"
	now     = "(SELECT " + instant + ")"
)

// newDialect is PostgreSQL's dialect for tables of a schema and prefix.
func newDialect(db *sql.DB, cfg Config) bunstore.Dialect {
	d := bunstore.Dialect{
		Name:   name,
		Build:  bun.NewDB(db, pgdialect.New()),
		Prefix: cfg.TablePrefix,
		Table:  cfg.table,
		Marks:  bunstore.Marks{Prefix: "$"},
		Words: bunstore.Words{
			Now:      now,
			BigInt:   "BIGINT",
			Contains: func(text, part string) string { return "strpos(" + text + ", " + part + ") > 0" },
			Rows:     rows,
			Over:     over,
			Member:   func(query string) string { return "SELECT x.* FROM (" + query + ") AS x" },
			HasTable: hasTable(cfg),
		},
		Forms: bunstore.Forms{
			Select:  func(q bunstore.Select) string { return bunstore.SelectLimit(q, locks) },
			Update:  bunstore.UpdateFrom,
			Delete:  deleteUsing,
			Blocked: bunstore.BlockedSteps,
		},
		Moves: bunstore.Moves{
			Files:  migrations.Postgres(),
			Book:   book(cfg),
			Marks:  []string{"{schema}", strings.ReplaceAll(cfg.Schema, `"`, `""`)},
			Atomic: true,
		},
		Codes:   bunstore.Codes{Of: codeOf, Refused: refused, Unique: unique},
		Chunk:   bunstore.Chunk{Rows: 1000, Bytes: 8 << 20},
		ID:      uuid,
		Save:    [3]string{"SAVEPOINT rowlock_host", "ROLLBACK TO SAVEPOINT rowlock_host", "RELEASE SAVEPOINT rowlock_host"},
		Singles: true,
	}
	d.Hot = hot(&d)
	return d
}

func hot(d *bunstore.Dialect) bunstore.Hot {
	return bunstore.Hot{
		Insert:  newInserter(d).Insert,
		Take:    newClaimer(d).Take,
		Settle:  newSettler(d).Settle,
		Waiters: newWaiters(d).Find,
	}
}

// rows reads a JSON array of arrays (elements), for statements that may be kept. Each
// element is an array: that is asked for the planner, who takes its answer for seldom
// yes and so joins the source to a table row by row and in its order, by an index.
// In that order rows are locked, so that two who lock the same wait for each other
// and do not deadlock.
func rows(param string, cols []bunstore.Col) string {
	return "(" + elements(param, cols) + " WHERE jsonb_typeof(t.v) = 'array' AND " + forValues + ")"
}

// elements reads a JSON array of arrays. As jsonb it is parsed once; as json each
// column parses its row anew, three times slower. Arrays, one for each column,
// are 15 % faster than jsonb for an insert and bring nothing for a settle.
func elements(param string, cols []bunstore.Col) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		expr := "t.v ->> " + strconv.Itoa(i)
		switch c.Type {
		case bunstore.ColID:
			expr = "(" + expr + ")::uuid"
		case bunstore.ColInt:
			expr = "(" + expr + ")::bigint"
		case bunstore.ColText:
		}
		out[i] = expr + " AS " + c.Name
	}
	return "SELECT " + strings.Join(out, ", ") + " FROM jsonb_array_elements(" + param + "::jsonb) AS t(v)"
}

// deleteUsing is a join, unlike IN, which sorts the source as it likes.
func deleteUsing(q bunstore.Delete) string {
	text := "DELETE FROM " + q.Table + " AS j USING " + q.From + " AS o WHERE " + q.Match()
	if q.Where != "" {
		text += " AND " + q.Where
	}
	return text
}

// hasTable asks the catalog, whatever the search_path is.
func hasTable(cfg Config) string {
	return "SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace" +
		" WHERE n.nspname = " + literal(cfg.Schema) + " AND c.relkind IN ('r', 'p') AND c.relname = $1::text"
}

// book is the table of migrations.
func book(cfg Config) string {
	return "CREATE TABLE " + cfg.table("migrations") + " (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)"
}

// uuid is an id as a bound value that every mode of pgx takes.
func uuid(id [16]byte) any { return pgtype.UUID{Bytes: id, Valid: true} }

// over compares rows: beside a comparison with 0 a plain one is held for a range that
// one row in two hundred is in, and all that is over is then sorted for the first few.
func over(column string) string { return "(" + column + ", 0) <= (" + now + ", 0)" }
