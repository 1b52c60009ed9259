package bunstore

import (
	"strings"

	"github.com/rowlock/rowlock/domain"
)

// InsertCols are the row source of new rows, in the order of NewRow.Append and
// NewRow.Values. `at` is -1 where no moment was named.
var InsertCols = []Col{
	{"id", ColID},
	{"queue", ColText},
	{"kind", ColText},
	{"priority", ColInt},
	{"after", ColInt},
	{"at", ColInt},
	{"args", ColText},
	{"max_attempts", ColInt},
	{"timeout", ColInt},
	{"tenant", ColText},
	{"unique_key", ColText},
	{"unique_lock", ColText},
	{"tags", ColText},
	{"meta", ColText},
	{"keep_done", ColInt},
	{"keep_dead", ColInt},
	{"keep_cancelled", ColInt},
	{"forget_args", ColInt},
	{"limit_key", ColText},
	{"turn", ColInt},
	{"on_dead", ColInt},
	{"batch_id", ColID},
	{"failure_kind", ColText},
}

// PlainCols are all that a plain row needs: the others keep their defaults. Most
// jobs are plain, and each column of a row source costs.
var PlainCols = InsertCols[:7]

// InsertSet says what each column of a new row is, given the row source as o.
func InsertSet(now string, plain bool) []Assign {
	set := []Assign{
		{"id", "o.id"},
		{"state", "CASE WHEN o.after > 0 OR o.at > " + now + " THEN 1 ELSE 0 END"},
		{"queue", "o.queue"},
		{"kind", "o.kind"},
		{"priority", "o.priority"},
		{"run_at", "CASE WHEN o.at >= 0 THEN o.at ELSE " + now + " + o.after END"},
		{"due_at", "CASE WHEN o.at >= 0 THEN o.at ELSE " + now + " + o.after END"},
		{"wake_at", "CASE WHEN o.after > 0 THEN " + now + " + o.after WHEN o.at > " + now + " THEN o.at ELSE 0 END"},
		{"created_at", now},
		{"args", "o.args"},
	}
	if plain {
		return set
	}
	return append(set, []Assign{
		{"max_attempts", "o.max_attempts"},
		{"timeout", "o.timeout"},
		{"tenant", "o.tenant"},
		{"unique_key", "o.unique_key"},
		{"unique_lock", "o.unique_lock"},
		{"tags", "o.tags"},
		{"meta", "o.meta"},
		{"keep_done", "o.keep_done"},
		{"keep_dead", "o.keep_dead"},
		{"keep_cancelled", "o.keep_cancelled"},
		{"forget_args", "o.forget_args"},
		{"limit_key", "o.limit_key"},
		{"turn", "o.turn"},
		{"on_dead", "o.on_dead"},
		{"batch_id", "o.batch_id"},
		{"failure_kind", "o.failure_kind"},
	}...)
}

// InsertFrom is INSERT .. SELECT of new rows from the row source $2 of InsertCols
// or PlainCols, without what a dialect adds for rows that are held.
func InsertFrom(d *Dialect, plain bool) string {
	var cols, exprs []string
	for _, a := range InsertSet(d.Words.Now, plain) {
		cols, exprs = append(cols, a.Col), append(exprs, a.Expr)
	}
	source := InsertCols
	if plain {
		source = PlainCols
	}
	return "INSERT INTO " + d.Table("jobs") + " (" + strings.Join(cols, ", ") + ") SELECT " +
		strings.Join(exprs, ", ") + " FROM " + d.Words.Rows("$2", source) + " AS o"
}

// Plain says whether PlainCols hold all of the row.
func (r *NewRow) Plain() bool {
	j := r.Job
	return j.MaxAttempts == 0 && j.Timeout == 0 && j.Tenant == "" && j.Unique == nil && len(j.Tags) == 0 &&
		len(j.Meta) == 0 && j.Keep == (domain.Retention{}) && !j.ForgetArgs && j.LimitKey == "" && j.Turn == domain.NoTurn &&
		j.Batch.IsZero() && j.FailureKind == ""
}

// Append adds the row to the JSON text of a row source of InsertCols or PlainCols.
func (r *NewRow) Append(a *Array, plain bool) {
	j := r.Job
	a.Row().ID(j.ID).Text(j.Queue).Text(j.Kind).Int(int64(j.Priority)).Int(MS(j.Due.After)).Int(dueAt(j.Due)).Bytes(j.Args)
	if plain {
		return
	}
	a.Int(int64(j.MaxAttempts)).Int(MS(j.Timeout)).Text(j.Tenant).
		Maybe(r.key()).Maybe(r.Lock).Text(encodeTags(j.Tags)).Text(string(j.Meta)).
		Int(KeepMS(j.Keep.Done)).Int(KeepMS(j.Keep.Dead)).Int(KeepMS(j.Keep.Cancelled)).Int(bit(j.ForgetArgs)).
		Maybe(j.LimitKey).Int(int64(j.Turn)).Int(int64(j.OnDead)).ID(j.Batch).Text(j.FailureKind)
}

// Size is about how many bytes the row takes in a statement.
func (r *NewRow) Size() int { return 300 + len(r.Job.Args) + len(r.Job.Meta) + 200*len(r.Job.Tags) }

func (r *NewRow) key() string {
	if r.Job.Unique == nil {
		return ""
	}
	return r.Job.Unique.Key
}

// Chunks cuts new rows into what one statement takes.
func (c Chunk) Chunks(rows []NewRow) [][]NewRow { return chunks(rows, c, (*NewRow).Size) }

// InsertArray is the JSON text of rows, and whether they are all plain.
func InsertArray(rows []NewRow) (text string, plain bool) {
	plain, size := true, 2
	for i := range rows {
		plain = plain && rows[i].Plain()
		size += 120 + len(rows[i].Job.Args)*9/8
	}
	a := NewArray(size)
	for i := range rows {
		rows[i].Append(a, plain)
	}
	return a.String(), plain
}
