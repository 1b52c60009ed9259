package mysqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// The words that lock.
const (
	wait    = "FOR UPDATE"
	skip    = "FOR UPDATE SKIP LOCKED"
	current = "LOCK IN SHARE MODE"
)

// locks are the words for each lock. A server that cannot skip what others hold
// waits for them; whoever waited looks at the row anew, and takes one that is
// still there.
func locks(canSkip bool) map[bunstore.Lock]string {
	words := map[bunstore.Lock]string{bunstore.Wait: wait, bunstore.Skip: wait, bunstore.Current: current}
	if canSkip {
		words[bunstore.Skip] = skip
	}
	return words
}

const byKey = "j.priority, j.run_at, j.id"

// claimedColumns are those of a claim; claimed_at is what the update will write.
func claimedColumns() string {
	return bunstore.ClaimColumns("j.", map[string]string{"claimed_at": now})
}

// oneKindText locks the first $4 rows of the kind $3 in the queue $2: the ready
// index has them in order, and the read ends with the last one.
func oneKindText(d *bunstore.Dialect) string {
	return d.Forms.Select(bunstore.Select{
		Columns: claimedColumns(), From: d.Table("jobs"), Where: "j.state = 0 AND j.queue = $2 AND j.kind = $3",
		Order: byKey, Limit: "$4", Lock: bunstore.Skip, Index: "ready",
	})
}

// armsText reads, without a lock, the first keys of each of some kinds: one arm a
// kind, since MariaDB has no LATERAL. $2 is the queue, then a kind and its quota
// for each arm.
func armsText(d *bunstore.Dialect, kinds int) string {
	arms := make([]string, kinds)
	for i := range arms {
		arms[i] = "(" + d.Forms.Select(bunstore.Select{
			Columns: strconv.Itoa(i) + " AS arm, j.id, j.priority, j.run_at", From: d.Table("jobs"),
			Where: "j.state = 0 AND j.queue = $2 AND j.kind = $" + strconv.Itoa(3+2*i),
			Order: byKey, Limit: "$" + strconv.Itoa(4+2*i), Index: "ready",
		}) + ")"
	}
	return strings.Join(arms, " UNION ALL ")
}

// pickText locks the first $3 of the candidates $2 that are still ready and free.
// The join goes by the candidates in their order and ends with the last one, so
// that nothing is locked but what is taken.
func pickText(d *bunstore.Dialect) string {
	return d.Forms.Select(bunstore.Select{
		Columns: claimedColumns(), From: d.Table("jobs"), Join: d.Words.Rows("$2", idCols),
		Where: "j.id = o.id AND j.state = 0", Limit: "$3", Lock: bunstore.Skip,
	})
}

// takeText marks the locked rows $2 as taken: $3 token, $4 runner, $5 lease, $6
// the server's time when it locked them, as its read of these rows answered.
func takeText(d *bunstore.Dialect) string {
	return d.Forms.Update(bunstore.Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", idCols), Where: "j.id = o.id AND j.state = 0",
		Set: []bunstore.Assign{
			{Col: "state", Expr: "3"}, {Col: "token", Expr: "$3"}, {Col: "runner", Expr: "$4"}, {Col: "stuck", Expr: "0"},
			{Col: "claimed_at", Expr: "$6"}, {Col: "wake_at", Expr: "$6 + $5"},
		},
	})
}

var idCols = bunstore.PlainCols[:1]

// claimer is the claim of one table: in one transaction it locks rows and marks
// them as taken.
type claimer struct {
	d                   *bunstore.Dialect
	oneKind, pick, take bunstore.Stmt
	shares              bunstore.Shares

	mu   sync.Mutex
	arms map[int]bunstore.Stmt // by their number
}

func newClaimer(d *bunstore.Dialect) *claimer {
	c := d.Marks.Compile
	return &claimer{d: d, oneKind: c(oneKindText(d)), pick: c(pickText(d)), take: c(takeText(d)), arms: map[int]bunstore.Stmt{}}
}

// Claim takes what is ready.
func (c *claimer) Claim(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest) (jobs []driven.Claimed, err error) {
	if len(r.Kinds) == 1 {
		jobs, err = claims(ctx, conn, r, c.oneKind, now, r.Queue, r.Kinds[0], r.N)
	} else {
		jobs, err = c.ofKinds(ctx, conn, now, r)
	}
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	ids := make([]domain.JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].Job.ID
	}
	slices.SortFunc(ids, domain.JobID.Compare)
	at := jobs[0].Job.ClaimedAt.UnixMilli()
	_, err = exec(ctx, conn, c.take, now, idRows(ids), r.Token[:], r.Runner, bunstore.MS(r.Lease), at)
	return jobs, err
}

