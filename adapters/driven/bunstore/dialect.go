package bunstore

import (
	"cmp"
	"context"
	"io/fs"

	"github.com/uptrace/bun"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Dialect is all that differs between the databases. Texts name their parameters
// $1, $2, ..; $1 is always the test's clock, NULL outside of tests; Compile
// brings them into the form of the driver.
type Dialect struct {
	Name   string                   // as in Backend.Name
	Build  *bun.DB                  // builds the ordinary queries; it never runs one
	Prefix string                   // of the bare table names, e.g. rowlock_
	Table  func(name string) string // the table of that bare name, qualified and quoted
	Marks  Marks                    // how the driver's parameters look
	Words  Words                    // words and expressions
	Forms  Forms                    // statement forms
	Hot    Hot                      // whole statements
	Moves  Moves                    // migrations
	Codes  Codes                    // errors
	Chunk  Chunk                    // bounds of one statement
	ID     func(id [16]byte) any    // an id as a bound value; nil: its 16 bytes
	Save   [3]string                // set a savepoint, go back to it, release it ("": needs none)
	// Singles says that a batch of a settle or renew is one statement, also where
	// Hot has its own, so that autocommit is enough for it.
	Singles bool
	// LooksFirst says that an insert looks which keys are held before it writes. One that
	// changes holders then locks them by that look.
	LooksFirst bool
	// Whole says that there are no partial indexes: each holds every row. Their jobs
	// have a column more, fair: the queue of a ready row that has a tenant, else NULL.
	Whole bool
}

// Words are the expressions that databases spell differently.
type Words struct {
	// Now is the database's time in whole milliseconds since the epoch, cut, with
	// the test's clock before it: coalesce($1, ...). It must not keep an index
	// from being used.
	Now string
	// BigInt is what a whole number is cast to: BIGINT, SIGNED, INTEGER.
	BigInt string
	// Contains says whether a text holds a part, by bytes.
	Contains func(text, part string) string
	// Rows makes a row source with the columns of one JSON text, an array of
	// arrays: (SELECT .. AS id, .. AS state FROM ..), in parentheses, no alias.
	Rows func(param string, cols []Col) string
	// LimitOrder is an ORDER BY that costs nothing, for databases whose LIMIT wants one.
	LimitOrder string
	// Empty is the empty name, and empty args, as a literal; "" means two quotes.
	Empty string
	// Past is the hint behind a table that is only looked through: rows that others
	// are changing are passed over, and nobody is waited for. "" where a read never
	// waits.
	Past string
	// Seek is the hint behind a table that is to be sought by its primary key, however
	// small it is held to be. "" where none is needed.
	Seek string
	// Over says that the moment in a column, by which the first rows are taken in order,
	// has come, in a form that the planner does not believe to be rare. nil: column <= Now.
	Over func(column string) string
	// Member brings a query that may lock into a form that a UNION has. nil: as it is.
	Member func(query string) string
	// Window is the least lock of a window as a literal: those before it free with the
	// end of their job. "" means 'w'.
	Window string
	// Exists says that a query has a row. nil: EXISTS, where that is asked row by row.
	Exists func(query string) string
	// HasTable is a query that has a row when the table $1 (the bare name, e.g.
	// rowlock_jobs) is there.
	HasTable string
}

func (w *Words) empty() string {
	if w.Empty == "" {
		return "''"
	}
	return w.Empty
}

func (w *Words) exists(query string) string {
	if w.Exists != nil {
		return w.Exists(query)
	}
	return "EXISTS (" + query + ")"
}

func (w *Words) member(query string) string {
	if w.Member != nil {
		return w.Member(query)
	}
	return query
}

// Ended is the lock of a row that has become terminal: nobody's, unless it is one of
// a window.
func (w *Words) Ended() string {
	return "CASE WHEN j.unique_lock >= " + cmp.Or(w.Window, "'w'") + " THEN j.unique_lock END"
}

// over is Over, or its usual form.
func (w *Words) over(column string) string {
	if w.Over == nil {
		return column + " <= " + w.Now
	}
	return w.Over(column)
}

// Col is one column of a row source. JSON has ids as hex text.
type Col struct {
	Name string
	Type ColType
}

// ColType is the type of a column of a row source.
type ColType uint8

// The types. Each may be null.
const (
	ColID   ColType = iota // hex text to 16 bytes
	ColInt                 // to a BIGINT
	ColText                // to a text
)

// Forms render statements whose shape differs.
type Forms struct {
	// Select renders a read with its limit and its locks.
	Select func(Select) string
	// Update renders an UPDATE of a table, alias j, joined with a row source, alias o.
	Update func(Update) string
	// Delete renders a DELETE from a table, alias j, by the keys of a row source.
	Delete func(Delete) string
	// Blocked renders the list of what blocked jobs wait for: the next keys behind $2 in byte
	// order, $3 at most and one at least if there is one, by a seek for each.
	Blocked func(*Dialect) string
}

// Delete is a DELETE of the rows of table j whose key is in a row source.
type Delete struct {
	Table string
	Cols  []string // the key: the first columns of the primary key, and of the row source
	From  string
	Where string // "": whatever is in them
}

// Select is a read of one table, alias j. Where it locks, lock words come from
// the dialect's claim.go.
type Select struct {
	Columns string // of j
	From    string // the quoted table
	Join    string // a row source, alias o, or ""
	Where   string // with Join: the condition of the join too
	Order   string // "": none
	Limit   string // "": none; a parameter or a number
	Lock    Lock
	// Index is what the read goes by, for databases that have to be told: of jobs
	// ready, wake, unique, tenant, fair, blocked or batch, of slots ends, of job_keys turn
	// or blocks, of batches stand or ends, of schedules due, owner or key;
	// "" is the primary key, or the database's own choice without Join.
	Index string
}

// Lock says what a read does to the rows it found.
type Lock uint8

// The locks. Where one writer has the database to itself they mean nothing.
const (
	NoLock  Lock = iota
	Wait         // FOR UPDATE
	Skip         // and what others hold is passed over
	Current      // FOR SHARE: what is committed now, also where a transaction sees an older moment
	Past         // a look that waits for nobody (Words.Past); nothing where a read never waits
	Share        // FOR SHARE, to the end of the transaction: many may, and nobody changes the row
	Own          // Wait that waits for those who Share, too
)

// Update is an UPDATE of table j from source o. Expressions may use the old values as j.x.
type Update struct {
	Table string
	Set   []Assign
	From  string // row source
	Where string
}

// Assign sets one column.
type Assign struct{ Col, Expr string }

// Hot are the statements of the way of a job that a dialect writes whole.
type Hot struct {
	// Insert writes rows that share no id and no lock with one another, and says
	// for each whether it was written; one whose id or lock is held is not, and
	// that must not end the transaction.
	Insert func(ctx context.Context, c Conn, now any, rows []NewRow) ([]bool, error)
	// Claim takes due rows, in any order (ScanClaims reads them).
	Claim func(ctx context.Context, c Conn, now any, r driven.ClaimRequest) ([]driven.Claimed, error)
	// Promote makes at most limit due scheduled rows ready, the longest due
	// first, and says how many. nil: a locking read, then an update.
	Promote func(ctx context.Context, c Conn, now any, limit int) (int, error)
	// Take is the whole of a Claim, in any order, in statements that each may stand
	// alone (it runs under One), for dialects that do it in fewer round trips. nil:
	// Promote, Claim and a look at what is next, in one transaction.
	Take func(ctx context.Context, c Conn, now any, r driven.ClaimRequest) (driven.Claims, error)
	// Settle writes outcomes that have no short cut and says how many rows it
	// changed. nil: one update from a row source.
	Settle func(ctx context.Context, c Conn, now any, o []driven.Outcome) (int, error)
	// TakeSlots takes those of the slots that are free, each for a claim that still
	// holds its job, and says who has each that it took. Slots come in their order and
	// are locked in it, also those that are not taken. nil: TakeSlotsText.
	TakeSlots func(ctx context.Context, c Conn, now any, asks []SlotAsk) (map[domain.Slot]domain.JobID, error)
	// Waiters finds the first blocked jobs of each key, as many as it says at most.
	// nil: one read a key.
	Waiters func(ctx context.Context, c Conn, keys []Vacancy) ([]Waiter, error)
}

// Moves are the migrations.
type Moves struct {
	Files fs.FS  // NNNN_name.up.sql and NNNN_name.down.sql
	Book  string // creates the table of migrations where it is not there
	// Batch is the line that ends a statement where it is printed for a person's own
	// client, for those that take only some statements together. It is never sent.
	Batch string
	// Marks replace {prefix}, {schema} and so on in the files.
	Marks []string
	// Atomic says that DDL is part of a transaction. Where it is not, each
	// statement of a step must be repeatable (see Steps).
	Atomic bool
}

// Codes judge a driver's errors by their typed codes, never by their text.
type Codes struct {
	// Of gives the fault's code and a hint.
	Of func(err error) (domain.Code, string)
	// Refused says that a value was refused, so that another row may pass.
	Refused func(err error) bool
	// Unique says that a unique index refused the row.
	Unique func(err error) bool
}

// Chunk bounds one batch statement; more goes into several, in one transaction.
type Chunk struct {
	Rows  int
	Bytes int
}
