package bunstore

import (
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

// query begins a select that waits for nobody (Words.Past).
func (s *Store) query(cols string) *query { return s.queryWith(s.d.Words.Past, cols) }

func (s *Store) queryWith(hint, cols string) *query {
	q := &query{s: s}
	q.add(s.now())
	from := strings.TrimSpace(s.d.Table("jobs") + " AS j " + hint)
	q.SelectQuery = s.d.Build.NewSelect().ColumnExpr("?", bun.Safe(cols)).TableExpr("?", bun.Safe(from))
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
		q.where("j.tenant <> " + q.s.d.Words.empty()) // a partial index is used by its own words
	}
	if !f.Batch.IsZero() {
		q.where("j.batch_id = " + q.id(f.Batch))
		q.where("j.batch_id IS NOT NULL")
	}
	if f.Waits != "" {
		q.where("j.blocked_on = " + q.add(f.Waits))
		q.where("j.state = 2")
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

// limit bounds a query that has no order.
func (q *query) limit(n int) {
	q.Limit(int64(n))
	if order := q.s.d.Words.LimitOrder; order != "" {
		q.OrderExpr(order)
	}
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
