package bunstore

import "strings"

// InsertCols are the row source of new rows, in the order of NewRow.Append and
// NewRow.Values. `at` is 0 where no moment was named.
var InsertCols = []Col{
	{"id", ColID}, {"queue", ColText}, {"kind", ColText}, {"priority", ColInt}, {"after", ColInt}, {"at", ColInt},
	{"args", ColText}, {"max_attempts", ColInt}, {"timeout", ColInt}, {"tenant", ColText},
	{"unique_key", ColText}, {"unique_lock", ColText}, {"tags", ColText}, {"meta", ColText},
	{"keep_done", ColInt}, {"keep_dead", ColInt}, {"keep_cancelled", ColInt}, {"forget_args", ColInt},
}

// InsertSet says what each column of a new row is, given the row source as o.
// Columns that are not named keep their defaults.
func InsertSet(now string) []Assign {
	return []Assign{
		{"id", "o.id"},
		{"state", "CASE WHEN o.after > 0 OR o.at > " + now + " THEN 1 ELSE 0 END"},
		{"queue", "o.queue"},
		{"kind", "o.kind"},
		{"priority", "o.priority"},
		{"run_at", "CASE WHEN o.at > 0 THEN o.at ELSE " + now + " + o.after END"},
		{"due_at", "CASE WHEN o.at > 0 THEN o.at ELSE " + now + " + o.after END"},
		{"wake_at", "CASE WHEN o.after > 0 THEN " + now + " + o.after WHEN o.at > " + now + " THEN o.at ELSE 0 END"},
		{"created_at", now},
		{"args", "o.args"},
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
	}
}

// InsertFrom is INSERT .. SELECT of new rows from a row source, without what a
// dialect adds for rows that are held.
func InsertFrom(d *Dialect, source string) string {
	var cols, exprs []string
	for _, a := range InsertSet(d.Words.Now) {
		cols, exprs = append(cols, a.Col), append(exprs, a.Expr)
	}
	return "INSERT INTO " + d.Table("jobs") + " (" + strings.Join(cols, ", ") + ") SELECT " +
		strings.Join(exprs, ", ") + " FROM " + source + " AS o"
}

// Append adds the row to the JSON text of a row source of InsertCols.
func (r NewRow) Append(a *Array) {
	j := r.Job
	a.Row().ID(j.ID).Text(j.Queue).Text(j.Kind).Int(int64(j.Priority)).Int(ms(j.Due.After)).Int(moment(j.Due.At)).
		Text(string(j.Args)).Int(int64(j.MaxAttempts)).Int(ms(j.Timeout)).Text(j.Tenant).
		Maybe(r.key()).Maybe(r.Lock).Text(encodeTags(j.Tags)).Text(string(j.Meta)).
		Int(keepMS(j.Keep.Done)).Int(keepMS(j.Keep.Dead)).Int(keepMS(j.Keep.Cancelled)).Int(bit(j.ForgetArgs))
}

// Size is about how many bytes the row takes in a statement.
func (r *NewRow) Size() int { return 300 + len(r.Job.Args) + len(r.Job.Meta) + 200*len(r.Job.Tags) }

func (r NewRow) key() string {
	if r.Job.Unique == nil {
		return ""
	}
	return r.Job.Unique.Key
}

// Chunks cuts new rows into what one statement takes.
func (c Chunk) Chunks(rows []NewRow) [][]NewRow { return chunks(rows, c, (*NewRow).Size) }

// Values appends the row's values in the order of InsertCols.
func (r NewRow) Values(to []any) []any {
	j := r.Job
	return append(to, j.ID[:], j.Queue, j.Kind, j.Priority, ms(j.Due.After), moment(j.Due.At),
		string(j.Args), j.MaxAttempts, ms(j.Timeout), j.Tenant, Text(r.key()), Text(r.Lock),
		encodeTags(j.Tags), string(j.Meta), keepMS(j.Keep.Done), keepMS(j.Keep.Dead), keepMS(j.Keep.Cancelled), bit(j.ForgetArgs))
}
