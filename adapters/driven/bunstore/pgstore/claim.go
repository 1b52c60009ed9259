package pgstore

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/ports/driven"
)

// The words that lock. Only the rows of j are locked, never a row source.
const (
	wait  = "FOR UPDATE OF j"
	skip  = "FOR UPDATE OF j SKIP LOCKED"
	share = "FOR SHARE OF j"
)

var locks = map[bunstore.Lock]string{bunstore.Wait: wait, bunstore.Skip: skip, bunstore.Share: share, bunstore.Own: wait}

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

// A claim statement has two forms. The usual one (lookText) answers, beside the
// rows, when the first scheduled row is due. For that its rows pass through a
// buffer, 1.5 us each; so where the last claim got all it asked for, the update
// alone is tried first: what is next is of no use to who gets all again.
type form struct {
	now     string
	goAhead string // nothing is taken while a scheduled row is due
}

func lookForm() form {
	return form{now: "(SELECT now FROM n)", goAhead: "(SELECT $8::boolean OR n.first IS NULL OR n.first > n.now FROM n)"}
}

func bareForm(d *bunstore.Dialect) form {
	return form{now: now, goAhead: "(SELECT NOT EXISTS (SELECT FROM " + d.Table("jobs") + " AS j WHERE " + bunstore.DueWhere(d) + "))"}
}

// takeText updates the rows whose places an array names. The array is worked out
// once, before: never more rows than it has change, whatever the planner does
// (IN (SELECT .. LIMIT) can be run again for each row of a join). By place it is
// 9 us a row, by a join on the id 12 to 15.
//
// $2 token, $3 runner, $4 lease, $5 queue, $6 how many.
func takeText(d *bunstore.Dialect, f form, places string) string {
	return "UPDATE " + d.Table("jobs") + " AS u SET state = 3, token = $2::uuid, runner = $3, stuck = 0," +
		" claimed_at = " + f.now + ", wake_at = " + f.now + " + $4 WHERE u.ctid = ANY(ARRAY(" + places + "))" +
		" RETURNING " + claimColumns()
}

// claimColumns are those of a claim, NULL where most rows have nothing: that is
// cheaper to send and to read, and reads the same.
func claimColumns() string {
	sparse := map[string]string{}
	for col, nothing := range map[string]string{
		"tenant": "''", "error": "''", "history": "''", "tags": "''", "meta": "''", "failure_kind": "''",
		"attempts": "0", "max_attempts": "0", "stalls": "0", "snoozes": "0", "timeout": "0",
		"keep_done": "0", "keep_dead": "0", "keep_cancelled": "0", "forget_args": "0",
		"turn": "0", "on_dead": "0",
	} {
		sparse[col] = "NULLIF(u." + col + ", " + nothing + ")"
	}
	return bunstore.ClaimColumns("u.", sparse)
}

// lookText is the usual form of a claim: with are the row sources of the update.
func lookText(d *bunstore.Dialect, with []string, update, cut string) string {
	with = append([]string{firstText(d)}, with...)
	return "WITH " + strings.Join(with, ", ") + ", c AS (" + update + ") SELECT c.*, n.first, n.now, " + cut + " FROM n LEFT JOIN c ON true"
}

const byKey = "j.priority, j.run_at, j.id"

