package mysqlstore

import (
	"context"
	"slices"
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
	words := map[bunstore.Lock]string{
		bunstore.Wait: wait, bunstore.Skip: wait, bunstore.Current: current,
		bunstore.Share: current, bunstore.Own: wait, // each is held to the end of the transaction
	}
	if canSkip {
		words[bunstore.Skip] = skip
	}
	return words
}

// claimedColumns are those of a claim; claimed_at is what the update will write.
func claimedColumns() string {
	return bunstore.ClaimColumns("j.", map[string]string{"claimed_at": now})
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

// claimer is the claim of one table. In one transaction it looks for the first
// rows without a lock, locks those that are still there and free, and marks them as
// taken.
type claimer struct {
	d            *bunstore.Dialect
	pick, take   bunstore.Stmt
	due, duePick bunstore.Stmt
	promote      bunstore.Stmt
	shares       bunstore.Shares

	mu   sync.Mutex
	arms map[int]bunstore.Stmt // by their number
}

func newClaimer(d *bunstore.Dialect) *claimer {
	c := d.Marks.Compile
	return &claimer{
		d: d, pick: c(pickText(d)), take: c(takeText(d)), arms: map[int]bunstore.Stmt{},
		due: c(dueText(d)), duePick: c(duePickText(d)), promote: c(promoteText(d)),
	}
}

// Claim takes what is ready.
func (c *claimer) Claim(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest) (jobs []driven.Claimed, err error) {
	jobs, err = c.lock(ctx, conn, now, r)
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

// lock locks the first rows of all kinds, merged in their order. It looks deeper
// for as long as others hold what it found and there is more.
func (c *claimer) lock(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest) (jobs []driven.Claimed, err error) {
	quotas, seen := c.shares.Quotas(r), map[domain.JobID]bool{}
	for {
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
