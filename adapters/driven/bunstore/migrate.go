package bunstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// migrator installs the steps of one dialect. Each step and its record are one
// transaction under Alone: of any number of callers one works at a time, and each
// looks anew what is left to do.
type migrator struct{ s *Store }

// record is a row of the table of migrations. It holds nothing of a user's, so
// bun may write it into the text.
type record struct {
	Number    int    `bun:"number,pk"`
	Name      string `bun:"name"`
	AppliedAt int64  `bun:"applied_at"`
}

// Migrator is the store's schema.
func (s *Store) Migrator() driven.Migrator { return migrator{s} }

// Up applies what is not applied, up to a number. To find everything applied
// takes no lock, and no more rights than to work.
func (m migrator) Up(ctx context.Context, to int) ([]driven.Step, error) {
	steps, err := m.steps(to)
	if err != nil {
		return nil, err
	}
	before, err := m.Status(ctx)
	if err != nil {
		return nil, err
	}
	var done []driven.Step
	for i, st := range steps {
		if to != 0 && st.number > to {
			break
		}
		if !before[i].AppliedAt.IsZero() {
			continue
		}
		at, err := m.move(ctx, st, true)
		if err != nil {
			return done, err
		}
		if !at.IsZero() {
			done = append(done, driven.Step{Number: st.number, Name: st.name, AppliedAt: at})
		}
	}
	return done, nil
}

// Down takes back the steps above a number, the newest first.
func (m migrator) Down(ctx context.Context, to int) ([]driven.Step, error) {
	steps, err := m.steps(to)
	if err != nil {
		return nil, err
	}
	var done []driven.Step
	for i := len(steps) - 1; i >= 0 && steps[i].number > to; i-- {
		at, err := m.move(ctx, steps[i], false)
		if err != nil {
			return done, err
		}
		if !at.IsZero() {
			done = append(done, driven.Step{Number: steps[i].number, Name: steps[i].name, AppliedAt: at})
		}
	}
	return done, nil
}

// steps reads the files and checks the number asked for.
func (m migrator) steps(to int) ([]step, error) {
	steps, err := loadSteps(&m.s.d)
	if err != nil {
		return nil, err
	}
	if to < 0 || to > len(steps) {
		return nil, &domain.Fault{Code: domain.NotFound, Op: "migrate", Subject: fmt.Sprint(to), Hint: fmt.Sprintf("the steps are 1 to %d", len(steps))}
	}
	return steps, nil
}

// move applies a step or takes it back and answers when it was applied; the zero
// time where there was nothing to do. A step is applied when its record and its
// tables are there: one that lost a table is applied again.
func (m migrator) move(ctx context.Context, st step, up bool) (at time.Time, err error) {
	err = m.s.e.Alone(ctx, func(ctx context.Context, c Conn) error {
		at = time.Time{}
		if err := m.book(ctx, c); err != nil {
			return err
		}
		applied, err := m.applied(ctx, c)
		if err != nil {
			return err
		}
		was, recorded := applied[st.number]
		there := recorded
		if up && recorded {
			if there, err = m.whole(ctx, c, st); err != nil {
				return err
			}
		}
		if there == up {
			return nil
		}
		list := m.statements(st, up, recorded)
		if !up && len(applied) == 1 { // the last one: nothing of ours stays behind
			list = append(list, statement{text: "DROP TABLE " + m.s.d.Table("migrations")})
		}
		for _, one := range list {
			if err := m.run(ctx, c, one); err != nil {
				return err
			}
		}
		if at = was; up {
			applied, err = m.applied(ctx, c)
			at = applied[st.number]
		}
		return err
	})
	return at, m.s.faultOf(ctx, fmt.Sprintf("migrate step %d", st.number), err, nil)
}

// statements are those of a step, and of its record.
func (m migrator) statements(st step, up, recorded bool) []statement {
	switch {
	case !up:
		return append(slices.Clone(st.down), statement{text: m.remove(st)})
	case recorded:
		return st.up
	}
	return append(slices.Clone(st.up), statement{text: m.insert(st)})
}

