package bunstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rowlock/rowlock/domain"
)

// declared is a schedule to write; afresh: its next tick is to be found.
type declared struct {
	domain.Schedule
	afresh bool
}

// scheduleRows is the JSON text of schedules, for schedCols.
func scheduleRows(op string, all []declared) (string, error) {
	a := NewArray(400 * len(all))
	for i := range all {
		d := &all[i]
		job, err := d.Job.Text()
		if err != nil {
			return "", &domain.Fault{Code: domain.Invalid, Op: op, Subject: domain.CleanText(d.Name, domain.MaxSched), Hint: "its job cannot be written as JSON", Err: err}
		}
		a.Row().Text(d.Tenant).Text(d.Name).Text(d.Namespace).Text(d.Job.Kind).Text(d.Timing.Cron).Text(d.Timing.Zone).
			Int(MS(d.Timing.Every)).Int(int64(d.Missed.Policy)).Int(int64(d.Missed.Max)).Text(job).Int(bit(d.Paused)).Int(bit(d.afresh))
	}
	return a.String(), nil
}

// DeclareSchedules looks first without a lock: most starts change nothing. Those who
// change something do it one after another, so that the last of them holds.
func (s *Store) DeclareSchedules(ctx context.Context, namespace string, all []domain.Schedule) error {
	const op = "declare schedules"
	mine := make(map[domain.ScheduleKey]domain.Schedule, len(all))
	for _, d := range all {
		d.Namespace = namespace
		mine[d.ScheduleKey] = d
	}
	var ch declaration
	err := s.read(ctx, op, func(ctx context.Context, c Conn) (err error) {
		ch, err = s.declaration(ctx, c, namespace, mine, s.t.schedules.one)
		return err
	})
	if err != nil || ch.none() {
		return err
	}
	return s.write(ctx, op, func(ctx context.Context, c Conn) error {
		if err := s.guardSchedules(ctx, c, op); err != nil {
			return err
		}
		ch, err := s.declaration(ctx, c, namespace, mine, s.t.schedules.lock)
		if err != nil {
			return err
		}
		return s.declare(ctx, c, op, ch)
	})
}

// guardSchedules lets one at a time pass: it locks the row without a name, or makes it.
func (s *Store) guardSchedules(ctx context.Context, c Conn, op string) error {
	there := false
	err := s.each(ctx, c, s.t.schedules.guard, []any{nil, schedKeyRows([]domain.ScheduleKey{{}})}, func(*sql.Rows) error {
		there = true
		return nil
	})
	if err != nil || there {
		return err
	}
	return s.declare(ctx, c, op, declaration{add: []declared{{Schedule: domain.Schedule{Paused: true}}}})
}

// declaration is what a namespace's schedules change.
type declaration struct {
	add, set []declared
	gone     []domain.ScheduleKey
}

func (d *declaration) none() bool { return len(d.add)+len(d.set)+len(d.gone) == 0 }

// declaration compares what is stored, read in the order of its keys, with what there
// is to be.
func (s *Store) declaration(ctx context.Context, c Conn, namespace string, mine map[domain.ScheduleKey]domain.Schedule, read Stmt) (ch declaration, err error) {
	cell := newCells(2)
	var keys []domain.ScheduleKey
	err = s.each(ctx, c, s.t.schedules.owned, []any{nil, namespace}, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		keys = append(keys, domain.ScheduleKey{Tenant: cell.text(0), Name: cell.text(1)})
		return err
	})
	if err != nil {
		return ch, err
	}
	for key := range mine {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareSchedules)
	keys = slices.Compact(keys)
	there := make(map[domain.ScheduleKey]bool, len(keys))
	for _, part := range chunks(keys, s.d.Chunk, func(*domain.ScheduleKey) int { return 450 }) {
		found, err := s.schedules(ctx, c, read, nil, schedKeyRows(part))
		if err != nil {
			return ch, err
		}
		for i := range found {
			there[found[i].ScheduleKey] = true
			ch.judge(&found[i], namespace, mine)
		}
	}
	for _, key := range keys {
		if d, ok := mine[key]; ok && !there[key] {
			ch.add = append(ch.add, declared{d, true})
		}
	}
	return ch, nil
}

// judge says what becomes of a stored schedule.
func (d *declaration) judge(old *domain.Schedule, namespace string, mine map[domain.ScheduleKey]domain.Schedule) {
	want, named := mine[old.ScheduleKey]
	switch {
	case !named && old.Namespace == namespace:
		d.gone = append(d.gone, old.ScheduleKey)
	case named && (!old.Same(&want) || old.Broken != ""):
		d.set = append(d.set, declared{want, old.Broken != "" || !old.SameTiming(&want)})
	}
}

func (s *Store) declare(ctx context.Context, c Conn, op string, ch declaration) error {
	for _, some := range []struct {
		all []declared
		st  Stmt
	}{{ch.add, s.t.schedules.add}, {ch.set, s.t.schedules.set}} {
		for _, part := range chunks(some.all, s.d.Chunk, func(d *declared) int { return 1000 + len(d.Job.Args) }) {
			rows, err := scheduleRows(op, part)
			if err != nil {
				return err
			}
			if _, err := s.exec(ctx, c, some.st, s.now(), rows); err != nil {
				if s.d.Codes.Unique(err) { // added since we looked
					return &domain.Fault{Code: domain.Contended, Op: op, Hint: "a schedule of the same name was added meanwhile: try again", Err: err}
				}
				return err
			}
		}
	}
	for _, part := range chunks(ch.gone, s.d.Chunk, func(*domain.ScheduleKey) int { return 450 }) {
		if _, err := s.exec(ctx, c, s.t.schedules.remove, nil, schedKeyRows(part)); err != nil {
			return err
		}
	}
	return nil
}
