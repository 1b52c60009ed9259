package bunstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// goneBound is how many of them one beat forgets.
const goneBound = 100

// goneAfter is how long a runner that fell silent stays in the table, in milliseconds.
const goneAfter = "3600000"

type runnerTexts struct{ remove, gone, forget, add, list Stmt }

func newRunnerTexts(d *Dialect) runnerTexts {
	now, table := d.Words.Now, d.Table("runners")
	gone := "lives_to < " + now + " - " + goneAfter
	return runnerTexts{
		remove: d.Marks.Compile("DELETE FROM " + table + " WHERE id = $2"),
		gone: d.Marks.Compile(d.Forms.Select(Select{
			Columns: "j.id", From: table, Where: "j." + gone, Order: "j.id", Limit: "$2", Lock: Past,
		})),
		forget: d.Marks.Compile("DELETE FROM " + table + " WHERE id = $2 AND " + gone),
		add: d.Marks.Compile("INSERT INTO " + table + " (id, kinds, queues, started_at, seen_at, lives_to) VALUES ($2, $3, $4, $5, " +
			now + ", " + now + " + $6)"),
		list: d.Marks.Compile(d.Forms.Select(Select{
			Columns: "j.id, j.kinds, j.queues, j.started_at, j.seen_at", From: table,
			Where: "j.lives_to > " + now, Order: "j.id", Limit: "$2",
		})),
	}
}

// Beat writes the runner's row anew and forgets those that fell silent long ago.
// Those are looked for first and removed by their ids: a DELETE that searches
// would wait for every runner that beats at that moment.
func (s *Store) Beat(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error {
	return s.write(ctx, "beat", func(ctx context.Context, c Conn) error {
		if _, err := s.exec(ctx, c, s.t.runners.remove, s.now(), r.ID); err != nil {
			return err
		}
		if _, err := s.exec(ctx, c, s.t.runners.add, s.now(), r.ID, Names(r.Kinds), Names(r.Queues), moment(r.StartedAt), MS(ttl)); err != nil {
			return err
		}
		return s.forgetGone(ctx, c)
	})
}

func (s *Store) forgetGone(ctx context.Context, c Conn) error {
	var gone []string
	cell := newCells(1)
	err := s.each(ctx, c, s.t.runners.gone, []any{s.now(), goneBound}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		gone = append(gone, cell.text(0))
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range gone {
		if _, err := s.exec(ctx, c, s.t.runners.forget, s.now(), id); err != nil {
			return err
		}
	}
	return nil
}

// Leave removes the runner's row.
func (s *Store) Leave(ctx context.Context, id string) error {
	return s.write(ctx, "leave", func(ctx context.Context, c Conn) error {
		_, err := s.exec(ctx, c, s.t.runners.remove, s.now(), id)
		return err
	})
}

// ListRunners lists who lives.
func (s *Store) ListRunners(ctx context.Context, limit int) (out []domain.RunnerInfo, err error) {
	cell := newCells(5)
	err = s.read(ctx, "list runners", func(ctx context.Context, c Conn) error {
		return s.each(ctx, c, s.t.runners.list, []any{s.now(), limit}, func(rows *sql.Rows) error {
			if err := cell.scan(rows); err != nil {
				return err
			}
			r := domain.RunnerInfo{ID: cell.text(0), StartedAt: fromMoment(cell.int(3)), SeenAt: fromMoment(cell.int(4))}
			_ = json.Unmarshal(cell.bytes(1), &r.Kinds) // what cannot be read shows as none
			_ = json.Unmarshal(cell.bytes(2), &r.Queues)
			out = append(out, r)
			return nil
		})
	})
	return out, err
}

// Names is a list of names as a JSON array.
func Names(list []string) string {
	b := []byte{'['}
	for i, name := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, name)
	}
	return string(append(b, ']'))
}
