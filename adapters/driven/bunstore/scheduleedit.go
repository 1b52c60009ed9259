package bunstore

import (
	"context"

	"github.com/rowlock/rowlock/domain"
)

// listSchedulesText reads at most $4 schedules of the tenant $2 behind the name $3, or
// of the tenants behind $2: two reads, each from where it begins.
func listSchedulesText(d *Dialect, others bool) string {
	q := Select{
		Columns: scheduleColumns, From: d.Table("schedules"), Order: "j.name", Limit: "$4", Lock: Past, Index: "key",
		Where: "j.tenant = $2 AND j.name > $3",
	}
	if others {
		q.Where, q.Order = "j.tenant > $2", "j.tenant, j.name"
	}
	return d.Forms.Select(q)
}

// ListSchedules reads one page.
func (s *Store) ListSchedules(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) (all []domain.Schedule, err error) {
	switch limit = max(limit, 0); {
	case tenant == "":
	case after.Tenant > tenant:
		return nil, nil
	case after.Tenant < tenant:
		after = domain.ScheduleKey{Tenant: tenant}
	}
	err = s.read(ctx, "list schedules", func(ctx context.Context, c Conn) (err error) {
		all, err = s.schedules(ctx, c, s.t.schedules.list[0], nil, after.Tenant, after.Name, limit)
		if err != nil || len(all) >= limit || tenant != "" {
			return err
		}
		more, err := s.schedules(ctx, c, s.t.schedules.list[1], nil, after.Tenant, "", limit-len(all))
		all = append(all, more...)
		return err
	})
	return all, err
}

// Schedule reads one.
func (s *Store) Schedule(ctx context.Context, key domain.ScheduleKey) (found domain.Schedule, err error) {
	const op = "get schedule"
	err = s.read(ctx, op, func(ctx context.Context, c Conn) error {
		all, err := s.schedules(ctx, c, s.t.schedules.one, nil, schedKeyRows([]domain.ScheduleKey{key}))
		if err == nil && (len(all) == 0 || key.Name == "") {
			return noSchedule(op, key)
		}
		if err == nil {
			found = all[0]
		}
		return err
	})
	return found, err
}

func noSchedule(op string, key domain.ScheduleKey) error {
	return &domain.Fault{Code: domain.NotFound, Op: op, Subject: domain.CleanText(key.Name, domain.MaxSched), Hint: "there is no such schedule"}
}

// withSchedule has one schedule to itself.
func (s *Store) withSchedule(ctx context.Context, op string, key domain.ScheduleKey, do func(context.Context, Conn, domain.Schedule) error) error {
	return s.write(ctx, op, func(ctx context.Context, c Conn) error {
		found, err := s.schedules(ctx, c, s.t.schedules.lock, nil, schedKeyRows([]domain.ScheduleKey{key}))
		if err != nil {
			return err
		}
		if len(found) == 0 || key.Name == "" {
			return noSchedule(op, key)
		}
		return do(ctx, c, found[0])
	})
}

// PauseSchedule changes nothing where it is as asked.
func (s *Store) PauseSchedule(ctx context.Context, key domain.ScheduleKey, paused bool) error {
	return s.withSchedule(ctx, "pause schedule", key, func(ctx context.Context, c Conn, old domain.Schedule) error {
		if old.Paused == paused {
			return nil
		}
		var a Array
		a.Row().Text(key.Tenant).Text(key.Name).Int(bit(paused))
		_, err := s.exec(ctx, c, s.t.schedules.pause, s.now(), a.String())
		return err
	})
}

// DeleteSchedule removes one.
func (s *Store) DeleteSchedule(ctx context.Context, key domain.ScheduleKey) error {
	return s.withSchedule(ctx, "delete schedule", key, func(ctx context.Context, c Conn, _ domain.Schedule) error {
		_, err := s.exec(ctx, c, s.t.schedules.remove, nil, schedKeyRows([]domain.ScheduleKey{key}))
		return err
	})
}

// AddSchedule is one statement.
func (s *Store) AddSchedule(ctx context.Context, d domain.Schedule) error {
	const op = "add schedule"
	rows, err := scheduleRows(op, []declared{{Schedule: d}})
	if err != nil {
		return err
	}
	return s.one(ctx, op, func(ctx context.Context, c Conn) error {
		_, err := s.exec(ctx, c, s.t.schedules.add, s.now(), rows)
		if err != nil && s.d.Codes.Unique(err) {
			return &domain.Fault{
				Code: domain.Conflict, Op: op, Subject: domain.CleanText(d.Name, domain.MaxSched),
				Hint: "there is a schedule of this name: delete it first, or name this one otherwise", Err: err,
			}
		}
		return err
	})
}
