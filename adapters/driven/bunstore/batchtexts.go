package bunstore

// Where a batch stands, as it is stored: the domain's states without "any".
const (
	standSealed   = "1"
	standFinished = "2"
)

type batchTexts struct {
	join, of, unfinished, add, own, seal, members, done, ready, waits, finish,
	open, over, overOf, live, later, remove, pending Stmt
}

const batchColumns = "j.id, j.tenant, j.name, j.callback, j.created_at, j.sealed_at, j.finished_at, j.total, j.done, j.callback_job, j.keep"

var (
	newBatchCols = []Col{{"id", ColID}, {"tenant", ColText}, {"name", ColText}, {"callback", ColText}, {"keep", ColInt}}
	sealCols     = []Col{{"id", ColID}, {"total", ColInt}}
	finishCols   = []Col{{"id", ColID}, {"at", ColInt}, {"done", ColInt}, {"job", ColID}}
)

func newBatchTexts(d *Dialect) batchTexts {
	c, table, now := d.Marks.Compile, d.Table("batches"), d.Words.Now
	return batchTexts{
		join: c(JoinText(d)),
		of: c(d.Forms.Select(Select{
			Columns: "j.batch_id", From: d.Table("jobs"), Join: d.Words.Rows("$2", idCols), Where: "j.id = o.id",
		})),
		unfinished: c(unfinishedText(d)),
		add: c("INSERT INTO " + table + " (id, tenant, name, callback, created_at, keep) SELECT o.id, o.tenant, o.name, o.callback, " +
			now + ", o.keep FROM " + d.Words.Rows("$2", newBatchCols) + " AS o"),
		own: c(OwnBatchText(d)),
		seal: c(d.Forms.Update(Update{
			Table: table, From: d.Words.Rows("$2", sealCols), Where: "j.id = o.id",
			Set: []Assign{{"stand", standSealed}, {"sealed_at", now}, {"total", "o.total"}},
		})),
		members: c(membersText(d, "count(*)", "", "")),
		done:    c(membersText(d, "count(*), "+now, " AND j.state = 4", "")),
		waits:   c(LiveMemberText(d)),
		pending: c("SELECT count(*) FROM (" + membersText(d, "1 AS one", liveMember, "$3") + ") AS x"),
		ready:   c(ReadyBatchesText(d)),
		finish:  c(FinishText(d)),
		open: c(d.Forms.Select(Select{
			Columns: "j.id", From: table, Where: "j.stand = " + standSealed + " AND j.id > $2", Order: "j.id", Limit: "$3", Index: "stand",
		})),
		over:   c(OverText(d, false)),
		overOf: c(OverText(d, true)),
		live:   c(LiveText(d)),
		later:  c(LaterText(d)),
		remove: c(d.Forms.Delete(Delete{Table: table, Cols: []string{"id"}, From: d.Words.Rows("$2", batchIDCols)})),
	}
}

// liveMember is a member that is not terminal: one seek, however many are.
const liveMember = " AND j.state < 4"

// membersText reads members of the batch $2.
func membersText(d *Dialect, columns, where, limit string) string {
	return d.Forms.Select(Select{
		Columns: columns, From: d.Table("jobs"), Where: "j.batch_id = $2 AND j.batch_id IS NOT NULL" + where, Limit: limit, Index: "batch",
	})
}

// LiveMemberText answers whether the batch $2 still waits for a member.
func LiveMemberText(d *Dialect) string { return membersText(d, "1", liveMember, "1") }

// OwnBatchText reads the batches $2 and locks them against all who add to them or
// retry their members.
func OwnBatchText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: batchColumns, From: d.Table("batches"), Join: d.Words.Rows("$2", batchIDCols), Where: "j.id = o.id", Lock: Own,
	})
}

// ReadyBatchesText says which of the batches $2 are sealed and have no member left
// that is not terminal. It locks nothing: whoever made the last member terminal looks
// after that was committed, and sees it. The least state is asked for as a value: a
// planner may make a NOT EXISTS a join with all jobs that are not terminal, and one
// without a value for the batch may walk those that are.
func ReadyBatchesText(d *Dialect) string {
	least := d.Forms.Select(Select{
		Columns: "j.state", From: d.Table("jobs"), Where: "j.batch_id = b.id AND j.batch_id IS NOT NULL", Order: "j.state", Limit: "1", Index: "batch", Lock: Past,
	})
	sealed := d.Forms.Select(Select{
		Columns: "j.id", From: d.Table("batches"), Join: d.Words.Rows("$2", batchIDCols), Where: "j.id = o.id AND j.stand + 0 = " + standSealed, // the id finds it
	})
	return "SELECT b.id FROM (" + sealed + ") AS b WHERE coalesce((" + least + "), 4) > 3"
}

// FinishText marks the batches $2.
func FinishText(d *Dialect) string {
	return d.Forms.Update(Update{
		Table: d.Table("batches"), From: d.Words.Rows("$2", finishCols), Where: "j.id = o.id",
		Set: []Assign{
			{"stand", standFinished}, {"finished_at", "o.at"}, {"done", "o.done"}, {"callback_job", "o.job"},
			{"ends_at", "CASE WHEN j.keep < 0 THEN 0 ELSE o.at + j.keep END"},
		},
	})
}
