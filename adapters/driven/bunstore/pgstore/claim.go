package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/ports/driven"
)

// The words that lock. Only jobs are locked, never a row source.
const (
	wait = "FOR UPDATE OF j"
	skip = "FOR UPDATE OF j SKIP LOCKED"
)

var locks = map[bunstore.Lock]string{bunstore.Wait: wait, bunstore.Skip: skip}

// promoteBound is how many due rows are made ready at a time.
const promoteBound = 1000

// promoteText makes at most $2 due scheduled rows ready, the longest due first.
func promoteText(d *bunstore.Dialect) string {
	return "UPDATE " + d.Table("jobs") + " AS u SET state = 0, wake_at = 0 WHERE u.ctid = ANY(ARRAY(SELECT j.ctid FROM " +
		d.Table("jobs") + " AS j WHERE " + bunstore.DueWhere(d) + " ORDER BY j.wake_at LIMIT $2 " + skip + "))"
}

// firstText is one row: when the first scheduled row is due, and now. While one
// is due already a claim takes nothing unless $8 says that promotion was done:
// so one statement claims and knows whether that was right.
func firstText(d *bunstore.Dialect) string {
	return "n AS MATERIALIZED (SELECT (SELECT j.wake_at FROM " + d.Table("jobs") + " AS j" +
		" WHERE j.state = 1 AND j.state > 0 AND j.wake_at > 0 ORDER BY j.wake_at LIMIT 1) AS first, " + now + " AS now)"
}

const goAhead = "(SELECT $8::boolean OR n.first IS NULL OR n.first > n.now FROM n)"

// takeText updates the rows whose places an array names. The array is worked out
// once, before: never more rows than it has change, whatever the planner does
// (IN (SELECT .. LIMIT) can be run again for each row of a join). By place it is
// 9 us a row, by a join on the id 12 to 15.
//
// $2 token, $3 runner, $4 lease, $5 queue, $6 how many.
func takeText(d *bunstore.Dialect, places string) string {
	return "c AS (UPDATE " + d.Table("jobs") + " AS u SET state = 3, token = $2::uuid, runner = $3, stuck = 0," +
		" claimed_at = (SELECT now FROM n), wake_at = (SELECT now FROM n) + $4 WHERE u.ctid = ANY(ARRAY(" + places + "))" +
		" RETURNING " + bunstore.ClaimColumns("u.", nil) + ")"
}

const byKey = "j.priority, j.run_at, j.id"

// oneKindText claims rows of the kind $7: the ready index holds them in order,
// and rows that others hold are passed over on the way.
func oneKindText(d *bunstore.Dialect) string {
	return "WITH " + firstText(d) + ", " + takeText(d, "SELECT j.ctid FROM "+d.Table("jobs")+
		" AS j WHERE j.state = 0 AND j.queue = $5 AND j.kind = $7 AND "+goAhead+" ORDER BY "+byKey+" LIMIT $6 "+skip) +
		" SELECT c.*, n.first, n.now, 0 FROM n LEFT JOIN c ON true"
}

