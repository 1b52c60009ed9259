package bunstore

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/domain"
)

type switchTexts struct{ add, remove, list Stmt }

func newSwitchTexts(d *Dialect) switchTexts {
	table := d.Table("switches")
	return switchTexts{
		add:    d.Marks.Compile("INSERT INTO " + table + " (sort, name, since) VALUES ($2, $3, " + d.Words.Now + ")"),
		remove: d.Marks.Compile("DELETE FROM " + table + " WHERE sort = $2 AND name = $3"),
		list:   d.Marks.Compile(d.Forms.Select(Select{Columns: "j.sort, j.name, j.since", From: table, Where: "j.sort >= 0", Order: "j.sort, j.name", Limit: "$2"})),
	}
}

// Pause leaves the row of one that is paused already as it is.
func (s *Store) Pause(ctx context.Context, x domain.Switch) error {
	there := false
	err := s.write(ctx, "pause", func(ctx context.Context, c Conn) error {
		_, err := s.exec(ctx, c, s.t.switches.add, s.now(), int(x.Sort), x.Name)
		there = s.d.Codes.Unique(err)
		return err
	})
	if there {
		return nil
	}
	return err
}

// Resume removes the row.
func (s *Store) Resume(ctx context.Context, x domain.Switch) error {
	return s.write(ctx, "resume", func(ctx context.Context, c Conn) error {
		_, err := s.exec(ctx, c, s.t.switches.remove, s.now(), int(x.Sort), x.Name)
		return err
	})
}

// Paused lists the rows.
func (s *Store) Paused(ctx context.Context, limit int) (all []domain.Paused, err error) {
	err = s.read(ctx, "list paused", func(ctx context.Context, c Conn) error {
		cell := newCells(3)
		return s.each(ctx, c, s.t.switches.list, []any{s.now(), max(limit, 0)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			x := domain.Switch{Sort: domain.SwitchSort(cell.int(0)), Name: cell.text(1)}
			all = append(all, domain.Paused{Switch: x, Since: fromMoment(cell.int(2))})
			return err
		})
	})
	return all, err
}