// whole says whether the tables of a step are there.
func (m migrator) whole(ctx context.Context, c Conn, st step) (bool, error) {
	for _, name := range st.tables {
		if there, err := m.s.hasTable(ctx, c, name); err != nil || !there {
			return false, err
		}
	}
	return true, nil
}

// run executes one statement, unless its work is done already.
func (m migrator) run(ctx context.Context, c Conn, one statement) error {
	if one.unless != "" {
		done := false
		err := m.s.each(ctx, c, Stmt{Text: one.unless}, nil, func(*sql.Rows) error {
			done = true
			return nil
		})
		if err != nil || done {
			return err
		}
	}
	_, err := c.ExecContext(ctx, one.text)
	if err == nil {
		return nil
	}
	code, hint := m.s.d.Codes.Of(err)
	if hint == "" {
		hint = "the database refused this statement; what was done of the step is undone or repeatable"
	}
	first, _, _ := strings.Cut(one.text, "\n")
	return &domain.Fault{Code: code, Op: "migrate", Subject: domain.CleanText(first, 120), Hint: hint, Err: err}
}

// book creates the table of migrations where it is not there.
func (m migrator) book(ctx context.Context, c Conn) error {
	there, err := m.s.hasTable(ctx, c, m.s.d.Prefix+"migrations")
	if err != nil || there {
		return err
	}
	return m.run(ctx, c, statement{text: m.s.d.Moves.Book})
}

func (m migrator) table() bun.Safe { return bun.Safe(m.s.d.Table("migrations")) }

func (m migrator) insert(st step) string {
	return m.s.d.Build.NewInsert().Model(&record{Number: st.number, Name: st.name}).
		Value("applied_at", "?", bun.Safe(strings.ReplaceAll(m.s.d.Words.Now, "$1", "NULL"))).
		ModelTableExpr("?", m.table()).String()
}

func (m migrator) remove(st step) string {
	return m.s.d.Build.NewDelete().TableExpr("?", m.table()).Where("number = ?", st.number).String()
}

// applied reads the records; none where the table is not there.
func (m migrator) applied(ctx context.Context, c Conn) (map[int]time.Time, error) {
	there, err := m.s.hasTable(ctx, c, m.s.d.Prefix+"migrations")
	if err != nil || !there {
		return nil, err
	}
	text := m.s.d.Build.NewSelect().Column("number", "applied_at").TableExpr("?", m.table()).String()
	rows, err := c.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	applied, cell := map[int]time.Time{}, newCells(2)
	err = Drain(rows, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		applied[int(cell.int(0))] = fromMoment(cell.int(1))
		return err
	})
	return applied, err
}

// Status lists every step with what is known of it.
func (m migrator) Status(ctx context.Context) ([]driven.Step, error) {
	steps, err := m.steps(0)
	if err != nil {
		return nil, err
	}
	var applied map[int]time.Time
	err = m.s.read(ctx, "read migrations", func(ctx context.Context, c Conn) (err error) {
		if applied, err = m.applied(ctx, c); err != nil {
			return err
		}
		for _, st := range steps {
			whole, err := m.whole(ctx, c, st)
			if err != nil {
				return err
			}
			if !whole {
				delete(applied, st.number)
			}
		}
		return nil
	})
	out := make([]driven.Step, len(steps))
	for i, st := range steps {
		out[i] = driven.Step{Number: st.number, Name: st.name, AppliedAt: applied[st.number]}
	}
	return out, err
}

// Print gives the statements of a step, or of all.
func (m migrator) Print(number int) (string, error) {
	steps, err := m.steps(number)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if number <= 1 {
		b.WriteString(m.s.d.Moves.Book + ";\n" + m.s.d.Moves.Batch + "\n")
	}
	for _, st := range steps {
		if number == 0 || st.number == number {
			b.WriteString(st.print(m.insert(st), m.s.d.Moves.Batch) + "\n")
		}
	}
	return b.String(), nil
}
