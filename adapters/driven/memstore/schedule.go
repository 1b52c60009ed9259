package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) DeclareSchedules(ctx context.Context, namespace string, all []domain.Schedule) error {
	return s.do(ctx, "declare schedules", func(now time.Time) error {
		named := make(map[domain.ScheduleKey]bool, len(all))
		for i := range all {
			named[all[i].ScheduleKey] = true
			s.declareSchedule(namespace, all[i], now)
		}
		for key, old := range s.schedules {
			if old.Namespace == namespace && !named[key] {
				delete(s.schedules, key)
			}
		}
		return nil
	})
}

func (s *store) declareSchedule(namespace string, d domain.Schedule, now time.Time) {
	d.Namespace, d.Job = namespace, copyTemplate(d.Job)
	old := s.schedules[d.ScheduleKey]
	if old == nil {
		s.schedules[d.ScheduleKey] = freshSchedule(d, now)
		return
	}
	if old.Same(&d) && old.Broken == "" {
		return
	}
	if !old.SameTiming(&d) || old.Broken != "" {
		old.NextAt = time.Time{}
	}
	old.Namespace, old.Timing, old.Missed, old.Job, old.Broken = d.Namespace, d.Timing, d.Missed, d.Job, ""
	old.Rev++
	old.UpdatedAt = now
}

// freshSchedule is a row whose first tick is to be found.
func freshSchedule(d domain.Schedule, now time.Time) *domain.Schedule {
	return &domain.Schedule{
		ScheduleKey: d.ScheduleKey, Namespace: d.Namespace, Timing: d.Timing, Missed: d.Missed, Job: copyTemplate(d.Job),
		Paused: d.Paused, Rev: 1, CreatedAt: now, UpdatedAt: now,
	}
}

func (s *store) DueSchedules(ctx context.Context, kinds []string, limit int) (answer driven.DueSchedules, err error) {
	err = s.do(ctx, "list due schedules", func(now time.Time) error {
		answer.Now, answer.Next = now, driven.NoNext
		for _, d := range s.schedules {
			switch {
			case d.Paused || d.Broken != "" || !slices.Contains(kinds, d.Job.Kind):
			case d.NextAt.After(now):
				answer.Next = min(answer.Next, d.NextAt.Sub(now))
			default:
				answer.All = append(answer.All, copySchedule(d))
			}
		}
		slices.SortFunc(answer.All, func(a, b domain.Schedule) int {
			return cmp.Or(a.NextAt.Compare(b.NextAt), compareKeys(a.ScheduleKey, b.ScheduleKey))
		})
		answer.All = answer.All[:min(max(limit, 0), len(answer.All))]
		return nil
	})
	return answer, err
}

// copySchedule gives a schedule out.
func copySchedule(d *domain.Schedule) domain.Schedule {
	given := *d
	given.Job = copyTemplate(d.Job)
	return given
}

func compareKeys(a, b domain.ScheduleKey) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
}

func (s *store) Advance(ctx context.Context, t domain.Tick) (answer driven.Advanced, err error) {
	err = s.do(ctx, "advance schedule", func(now time.Time) error {
		d := s.schedules[t.Key]
		if d == nil || d.Rev != t.Rev || !d.NextAt.Equal(cut(t.From)) && !(d.NextAt.IsZero() && t.From.IsZero()) {
			return nil
		}
		if t.Broken != "" {
			d.Broken, answer.Moved = t.Broken, true
			return nil
		}
		tx := &Tx{store: s}
		if answer.Jobs, err = tx.insert(t.Jobs, now); err != nil {
			return err
		}
		tx.publish()
		d.NextAt, d.Skipped, answer.Moved = cut(t.To), d.Skipped+t.Skipped, true
		if n := len(t.Jobs); n > 0 {
			d.LastAt, d.LastJob = cut(t.Fired), t.Jobs[n-1].ID
		}
		return nil
	})
	return answer, err
}

func (s *store) AddSchedule(ctx context.Context, d domain.Schedule) error {
	const op = "add schedule"
	return s.do(ctx, op, func(now time.Time) error {
		if s.schedules[d.ScheduleKey] != nil {
			return &domain.Fault{Code: domain.Conflict, Op: op, Subject: d.Name, Hint: "there is a schedule of this name: delete it first, or name this one otherwise"}
		}
		s.schedules[d.ScheduleKey] = freshSchedule(d, now)
		return nil
	})
}

func (s *store) PauseSchedule(ctx context.Context, key domain.ScheduleKey, paused bool) error {
	return s.editSchedule(ctx, "pause schedule", key, func(d *domain.Schedule, now time.Time) {
		if d.Paused == paused {
			return
		}
		if d.Paused = paused; !paused {
			d.NextAt = time.Time{}
		}
		d.Rev++
		d.UpdatedAt = now
	})
}

func (s *store) DeleteSchedule(ctx context.Context, key domain.ScheduleKey) error {
	return s.editSchedule(ctx, "delete schedule", key, func(*domain.Schedule, time.Time) { delete(s.schedules, key) })
}

func (s *store) Schedule(ctx context.Context, key domain.ScheduleKey) (found domain.Schedule, err error) {
	err = s.editSchedule(ctx, "get schedule", key, func(d *domain.Schedule, _ time.Time) { found = copySchedule(d) })
	return found, err
}

// editSchedule has one schedule to itself.
func (s *store) editSchedule(ctx context.Context, op string, key domain.ScheduleKey, do func(*domain.Schedule, time.Time)) error {
	return s.do(ctx, op, func(now time.Time) error {
		d := s.schedules[key]
		if d == nil {
			return &domain.Fault{Code: domain.NotFound, Op: op, Subject: key.Name, Hint: "there is no such schedule"}
		}
		do(d, now)
		return nil
	})
}

func (s *store) ListSchedules(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) (all []domain.Schedule, err error) {
	err = s.do(ctx, "list schedules", func(time.Time) error {
		for key, d := range s.schedules {
			if (tenant == "" || key.Tenant == tenant) && compareKeys(key, after) > 0 {
				all = append(all, copySchedule(d))
			}
		}
		slices.SortFunc(all, func(a, b domain.Schedule) int { return compareKeys(a.ScheduleKey, b.ScheduleKey) })
		all = all[:min(max(limit, 0), len(all))]
		return nil
	})
	return all, err
}
