package bunstore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rowlock/rowlock/ports/driven"
)

// promoteBound is how many due rows one claim makes ready; More says when it was reached.
const promoteBound = 1000

// promoteFindText finds due scheduled rows for dialects without a statement of
// their own. The two bounds on wake_at are what the index seeks by.
func promoteFindText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.id", From: d.Table("jobs"), Where: DueWhere(d), Order: "j.wake_at", Limit: "$2", Lock: Skip, Index: "wake",
	})
}

// DueWhere says that time has made a scheduled row j due.
func DueWhere(d *Dialect) string {
	return "j.state = 1 AND j.state > 0 AND j.wake_at > 0 AND j.wake_at <= " + d.Words.Now
}

func promoteSetText(d *Dialect) string {
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", []Col{{"id", ColID}}), Where: "j.id = o.id AND j.state = 1",
		Set: []Assign{{"state", "0"}, {"wake_at", "0"}},
	})
}

// NextText reads the first moment at which time moves a scheduled row, and now.
func NextText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.wake_at, " + d.Words.Now, From: d.Table("jobs"),
		Where: "j.state = 1 AND j.state > 0 AND j.wake_at > 0", Order: "j.wake_at", Limit: "1", Index: "wake", Lock: Past,
	})
}

// Claim first makes ready what time has made due, then takes, in one transaction
// unless the dialect has its own way.
func (s *Store) Claim(ctx context.Context, r driven.ClaimRequest) (res driven.Claims, err error) {
	if r.N <= 0 || len(r.Kinds) == 0 {
		return driven.Claims{Next: driven.NoNext}, nil
	}
	r.Kinds = distinctNames(r.Kinds)
	if r.Fair {
		return s.claimFair(ctx, r)
	}
	if s.d.Hot.Take != nil {
		err = s.one(ctx, "claim", func(ctx context.Context, c Conn) (err error) {
			res, err = s.d.Hot.Take(ctx, c, s.now(), r)
			return err
		})
		if err != nil {
			return driven.Claims{}, err
		}
		sortClaims(res.Jobs)
		return res, nil
	}
	err = s.write(ctx, "claim", func(ctx context.Context, c Conn) error {
		now := s.now()
		promoted, err := s.promote(ctx, c, now)
		if err != nil {
			return err
		}
		if res, err = s.claimPlain(ctx, c, now, r); err != nil {
			return err
		}
		sortClaims(res.Jobs)
		res.More = promoted >= promoteBound
		return nil
	})
	return res, err
}

// claimPlain takes what is ready and says what is next, inside a transaction.
func (s *Store) claimPlain(ctx context.Context, c Conn, now any, r driven.ClaimRequest) (res driven.Claims, err error) {
	if s.d.Hot.Take != nil {
		return s.d.Hot.Take(ctx, c, now, r)
	}
	if res.Jobs, err = s.d.Hot.Claim(ctx, c, now, r); err == nil && len(res.Jobs) < r.N {
		res.Next, err = s.wait(ctx, c, s.t.next, now)
	}
	return res, err
}

// distinctNames is each name once: an arm of a claim that is there twice would
// count its rows twice.
func distinctNames(names []string) []string {
	for i := 1; i < len(names); i++ {
		if names[i-1] >= names[i] {
			return slices.Compact(slices.Sorted(slices.Values(names)))
		}
	}
	return names // as a runner gives them
}

func (s *Store) promote(ctx context.Context, c Conn, now any) (int, error) {
	if s.d.Hot.Promote != nil {
		return s.d.Hot.Promote(ctx, c, now, promoteBound)
	}
	var a Array
	n, cell := 0, newCells(1)
	err := s.each(ctx, c, s.t.promoteFind, []any{now, promoteBound}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		a.Row().ID(cell.id(0))
		n++
		return err
	})
	if err != nil || n == 0 {
		return 0, err
	}
	_, err = s.exec(ctx, c, s.t.promoteSet, now, a.String())
	return n, err
}

// wait is how long until the moment that a query answers beside now.
func (s *Store) wait(ctx context.Context, c Conn, st Stmt, now any) (time.Duration, error) {
	wait, cell := driven.NoNext, newCells(2)
	err := s.each(ctx, c, st, []any{now}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		wait = min(max(span(cell.int(0)-cell.int(1)), 0), driven.NoNext)
		return err
	})
	return wait, err
}
