package bunstore

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/rowlock/rowlock/domain"
)

// Queries here are put together by bun: identifiers, order and limit are its
// work. Values of a user are only ever named in the text ($1, ..) and bound.

// query is a select of jobs j that is being put together.
type query struct {
	*bun.SelectQuery
	params
	s *Store
}

func (s *Store) query(cols string) *query {
	q := &query{s: s}
	q.add(s.now())
	q.SelectQuery = s.d.Build.NewSelect().ColumnExpr("?", bun.Safe(cols)).TableExpr("? AS j", bun.Safe(s.d.Table("jobs")))
	return q
}

// where adds a condition; the text is ours alone.
func (q *query) where(text string) { q.Where("?", bun.Safe(text)) }

// stmt is the finished query.
func (q *query) stmt() Stmt { return q.s.d.Marks.Compile(q.String()) }

// id binds an id.
func (q *query) id(id [16]byte) string {
	if q.s.d.ID != nil {
		return q.add(q.s.d.ID(id))
	}
	return q.add(id[:])
}

// filter adds what a filter and a tenant choose.
func (q *query) filter(f domain.Filter) {
	if len(f.States) > 0 {
		q.where(statesWhere(f.States))
	}
	for _, eq := range []struct{ col, value string }{{"queue", f.Queue}, {"kind", f.Kind}, {"tenant", f.Tenant}} {
		if eq.value != "" {
			q.where("j." + eq.col + " = " + q.add(eq.value))
		}
	}
	if f.Tenant != "" {
		q.where("j.tenant <> ''") // a partial index is used by its own words
	}
	if !f.Batch.IsZero() {
		q.where("j.batch_id = " + q.id(f.Batch))
		q.where("j.batch_id IS NOT NULL")
	}
	if f.Tag != "" {
		q.where(q.s.d.Words.Contains("j.tags", q.add(tagText(f.Tag))))
	}
	if f.Error != "" {
		q.where(q.s.d.Words.Contains("j.error", q.add(f.Error)))
	}
	if !f.Since.IsZero() {
		q.where("j.created_at >= " + q.add(moment(f.Since)))
	}
	if !f.Until.IsZero() {
		q.where("j.created_at < " + q.add(moment(f.Until)))
	}
}

// statesWhere has the states as literals, for the partial indexes.
func statesWhere(states []domain.State) string {
	if len(states) == 1 {
		return "j.state = " + strconv.Itoa(int(states[0]))
	}
	list := make([]string, len(states))
	for i, st := range states {
		list[i] = strconv.Itoa(int(st))
	}
	return "j.state IN (" + strings.Join(list, ", ") + ")"
}

// page adds the order and the bounds of a page, newest id first.
func (q *query) page(p domain.Page) error {
	p, err := p.Validate()
	if err != nil {
		return err
	}
	if !p.Before.IsZero() {
		q.where("j.id < " + q.id(p.Before))
	}
	q.OrderExpr("j.id DESC").Limit(int64(p.Size))
	return nil
}

// run hands over every row of the query.
func (q *query) run(ctx context.Context, op string, row func(*sql.Rows) error) error {
	return q.s.read(ctx, op, func(ctx context.Context, c Conn) error {
		return q.s.each(ctx, c, q.stmt(), q.values, row)
	})
}

var jobCols = ClaimColumns("j.", nil) + ", " + columns(restCols, "j.", nil)

// jobs runs a query of jobCols.
func (q *query) jobs(ctx context.Context, op string) (out []domain.Job, err error) {
	cell := newCells(len(claimCols) + len(restCols))
	err = q.run(ctx, op, func(rows *sql.Rows) error {
		if err := cell.scan(rows); err != nil {
			return err
		}
		out = append(out, cell.job())
		return nil
	})
	return out, err
}

// Job reads one row.
func (s *Store) Job(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
	q := s.query(jobCols)
	q.where("j.id = " + q.id(id))
	found, err := q.jobs(ctx, "get job")
	if err != nil {
		return domain.Job{}, err
	}
	if len(found) == 0 || (tenant != "" && found[0].Tenant != tenant) {
		return domain.Job{}, notFound("get job", id)
	}
	return found[0], nil
}

// Jobs reads one page.
func (s *Store) Jobs(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error) {
	q := s.query(jobCols)
	q.filter(f)
	if err := q.page(p); err != nil {
		return nil, err
	}
	return q.jobs(ctx, "list jobs")
}

// Match reads the ids of one page.
func (s *Store) Match(ctx context.Context, f domain.Filter, p domain.Page) (ids []domain.JobID, err error) {
	q := s.query("j.id")
	q.filter(f)
	if err := q.page(p); err != nil {
		return nil, err
	}
	err = s.read(ctx, "match jobs", func(ctx context.Context, c Conn) (err error) {
		ids, err = s.ids(ctx, c, q.stmt(), q.values)
		return err
	})
	return ids, err
}

// Count counts what a filter chooses, up to the limit.
func (s *Store) Count(ctx context.Context, f domain.Filter, limit int) (n int, exact bool, err error) {
	q := s.query("1 AS one")
	q.filter(f)
	if outOfReady(f.States) {
		q.where("j.state > 0")
	}
	q.Limit(int64(limit) + 1)
	if s.d.Words.LimitOrder != "" {
		q.OrderExpr(s.d.Words.LimitOrder)
	}
	count := s.d.Build.NewSelect().ColumnExpr("count(*)").TableExpr("(?) AS x", q.SelectQuery)
	st := s.d.Marks.Compile(count.String())
	cell := newCells(1)
	err = s.read(ctx, "count jobs", func(ctx context.Context, c Conn) error {
		return s.each(ctx, c, st, q.values, cell.scan)
	})
	n = int(cell.int(0))
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