// kindsText claims rows of the kinds $7, of each at most its quota $9. The arms
// read and do not lock: all that is locked is what is taken. An arm that gave its
// whole quota may have more behind its last row, so nothing after the least such
// row is taken, and the answer says that there was one (its last column). Over
// UNION ALL the planner sorts every row of every kind instead; with a limit of $6
// in each arm 50 kinds cost 4.9 ms, and arms that lock hide rows from others.
// The greatest quota $10 is there for the planner, who takes an unknown limit for a
// tenth of all rows and, from some size on, compiles the statement first.
// The state is re-checked in a form that no index has: beside a list of places it
// takes the planner to the ready index.
func kindsText(d *bunstore.Dialect) string {
	table := d.Table("jobs")
	arm := "SELECT j.ctid AS place, " + byKey + ", row_number() OVER (ORDER BY " + byKey + ") AS nth FROM " + table +
		" AS j WHERE j.state = 0 AND j.queue = $5 AND j.kind = k.kind ORDER BY " + byKey + " LIMIT $10"
	arms := "a AS MATERIALIZED (SELECT x.*, x.nth = k.quota AS last FROM unnest($7::text[], $9::bigint[]) AS k(kind, quota)" +
		" CROSS JOIN LATERAL (SELECT y.* FROM (" + arm + ") AS y WHERE y.nth <= k.quota LIMIT k.quota) AS x WHERE " + goAhead + ")"
	cut := "cut AS MATERIALIZED (SELECT a.priority, a.run_at, a.id FROM a WHERE a.last ORDER BY a.priority, a.run_at, a.id LIMIT 1)"
	places := "SELECT j.ctid FROM " + table + " AS j WHERE j.state + 0 = 0 AND j.ctid = ANY(ARRAY(SELECT a.place FROM a" +
		" WHERE NOT EXISTS (SELECT FROM cut) OR (a.priority, a.run_at, a.id) <= (SELECT cut.priority, cut.run_at, cut.id FROM cut)))" +
		" ORDER BY " + byKey + " LIMIT $6 " + skip
	return "WITH " + firstText(d) + ", " + arms + ", " + cut + ", " + takeText(d, places) +
		" SELECT c.*, n.first, n.now, (SELECT count(*) FROM cut) FROM n LEFT JOIN c ON true"
}

// claimer is the claim of one table.
type claimer struct {
	promote, oneKind, kinds bunstore.Stmt
	shares                  bunstore.Shares
}

func newClaimer(d *bunstore.Dialect) *claimer {
	c := d.Marks.Compile
	return &claimer{promote: c(promoteText(d)), oneKind: c(oneKindText(d)), kinds: c(kindsText(d))}
}

// took is the answer of one claim statement.
type took struct {
	jobs            []driven.Claimed
	first, now, cut int64
}

// Take claims until it has N jobs or no arm has more. Each statement stands for
// itself: what was taken before one failed is answered.
func (c *claimer) Take(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest) (res driven.Claims, err error) {
	quotas := c.shares.Quotas(r)
	for promoted, left := false, r.N; ; {
		t, err := c.take(ctx, conn, now, r, left, promoted, quotas)
		if err != nil {
			res.More = len(res.Jobs) > 0
			return res, orNil(err, res.More)
		}
		res.Jobs, left = append(res.Jobs, t.jobs...), left-len(t.jobs)
		due := t.first > 0 && t.first <= t.now
		switch {
		case due && !promoted && left > 0:
			n, err := exec(ctx, conn, c.promote, now, promoteBound)
			if err != nil {
				return res, orNil(err, len(res.Jobs) > 0)
			}
			promoted, res.More = true, n >= promoteBound
		case left > 0 && t.cut > 0:
			quotas = bunstore.Deeper(quotas)
		default:
			c.shares.Learn(r, res.Jobs)
			res.Next = until(t)
			return res, nil
		}
	}
}

// orNil drops an error that must not hide what was taken.
func orNil(err error, drop bool) error {
	if drop {
		return nil
	}
	return err
}

// lockedWait is Next where what is due is held by others, who will not be long.
const lockedWait = 50 * time.Millisecond

func until(t took) time.Duration {
	switch {
	case t.first == 0:
		return driven.NoNext
	case t.first <= t.now:
		return lockedWait
	}
	return min(time.Duration(t.first-t.now)*time.Millisecond, driven.NoNext)
}

// take runs one claim statement.
func (c *claimer) take(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest, n int, promoted bool, quotas []int) (t took, err error) {
	st, kinds := c.oneKind, any(r.Kinds[0])
	if len(r.Kinds) > 1 {
		st, kinds = c.kinds, array(r.Kinds)
	}
	token := uuid(r.Token)
	rows, err := conn.QueryContext(ctx, st.Text, st.Args(now, token, r.Runner, bunstore.MS(r.Lease), r.Queue, n, kinds, promoted, numbers(quotas), slices.Max(quotas))...)
	if err != nil {
		return t, err
	}
	t.jobs, err = bunstore.ScanClaims(rows, r, &t.first, &t.now, &t.cut)
	return t, err
}
