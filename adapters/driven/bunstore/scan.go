package bunstore

import (
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// claimCols are what a claim hands to a runner, in the order of ScanClaims.
var claimCols = []string{
	"id", "kind", "tenant", "priority", "run_at", "attempts", "max_attempts", "stalls", "snoozes",
	"timeout", "batch_id", "args", "error", "history", "tags", "meta",
	"keep_done", "keep_dead", "keep_cancelled", "forget_args", "created_at", "claimed_at",
	"limit_key", "turn", "on_dead", "failure_kind",
}

// restCols are the others of a whole job.
var restCols = []string{
	"state", "queue", "wake_at", "unique_key", "result", "runner", "stuck", "finished_at", "ran", "blocked_on",
}

// ClaimColumns lists the columns that ScanClaims wants, each with its alias'
// prefix ("j." or "inserted."); replaced ones are expressions of the dialect.
func ClaimColumns(prefix string, replaced map[string]string) string {
	return columns(claimCols, prefix, replaced)
}

func columns(cols []string, prefix string, replaced map[string]string) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = prefix + c
		if expr, ok := replaced[c]; ok {
			out[i] = expr
		}
	}
	return strings.Join(out, ", ")
}

// common fills what claimCols hold.
func (c *cells) common(j *domain.Job) {
	j.ID = c.id(0)
	j.Kind, j.Tenant = c.text(1), c.text(2)
	j.Priority, j.RunAt = int(c.int(3)), time.UnixMilli(c.int(4)).UTC()
	j.Attempts, j.MaxAttempts = int(c.int(5)), int(c.int(6))
	j.Stalls, j.Snoozes = int(c.int(7)), int(c.int(8))
	j.Timeout, j.Batch = span(c.int(9)), c.id(10)
	j.Args, j.Error, j.History = c.bytes(11), c.text(12), domain.History(c.text(13))
	j.Tags, j.Meta = decodeTags(c.text(14)), nil
	if meta := c.bytes(15); len(meta) > 0 {
		j.Meta = meta
	}
	j.Keep = domain.Retention{Done: keepSpan(c.int(16)), Dead: keepSpan(c.int(17)), Cancelled: keepSpan(c.int(18))}
	forget := c.int(19)
	j.ForgetArgs, j.Forgotten = forget > 0, forget == forgotten
	j.CreatedAt, j.ClaimedAt = fromMoment(c.int(20)), fromMoment(c.int(21))
	j.LimitKey, j.Turn, j.OnDead = c.text(22), domain.Turn(c.int(23)), domain.OnDead(c.int(24))
	j.FailureKind = c.text(25)
}

// forgotten is forget_args of a row whose args were dropped.
const forgotten = 2

// fewClaims is how many rows most claims of an idle queue have at most.
const fewClaims = 32

// ScanClaims reads claimed rows in the order of ClaimColumns and closes them. Any
// numbers behind these columns, the same in every row, go to tail; a row without
// an id has nothing else.
func ScanClaims(rows *sql.Rows, r driven.ClaimRequest, tail ...*int64) ([]driven.Claimed, error) {
	var out []driven.Claimed
	c := newCells(len(claimCols) + len(tail))
	err := Drain(rows, func(rows *sql.Rows) error {
		if err := c.scan(rows); err != nil {
			return err
		}
		for i, to := range tail {
			*to = c.int(len(claimCols) + i)
		}
		if c.v[0] == nil {
			return nil
		}
		switch len(out) { // rows are large: room for a few, or for all
		case 0:
			out = make([]driven.Claimed, 0, min(r.N, fewClaims))
		case fewClaims:
			out = slices.Grow(out, max(r.N-fewClaims, 0))
		}
		out = append(out, driven.Claimed{Token: r.Token})
		j := &out[len(out)-1].Job
		c.common(j)
		j.State, j.Queue, j.Runner = domain.Running, r.Queue, r.Runner
		return nil
	})
	return out, err
}

// sortClaims puts claims in their order: priority, due time, id. They mostly are.
func sortClaims(claims []driven.Claimed) {
	for i := 1; i < len(claims); i++ {
		if byClaim(&claims[i-1].Job, &claims[i].Job) > 0 {
			slices.SortFunc(claims, func(a, b driven.Claimed) int { return byClaim(&a.Job, &b.Job) })
			return
		}
	}
}

func byClaim(a, b *domain.Job) int {
	switch {
	case a.Priority != b.Priority:
		return a.Priority - b.Priority
	case !a.RunAt.Equal(b.RunAt):
		return a.RunAt.Compare(b.RunAt)
	}
	return a.ID.Compare(b.ID)
}

// scanJob reads a whole job: claimCols, then restCols.
func (c *cells) job() domain.Job {
	var j domain.Job
	c.common(&j)
	n := len(claimCols)
	j.State, j.Queue = domain.State(c.int(n)), c.text(n+1)
	if j.State == domain.Running {
		j.LeaseUntil = fromMoment(c.int(n + 2))
	}
	j.UniqueKey = c.text(n + 3)
	if result := c.bytes(n + 4); len(result) > 0 {
		j.Result = result
	}
	j.Runner, j.Stuck = c.text(n+5), c.int(n+6) > 0
	j.FinishedAt, j.Ran = fromMoment(c.int(n+7)), micros(c.int(n+8))
	j.BlockedOn = c.text(n + 9)
	return j
}

func keepSpan(n int64) time.Duration {
	if n < 0 {
		return domain.KeepForever
	}
	return span(n)
}