// oneKindText claims rows of the kind $7: the ready index holds them in order,
// and rows that others hold are passed over on the way.
func oneKindText(d *bunstore.Dialect, f form) string {
	return takeText(d, f, "SELECT j.ctid FROM "+d.Table("jobs")+
		" AS j WHERE j.state = 0 AND j.queue = $5 AND j.kind = $7 AND "+f.goAhead+" AND "+forValues+" ORDER BY "+byKey+" LIMIT $6 "+skip)
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
func kindsText(d *bunstore.Dialect, f form) (with []string, update string) {
	table := d.Table("jobs")
	arm := "SELECT j.ctid AS place, " + byKey + ", row_number() OVER (ORDER BY " + byKey + ") AS nth FROM " + table +
		" AS j WHERE j.state = 0 AND j.queue = $5 AND j.kind = k.kind ORDER BY " + byKey + " LIMIT $10"
	arms := "a AS MATERIALIZED (SELECT x.*, x.nth = k.quota AS last FROM unnest($7::text[], $9::bigint[]) AS k(kind, quota)" +
		" CROSS JOIN LATERAL (SELECT y.* FROM (" + arm + ") AS y WHERE y.nth <= k.quota LIMIT k.quota) AS x WHERE " + f.goAhead + " AND " + forValues + ")"
	cut := "cut AS MATERIALIZED (SELECT a.priority, a.run_at, a.id FROM a WHERE a.last ORDER BY a.priority, a.run_at, a.id LIMIT 1)"
	places := "SELECT j.ctid FROM " + table + " AS j WHERE j.state + 0 = 0 AND j.ctid = ANY(ARRAY(SELECT a.place FROM a" +
		" WHERE NOT EXISTS (SELECT FROM cut) OR (a.priority, a.run_at, a.id) <= (SELECT cut.priority, cut.run_at, cut.id FROM cut)))" +
		" ORDER BY " + byKey + " LIMIT $6 " + skip
	return []string{arms, cut}, takeText(d, f, places)
}

// claimer is the claim of one table.
type claimer struct {
	promote    bunstore.Stmt
	look, bare statements
	shares     bunstore.Shares
	plenty     atomic.Bool // the last claim got all it asked for
}

// statements are one form of the claim.
type statements struct{ oneKind, kinds bunstore.Stmt }

func newClaimer(d *bunstore.Dialect) *claimer {
	c := d.Marks.Compile
	look, bare := lookForm(), bareForm(d)
	with, update := kindsText(d, look)
	bareWith, bareUpdate := kindsText(d, bare)
	return &claimer{
		promote: c(promoteText(d)),
		look: statements{
			oneKind: c(lookText(d, nil, oneKindText(d, look), "0")),
			kinds:   c(lookText(d, with, update, "(SELECT count(*) FROM cut)")),
		},
		bare: statements{oneKind: c(oneKindText(d, bare)), kinds: c("WITH " + strings.Join(bareWith, ", ") + " " + bareUpdate)},
	}
}

// took is the answer of one claim statement.
type took struct {
	jobs            []driven.Claimed
	first, now, cut int64
}

// Take claims until it has N jobs or no arm has more. Each statement stands for
// itself: what was taken before one failed is answered.
func (c *claimer) Take(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest) (res driven.Claims, err error) {
	q := query{conn: conn, now: now, r: r, left: r.N, quotas: c.shares.Quotas(r)}
	if c.plenty.Load() {
		jobs, err := q.run(ctx, &c.bare)
		if err != nil {
			return res, err
		}
		res.Jobs = jobs
	}
	if q.left > 0 {
		err = c.rest(ctx, &q, &res)
	}
	c.plenty.Store(q.left == 0)
	c.shares.Learn(r, res.Jobs)
	return res, orNil(err, len(res.Jobs) > 0)
}

// rest claims what is left to claim and says what is next.
func (c *claimer) rest(ctx context.Context, q *query, res *driven.Claims) error {
	for {
		jobs, err := q.run(ctx, &c.look, &q.first, &q.clock, &q.cut)
		if err != nil {
			res.More = len(res.Jobs) > 0
			return err
		}
		res.Jobs = join(res.Jobs, jobs)
		due := q.first > 0 && q.first <= q.clock
		switch {
		case due && !q.promoted && q.left > 0:
			n, err := exec(ctx, q.conn, c.promote, q.now, promoteBound)
			if err != nil {
				return err
			}
			q.promoted, res.More = true, n >= promoteBound
		case q.left > 0 && q.cut > 0:
			q.quotas = bunstore.Deeper(q.quotas)
		default:
			res.Next = q.next()
			return nil
		}
	}
}

// join is append that copies nothing where there was nothing.
func join(a, b []driven.Claimed) []driven.Claimed {
	if len(a) == 0 {
		return b
	}
	return append(a, b...)
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

// query is one Take on its way.
type query struct {
	conn     bunstore.Conn
	now      any
	r        driven.ClaimRequest
	left     int // still to be taken
	quotas   []int
	promoted bool

	first, clock, cut int64 // what the last look answered
}

// run runs one claim statement; tail are the places of what it answers beside rows.
func (q *query) run(ctx context.Context, s *statements, tail ...*int64) ([]driven.Claimed, error) {
	st, kinds := s.oneKind, any(q.r.Kinds[0])
	if len(q.r.Kinds) > 1 {
		st, kinds = s.kinds, array(q.r.Kinds)
	}
	values := st.Args(q.now, uuid(q.r.Token), q.r.Runner, bunstore.MS(q.r.Lease), q.r.Queue, q.left, kinds,
		q.promoted, numbers(q.quotas), slices.Max(q.quotas))
	rows, err := q.conn.QueryContext(ctx, st.Text, values...)
	if err != nil {
		return nil, err
	}
	jobs, err := bunstore.ScanClaims(rows, q.r, tail...)
	q.left -= len(jobs)
	return jobs, err
}

func (q *query) next() time.Duration {
	switch {
	case q.first == 0:
		return driven.NoNext
	case q.first <= q.clock:
		return lockedWait
	}
	return min(time.Duration(q.first-q.clock)*time.Millisecond, driven.NoNext)
}
