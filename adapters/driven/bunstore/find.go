package bunstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rowlock/rowlock/domain"
)

var jobCols = ClaimColumns("j.", nil) + ", " + columns(restCols, "j.", nil)

// jobs runs a query of jobCols.
func (q *query) jobs(ctx context.Context, c Conn) (out []domain.Job, err error) {
	cell := newCells(len(claimCols) + len(restCols))
	err = q.s.each(ctx, c, q.stmt(), q.values, func(rows *sql.Rows) error {
		if err := cell.scan(rows); err != nil {
			return err
		}
		out = append(out, cell.job())
		return nil
	})
	return out, err
}

// Job reads one row. It waits for who is changing it: a job that is there is found.
func (s *Store) Job(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
	q := s.queryWith("", jobCols)
	q.where("j.id = " + q.id(id))
	var found []domain.Job
	err := s.read(ctx, "get job", func(ctx context.Context, c Conn) (err error) {
		if found, err = q.jobs(ctx, c); err == nil && len(found) > 0 && found[0].Turn != domain.NoTurn {
			found[0].Keys, err = s.ownKeys(ctx, c, id)
		}
		return err
	})
	if err != nil {
		return domain.Job{}, err
	}
	if len(found) == 0 || (tenant != "" && found[0].Tenant != tenant) {
		return domain.Job{}, notFound("get job", id)
	}
	return found[0], nil
}

// Jobs reads one page.
func (s *Store) Jobs(ctx context.Context, f domain.Filter, p domain.Page) (out []domain.Job, err error) {
	err = s.list(ctx, "list jobs", jobCols, f, p, func(ctx context.Context, c Conn, q *query) (err error) {
		out, err = q.jobs(ctx, c)
		return err
	})
	return out, err
}

// Match reads the ids of one page.
func (s *Store) Match(ctx context.Context, f domain.Filter, p domain.Page) (ids []domain.JobID, err error) {
	err = s.list(ctx, "match jobs", "j.id", f, p, func(ctx context.Context, c Conn, q *query) (err error) {
		ids, err = s.ids(ctx, c, q.stmt(), q.values)
		return err
	})
	return ids, err
}

// list runs the query of one page.
func (s *Store) list(ctx context.Context, op, cols string, f domain.Filter, p domain.Page, run func(context.Context, Conn, *query) error) error {
	q := s.query(cols)
	q.filter(f)
	if err := q.page(p); err != nil {
		return err
	}
	return s.read(ctx, op, func(ctx context.Context, c Conn) error {
		if err := q.narrow(ctx, c, f); err != nil {
			return err
		}
		return run(ctx, c, q)
	})
}

// fewRows is up to how many rows of some states are looked up by the index of
// the states; more lie so close that the newest are found by walking the ids.
const fewRows = 2000

// narrow makes a list of a few rows among many cheap: where the states chosen
// have few rows in all, these are what is searched.
func (q *query) narrow(ctx context.Context, c Conn, f domain.Filter) error {
	if len(f.States) == 0 || (!q.s.d.Whole && slices.Contains(f.States, domain.Dead)) || f.Tenant != "" || !f.Batch.IsZero() || f.Waits != "" {
		return nil // the id's own order, or an index that has it, serves
	}
	few := q.s.query("j.id")
	few.where(statesWhere(f.States))
	if outOfReady(f.States) {
		few.where("j.state > 0")
	}
	few.limit(fewRows)
	count, exact, err := q.s.countOf(ctx, c, few, fewRows)
	if err != nil || !exact || count == fewRows {
		return err
	}
	q.Join("JOIN (?) AS few ON few.id = j.id", few.SelectQuery)
	return nil
}

// Count counts what a filter chooses, up to the limit.
func (s *Store) Count(ctx context.Context, f domain.Filter, limit int) (n int, exact bool, err error) {
	q := s.query("1 AS one")
	q.filter(f)
	if outOfReady(f.States) {
		q.where("j.state > 0")
	}
	q.limit(limit + 1)
	err = s.read(ctx, "count jobs", func(ctx context.Context, c Conn) error {
		n, exact, err = s.countOf(ctx, c, q, limit)
		return err
	})
	return n, exact, err
}

// countOf counts the rows of a query that is bounded already.
func (s *Store) countOf(ctx context.Context, c Conn, q *query, limit int) (n int, exact bool, err error) {
	count := s.d.Build.NewSelect().ColumnExpr("count(*)").TableExpr("(?) AS x", q.SelectQuery)
	err = One(ctx, c, s.d.Marks.Compile(count.String()), q.values, &n)
	return min(n, limit), n <= limit, err
}

// outOfReady says whether no state is ready, so that the index of the others serves.
func outOfReady(states []domain.State) bool {
	for _, st := range states {
		if st == domain.Ready {
			return false
		}
	}
	return len(states) > 0
}