// rounds bounds how often a claim looks deeper: others may hold what comes first.
const rounds = 4

// ofKinds locks the first rows of several kinds, merged in their order.
func (c *claimer) ofKinds(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest) (jobs []driven.Claimed, err error) {
	quotas, seen := c.shares.Quotas(r), map[domain.JobID]bool{}
	for range rounds {
		keys, more, err := c.candidates(ctx, conn, r, quotas)
		if err != nil {
			return nil, err
		}
		ids := unseen(keys, seen)
		if len(ids) > 0 {
			part, err := claims(ctx, conn, r, c.pick, now, idRows(ids), r.N-len(jobs))
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, part...)
		}
		if len(jobs) >= r.N || !more {
			break
		}
		quotas = bunstore.Deeper(quotas)
	}
	c.shares.Learn(r, jobs)
	return jobs, nil
}

// key is where a row stands in the order of claims.
type key struct {
	arm           int
	priority, run int64
	id            domain.JobID
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.priority, o.priority), cmp.Compare(k.run, o.run), k.id.Compare(o.id))
}

// maxArms is how many kinds one statement asks for.
const maxArms = 64

// candidates are the first rows of all kinds, in order. An arm that gave its whole
// quota may have more behind its last row, so nothing after the least such row is
// one; more says that there was such an arm.
func (c *claimer) candidates(ctx context.Context, conn bunstore.Conn, r driven.ClaimRequest, quotas []int) (keys []key, more bool, err error) {
	var cut key
	for from := 0; from < len(r.Kinds); from += maxArms {
		to := min(from+maxArms, len(r.Kinds))
		part, err := c.look(ctx, conn, r.Queue, r.Kinds[from:to], quotas[from:to])
		if err != nil {
			return nil, false, err
		}
		counts := make([]int, to-from)
		for _, k := range part { // each arm's rows come in order
			counts[k.arm]++
			if counts[k.arm] == quotas[from+k.arm] && (!more || k.compare(cut) < 0) {
				cut, more = k, true
			}
		}
		keys = append(keys, part...)
	}
	slices.SortFunc(keys, key.compare)
	if more {
		at, _ := slices.BinarySearchFunc(keys, cut, key.compare)
		keys = keys[:at+1]
	}
	return keys, more, nil
}

// look runs the arms of some kinds.
func (c *claimer) look(ctx context.Context, conn bunstore.Conn, queue string, kinds []string, quotas []int) (keys []key, err error) {
	st := c.armsOf(len(kinds))
	values := make([]any, 2, 2+2*len(kinds))
	values[1] = queue
	for i, kind := range kinds {
		values = append(values, kind, quotas[i])
	}
	rows, err := conn.QueryContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return nil, err
	}
	var id sql.RawBytes
	err = bunstore.Drain(rows, func(rows *sql.Rows) error {
		var k key
		err := rows.Scan(&k.arm, &id, &k.priority, &k.run)
		copy(k.id[:], id)
		keys = append(keys, k)
		return err
	})
	return keys, err
}

func (c *claimer) armsOf(kinds int) bunstore.Stmt {
	c.mu.Lock()
	defer c.mu.Unlock()
	st, ok := c.arms[kinds]
	if !ok {
		st = c.d.Marks.Compile(armsText(c.d, kinds))
		c.arms[kinds] = st
	}
	return st
}

// unseen gives the ids that no earlier round tried: they are ours by now, or others'.
func unseen(keys []key, seen map[domain.JobID]bool) (ids []domain.JobID) {
	for _, k := range keys {
		if !seen[k.id] {
			seen[k.id] = true
			ids = append(ids, k.id)
		}
	}
	return ids
}

func claims(ctx context.Context, conn bunstore.Conn, r driven.ClaimRequest, st bunstore.Stmt, values ...any) ([]driven.Claimed, error) {
	rows, err := conn.QueryContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return nil, err
	}
	return bunstore.ScanClaims(rows, r)
}

func idRows(ids []domain.JobID) string {
	a := bunstore.NewArray(40 * len(ids))
	for _, id := range ids {
		a.Row().ID(id)
	}
	return a.String()
}
