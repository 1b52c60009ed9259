package mssqlstore

import "github.com/rowlock/rowlock/adapters/driven/bunstore"

// The hints that lock. READCOMMITTEDLOCK makes each read by locks whether
// READ_COMMITTED_SNAPSHOT is on or off: without it READPAST is refused where it is
// on, and a read sees a past moment.
const (
	rowLock = "ROWLOCK"
	current = "READCOMMITTEDLOCK"
	past    = "READPAST, READCOMMITTEDLOCK"
	wait    = "ROWLOCK, UPDLOCK, READCOMMITTEDLOCK"
	skip    = "ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK"
	share   = "ROWLOCK, REPEATABLEREAD"           // else a shared lock ends with its statement
	own     = "ROWLOCK, XLOCK, READCOMMITTEDLOCK" // UPDLOCK does not wait for shared locks
)

var locks = map[bunstore.Lock]string{
	bunstore.Wait: wait, bunstore.Skip: skip, bunstore.Current: current, bunstore.Past: past, bunstore.Share: share, bunstore.Own: own,
}

// promoteText makes at most $2 due scheduled rows ready, the longest due first.
func promoteText(d *bunstore.Dialect) string {
	return "WITH t AS (" + selectText(bunstore.Select{
		Columns: "j.state, j.wake_at", From: d.Table("jobs"), Where: bunstore.DueWhere(d), Order: "j.wake_at", Limit: "$2", Lock: bunstore.Skip,
	}) + ") UPDATE t SET state = 0, wake_at = 0 WHERE t.state = 1"
}

// firstText finds when the first scheduled row is due. While one is due already a
// claim takes nothing unless $8 says that promotion was done: so one round trip
// claims and knows whether that was right.
func firstText(d *bunstore.Dialect) string {
	return "DECLARE @now BIGINT = " + now + ", @first BIGINT; SET @first = (" + selectText(bunstore.Select{
		Columns: "j.wake_at", From: d.Table("jobs"), Where: "j.state = 1 AND j.state > 0 AND j.wake_at > 0",
		Order: "j.wake_at", Limit: "1", Lock: bunstore.Past,
	}) + "); "
}

const goAhead = "($8 = 1 OR @first IS NULL OR @first > @now)"

const byKey = "j.priority, j.run_at, j.id"

// takeText updates the rows t, which were chosen and locked. That they are still
// ready is asked once more: on a server that takes no notice of hints this alone
// keeps a row from two claimers. OUTPUT keeps no order; it is not for tables with
// triggers.
//
// $2 token, $3 runner, $4 lease, $5 queue, $6 how many.
func takeText(from string) string {
	return "WITH t AS (" + from + ") UPDATE t SET state = 3, token = $2, runner = $3, stuck = 0, claimed_at = @now, wake_at = @now + $4" +
		" OUTPUT " + bunstore.ClaimColumns("inserted.", nil) + " WHERE t.state = 0"
}

// oneKindText claims rows of the kind $7: the ready index holds them in order, and
// rows that others hold are passed over on the way. No more are locked than taken.
func oneKindText(d *bunstore.Dialect) string {
	return firstText(d) + "SELECT COALESCE(@first, 0), @now, 0; IF " + goAhead + " BEGIN " +
		takeText(selectText(bunstore.Select{
			Columns: "j.*", From: d.Table("jobs"), Where: "j.state = 0 AND j.queue = $5 AND j.kind = $7",
			Order: byKey, Limit: "$6", Lock: bunstore.Skip,
		})) + "; END"
}

// quotaCols are the row source of the arms of kindsText.
var quotaCols = []bunstore.Col{{Name: "kind", Type: bunstore.ColText}, {Name: "quota", Type: bunstore.ColInt}}

// kindsText claims rows of the kinds $7, of each at most its quota. Each arm is a
// seek of its own: APPLY with TOP cannot be made anything else. The arms look and
// do not lock, else they would hide from others what this claim does not take. An
// arm that gave its whole quota may have more behind its last row, so nothing
// after the least such row is taken, and the answer says that there was one.
func kindsText(d *bunstore.Dialect) string {
	arm := selectText(bunstore.Select{
		Columns: byKey + ", ROW_NUMBER() OVER (ORDER BY " + byKey + ") AS nth", From: d.Table("jobs"),
		Where: "j.state = 0 AND j.queue = $5 AND j.kind = k.kind", Order: byKey, Limit: "k.quota", Lock: bunstore.Past,
	})
	return firstText(d) +
		"DECLARE @priority INT, @run_at BIGINT, @id BINARY(16);" +
		" DECLARE @a TABLE (priority INT NOT NULL, run_at BIGINT NOT NULL, id BINARY(16) NOT NULL, last BIT NOT NULL, PRIMARY KEY (priority, run_at, id));" +
		" IF " + goAhead + " INSERT INTO @a (priority, run_at, id, last)" +
		" SELECT x.priority, x.run_at, x.id, CASE WHEN x.nth = k.quota THEN 1 ELSE 0 END FROM " + rows("$7", quotaCols) + " AS k CROSS APPLY (" + arm + ") AS x;" +
		" SELECT TOP (1) @priority = a.priority, @run_at = a.run_at, @id = a.id FROM @a AS a WHERE a.last = 1 ORDER BY a.priority, a.run_at, a.id;" +
		" SELECT COALESCE(@first, 0), @now, CASE WHEN @id IS NULL THEN 0 ELSE 1 END; " +
		takeText("SELECT TOP ($6) j.* FROM @a AS a INNER LOOP JOIN "+d.Table("jobs")+" AS j "+hint(seekID, skip)+" ON j.id = a.id"+
			" WHERE j.state = 0 AND (@id IS NULL OR a.priority < @priority OR (a.priority = @priority AND (a.run_at < @run_at OR (a.run_at = @run_at AND a.id <= @id))))"+
			" ORDER BY a.priority, a.run_at, a.id")
}
