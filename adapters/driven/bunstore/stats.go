package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// findTexts are the reads behind Queues and Stats. Ready and scheduled rows are
// counted per queue and kind, whose pairs are found by a loose scan of the index
// that leads with them; the other states as a whole, each up to a cap. So nothing
// here walks a table.
type findTexts struct {
	nextQueue, nextKind Stmt // the first name after $2 (in queue $3)
	ready, later        Stmt // counts of queue $2 and kind $3, at most $4
	states              []Stmt
	tenant              Stmt
}

// countedStates are counted as a whole.
var countedStates = []domain.State{domain.Blocked, domain.Running, domain.Done, domain.Dead, domain.Cancelled}

func newFindTexts(d *Dialect) findTexts {
	c, now := d.Marks.Compile, d.Words.Now
	byDue := "j.run_at"
	if d.Whole { // the ready index serves scheduled rows too
		byDue = "j.priority, j.run_at"
	}
	t := findTexts{
		nextQueue: c(looseText(d, "queue", "j.queue > $2")),
		nextKind:  c(looseText(d, "kind", "j.queue = $3 AND j.kind > $2")),
		ready:     c(pairText(d, "j.state = 0", "j.priority, j.run_at")),
		later:     c(pairText(d, "j.state = 1", byDue)),
	}
	for _, state := range countedStates {
		inner := d.Forms.Select(Select{
			Columns: "j.queue, j.kind, j.stuck, j.ran", From: d.Table("jobs"), Order: "j.wake_at DESC", Limit: "$2", Index: "wake", Lock: Past,
			Where: "j.state = " + strconv.Itoa(int(state)) + " AND j.state > 0",
		})
		t.states = append(t.states, c("SELECT x.queue, x.kind, count(*), sum(x.stuck), min(x.ran), max(x.ran), sum(x.ran) FROM ("+
			inner+") AS x GROUP BY x.queue, x.kind"))
	}
	inner := d.Forms.Select(Select{
		Columns: "j.queue, j.kind, CASE WHEN j.state = 1 AND j.run_at <= " + now + " THEN 0 ELSE j.state END AS state, j.stuck, j.ran, j.run_at, " + now + " AS now",
		From:    d.Table("jobs"), Order: "j.id DESC", Limit: "$2", Index: "tenant", Lock: Past,
		Where: "j.tenant = $3 AND j.tenant <> " + d.Words.empty(),
	})
	t.tenant = c("SELECT x.queue, x.kind, count(*), sum(x.stuck), min(x.ran), max(x.ran), sum(x.ran), x.state, max(x.now) - min(x.run_at) FROM (" +
		inner + ") AS x GROUP BY x.queue, x.kind, x.state")
	return t
}

// looseText finds the next name of a column among ready and scheduled rows by
// one index seek each. Asked for min(), a planner without statistics reads them all.
func looseText(d *Dialect, col, where string) string {
	one := func(state string) string {
		return "SELECT y.name FROM (" + d.Forms.Select(Select{
			Columns: "j." + col + " AS name", From: d.Table("jobs"), Where: "j.state = " + state + " AND " + where, Order: "j." + col, Limit: "1", Lock: Past,
		}) + ") AS y"
	}
	return "SELECT min(x.name) FROM (" + one("0") + " UNION ALL " + one("1") + ") AS x"
}

// pairText counts what of a queue and kind is due and what is not yet, and how
// long the oldest is due.
func pairText(d *Dialect, state, order string) string {
	now := d.Words.Now
	inner := d.Forms.Select(Select{
		Columns: "j.run_at, " + now + " AS now", From: d.Table("jobs"), Order: order, Limit: "$4", Index: "ready", Lock: Past,
		Where: state + " AND j.queue = $2 AND j.kind = $3",
	})
	return "SELECT count(*), sum(CASE WHEN x.run_at > x.now THEN 1 ELSE 0 END), max(x.now) - min(x.run_at) FROM (" + inner + ") AS x"
}

// Queues finds the names one after another.
func (s *Store) Queues(ctx context.Context, after string, limit int) (out []string, err error) {
	err = s.read(ctx, "list queues", func(ctx context.Context, c Conn) error {
		out, err = s.names(ctx, c, s.t.find.nextQueue, after, limit)
		return err
	})
	return out, err
}

func (s *Store) names(ctx context.Context, c Conn, next Stmt, after string, limit int, more ...any) (out []string, err error) {
	cell := newCells(1)
	for len(out) < limit {
		if err := s.each(ctx, c, next, append([]any{nil, after}, more...), cell.scan); err != nil {
			return nil, err
		}
		if cell.v[0] == nil {
			return out, nil
		}
		after = cell.text(0)
		out = append(out, after)
	}
	return out, nil
}

type pair struct{ queue, kind string }

// sums collects the lines of a Stats.
type sums struct {
	lines map[pair]*domain.Line
	exact bool
}

