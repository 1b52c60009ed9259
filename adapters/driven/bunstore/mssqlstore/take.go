package mssqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/ports/driven"
)

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

// Take claims until it has N jobs or no arm has more, maxRows at a time. Each
// statement stands for itself: what was taken before one failed is answered.
func (c *claimer) Take(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest) (res driven.Claims, err error) {
	round, left, promoted := r, r.N, false
	round.N = min(left, maxRows)
	quotas := c.shares.Quotas(round)
	for {
		round.N = min(left, maxRows)
		t, err := c.take(ctx, conn, now, round, promoted, quotas)
		if err != nil {
			res.More = len(res.Jobs) > 0
			return res, orNil(err, res.More)
		}
		res.Jobs, left = append(res.Jobs, t.jobs...), left-len(t.jobs)
		switch {
		case left <= 0:
		case t.first > 0 && t.first <= t.now && !promoted:
			n, err := exec(ctx, conn, c.promote, now, maxRows)
			if err != nil {
				return res, orNil(err, len(res.Jobs) > 0)
			}
			promoted, res.More = true, n >= maxRows
			continue
		case len(t.jobs) == round.N:
			continue
		case t.cut > 0:
			quotas = bunstore.Deeper(quotas)
			continue
		}
		c.shares.Learn(r, res.Jobs)
		res.Next = until(t)
		return res, nil
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

// take runs one claim statement. Its first result says what time it is, and its
// second, where it went ahead, what it took.
func (c *claimer) take(ctx context.Context, conn bunstore.Conn, now any, r driven.ClaimRequest, promoted bool, quotas []int) (t took, err error) {
	st, kinds, ahead := c.oneKind, r.Kinds[0], 0
	if len(r.Kinds) > 1 {
		st, kinds = c.kinds, arms(r.Kinds, quotas)
	}
	if promoted {
		ahead = 1
	}
	rows, err := conn.QueryContext(ctx, st.Text, st.Args(now, r.Token[:], r.Runner, bunstore.MS(r.Lease), r.Queue, r.N, kinds, ahead)...)
	if err != nil {
		return t, err
	}
	defer func() { _ = rows.Close() }() // a failed close is in Err
	if err := t.look(rows); err != nil {
		return t, err
	}
	t.jobs, err = bunstore.ScanClaims(rows, r)
	return t, err
}

// look reads the first result, to its end, for only then a second one shows, and
// goes to that.
func (t *took) look(rows *sql.Rows) error {
	for rows.Next() {
		if err := rows.Scan(&t.first, &t.now, &t.cut); err != nil {
			return err
		}
	}
	rows.NextResultSet() // where there is none, no row is left to read
	return rows.Err()
}

// arms is the JSON text of kinds and their quotas.
func arms(kinds []string, quotas []int) string {
	a := bunstore.NewArray(40 * len(kinds))
	for i, kind := range kinds {
		a.Row().Text(kind).Int(int64(quotas[i]))
	}
	return a.String()
}

func exec(ctx context.Context, c bunstore.Conn, st bunstore.Stmt, values ...any) (int, error) {
	res, err := c.ExecContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}
