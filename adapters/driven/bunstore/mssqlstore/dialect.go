package mssqlstore

import (
	"database/sql"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mssqldialect"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/migrations"
)

// now is SQL Server's time in milliseconds. DATEDIFF_BIG counts the borders of
// milliseconds passed since one of them, so it cuts. Both are constants of the
// statement, so an index may be sought by them; the date has the one form that no
// language setting reads otherwise.
const now = "COALESCE(CONVERT(BIGINT, $1), DATEDIFF_BIG(MILLISECOND, '19700101', SYSUTCDATETIME()))"

// builder is bun's dialect, which else asks the server for its version, without a
// context, when it is made.
type builder struct{ *mssqldialect.Dialect }

// Init does nothing.
func (builder) Init(*sql.DB) {}

// maxRows bounds a statement, so that its locks are few.
const maxRows = 500

// newDialect is SQL Server's dialect for tables of a schema and prefix.
func newDialect(db *sql.DB, cfg Config) bunstore.Dialect {
	d := bunstore.Dialect{
		Name:   name,
		Build:  bun.NewDB(db, builder{mssqldialect.New()}),
		Prefix: cfg.TablePrefix,
		Table:  cfg.table,
		Marks:  bunstore.Marks{Prefix: "@p"},
		Words: bunstore.Words{
			Now:        now,
			BigInt:     "BIGINT",
			Contains:   contains,
			Rows:       rows,
			LimitOrder: "(SELECT NULL)",
			Empty:      "0x",
			Window:     "0x77", // a w
			Past:       hint(past),
			Seek:       before(hint(seekID)),
			HasTable: "SELECT 1 FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE s.name = " +
				literal(cfg.Schema) + " AND t.name = CAST(" + asText("$1") + " AS NVARCHAR(128))",
		},
		Forms: bunstore.Forms{Select: selectText, Update: updateText, Delete: deleteText, Blocked: bunstore.BlockedStep},
		Moves: bunstore.Moves{
			Files: migrations.MSSQL(),
			Book: "CREATE TABLE " + cfg.table("migrations") + " (number INT NOT NULL, name NVARCHAR(200) NOT NULL, applied_at BIGINT NOT NULL," +
				" CONSTRAINT " + quote(cfg.TablePrefix+"migrations_number") + " PRIMARY KEY (number))",
			Batch:  "GO\n", // CREATE VIEW and CREATE FUNCTION stand alone in a batch
			Marks:  []string{"{schema}", strings.ReplaceAll(cfg.Schema, "]", "]]")},
			Atomic: true,
		},
		Codes: bunstore.Codes{Of: codeOf, Refused: refused, Unique: unique},
		Chunk: bunstore.Chunk{Rows: maxRows, Bytes: 4 << 20},
		// A savepoint is not released.
		Save:    [3]string{"SAVE TRANSACTION rowlock_host", "ROLLBACK TRANSACTION rowlock_host", ""},
		Singles: true,
	}
	in, cl, st, sl := newInserter(&d), newClaimer(&d), newSettler(&d), newSlots(&d)
	d.Hot = bunstore.Hot{Insert: in.Insert, Take: cl.Take, Settle: st.Settle, TakeSlots: sl.Take, Waiters: sl.Waiters}
	return d
}

// contains compares by the column's collation, which is binary. What is sought
// may have 4,000 characters.
func contains(text, part string) string {
	return "CHARINDEX(CAST(" + asText(part) + " AS NVARCHAR(4000)), " + text + ") > 0"
}