func (m *sums) line(queue, kind string) *domain.Line {
	at := pair{queue, kind}
	if m.lines[at] == nil {
		m.lines[at] = &domain.Line{Queue: queue, Kind: kind, Oldest: domain.NoneDue}
	}
	return m.lines[at]
}

// maxPairs bounds how many pairs of queue and kind are looked at. Each costs a few
// reads; beyond that the statistics are not exact.
const maxPairs = 2000

// Stats is read in one go; the counts are of one moment only as far as the
// database makes the reads of one call so.
func (s *Store) Stats(ctx context.Context, tenant string, limit int) (domain.Stats, error) {
	m := &sums{lines: map[pair]*domain.Line{}, exact: true}
	err := s.read(ctx, "stats", func(ctx context.Context, c Conn) error {
		if tenant != "" {
			return s.tenantStats(ctx, c, m, tenant, limit)
		}
		if err := s.pairStats(ctx, c, m, limit); err != nil {
			return err
		}
		for i, state := range countedStates {
			if err := s.stateStats(ctx, c, m, i, state, limit); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return domain.Stats{}, err
	}
	out := domain.Stats{Exact: m.exact}
	for _, l := range m.lines {
		out.Lines = append(out.Lines, *l)
	}
	slices.SortFunc(out.Lines, func(a, b domain.Line) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	})
	return out, nil
}

// pairStats counts ready and scheduled rows.
func (s *Store) pairStats(ctx context.Context, c Conn, m *sums, limit int) error {
	left := maxPairs
	queues, err := s.names(ctx, c, s.t.find.nextQueue, "", left+1)
	if err != nil {
		return err
	}
	for _, queue := range queues {
		kinds, err := s.names(ctx, c, s.t.find.nextKind, "", left+1, queue)
		if err != nil {
			return err
		}
		over := len(kinds) > left
		for _, kind := range kinds[:min(len(kinds), left)] {
			if err := s.pairStat(ctx, c, m.line(queue, kind), m, limit); err != nil {
				return err
			}
		}
		if over {
			m.exact = false
			return nil
		}
		left -= len(kinds)
	}
	return nil
}

func (s *Store) pairStat(ctx context.Context, c Conn, l *domain.Line, m *sums, limit int) error {
	for _, st := range []Stmt{s.t.find.ready, s.t.find.later} {
		cell := newCells(3)
		if err := s.each(ctx, c, st, []any{s.now(), l.Queue, l.Kind, limit + 1}, cell.scan); err != nil {
			return err
		}
		n := m.cap(cell.int(0), int64(limit))
		later := min(cell.int(1), n)
		l.Tally.Scheduled += later
		l.Tally.Due += n - later
		if n > later {
			l.Oldest = max(l.Oldest, span(cell.int(2)), 0)
		}
	}
	return nil
}

// cap cuts a count that was read one beyond its limit.
func (m *sums) cap(n, limit int64) int64 {
	if n > limit {
		m.exact = false
		return limit
	}
	return n
}

func (s *Store) stateStats(ctx context.Context, c Conn, m *sums, i int, state domain.State, limit int) error {
	cell, left := newCells(7), int64(limit)
	return s.each(ctx, c, s.t.find.states[i], []any{nil, limit + 1}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		n := m.cap(cell.int(2), left)
		left -= n
		add(m.line(cell.text(0), cell.text(1)), state, n, cell)
		return err
	})
}

// tenantStats looks at the newest rows of the tenant, so many that each state may have its cap.
func (s *Store) tenantStats(ctx context.Context, c Conn, m *sums, tenant string, limit int) error {
	cell, left := newCells(9), int64(limit)*int64(len(domain.States()))
	return s.each(ctx, c, s.t.find.tenant, []any{s.now(), left + 1, tenant}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		n := m.cap(cell.int(2), left)
		left -= n
		l, state := m.line(cell.text(0), cell.text(1)), domain.State(cell.int(7))
		add(l, state, n, cell)
		if state == domain.Ready {
			l.Oldest = max(l.Oldest, span(cell.int(8)), 0)
		}
		return err
	})
}

// add puts one group of a state into its line.
func add(l *domain.Line, state domain.State, n int64, c *cells) {
	switch state {
	case domain.Ready:
		l.Tally.Due += n
	case domain.Scheduled:
		l.Tally.Scheduled += n
	case domain.Blocked:
		l.Tally.Blocked += n
	case domain.Running:
		l.Tally.Running += n
		l.Tally.Stuck += c.int(3)
	case domain.Done:
		l.Tally.Done += n
		l.Timings = domain.Timings{Runs: n, Min: micros(c.int(4)), Max: micros(c.int(5)), Total: micros(c.int(6))}
	case domain.Dead:
		l.Tally.Dead += n
	case domain.Cancelled:
		l.Tally.Cancelled += n
	}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
