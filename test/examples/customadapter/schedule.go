package customadapter

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) DeclareSchedules(ctx context.Context, namespace string, all []domain.Schedule) error {
	return s.do(ctx, "declare schedules", func(t *tx) error {
		named := map[domain.ScheduleKey]bool{}
		for _, d := range all {
			named[d.ScheduleKey], d.Namespace = true, namespace
			t.declare(d)
		}
		for key, old := range t.plans {
			if old.Namespace == namespace && !named[key] {
				t.putPlan(old, true)
			}
		}
		return nil
	})
}

// declare keeps what became of a schedule that is there.
func (t *tx) declare(d domain.Schedule) {
	old, ok := t.plans[d.ScheduleKey]
	switch {
	case !ok:
		t.addPlan(d)
		return
	case old.Same(&d) && old.Broken == "":
		return
	case !old.SameTiming(&d) || old.Broken != "":
		old.NextAt = time.Time{}
	}
	old.Namespace, old.Timing, old.Missed, old.Job, old.Broken = d.Namespace, d.Timing, d.Missed, copyTemplate(d.Job), ""
	t.editPlan(old)
}

// addPlan writes a schedule whose first tick is to be found.
func (t *tx) addPlan(d domain.Schedule) {
	t.putPlan(domain.Schedule{
		ScheduleKey: d.ScheduleKey, Namespace: d.Namespace, Timing: d.Timing, Missed: d.Missed, Job: copyTemplate(d.Job), Paused: d.Paused,
		Rev: 1, CreatedAt: t.now, UpdatedAt: t.now,
	}, false)
}

// editPlan writes a change that is no tick: one that was seen before it moves nothing.
func (t *tx) editPlan(p domain.Schedule) {
	p.Rev++
	p.UpdatedAt = t.now
	t.putPlan(p, false)
}

func copyPlan(p domain.Schedule) domain.Schedule {
	p.Job = copyTemplate(p.Job)
	return p
}

func byKey(a, b domain.Schedule) int { return compareKeys(a.ScheduleKey, b.ScheduleKey) }

func compareKeys(a, b domain.ScheduleKey) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
}

func (s *store) DueSchedules(ctx context.Context, kinds []string, limit int) (answer driven.DueSchedules, err error) {
	err = s.do(ctx, "list due schedules", func(t *tx) error {
		answer.Now, answer.Next = t.now, driven.NoNext
		for _, p := range t.plans {
			switch {
			case p.Paused || p.Broken != "" || !slices.Contains(kinds, p.Job.Kind):
			case p.NextAt.After(t.now):
				answer.Next = min(answer.Next, p.NextAt.Sub(t.now))
			default:
				answer.All = append(answer.All, copyPlan(p))
			}
		}
		slices.SortFunc(answer.All, func(a, b domain.Schedule) int { return cmp.Or(a.NextAt.Compare(b.NextAt), byKey(a, b)) })
		answer.All = answer.All[:min(limit, len(answer.All))]
		return nil
	})
	return answer, err
}

// Advance compares what the caller saw with what is there, and moves on.
func (s *store) Advance(ctx context.Context, tick domain.Tick) (answer driven.Advanced, err error) {
	err = s.do(ctx, "advance schedule", func(t *tx) error {
		p, ok := t.plans[tick.Key]
		if answer.Moved = ok && p.Rev == tick.Rev && p.NextAt.Equal(tick.From); !answer.Moved {
			return nil
		}
		if tick.Broken != "" {
			p.Broken = tick.Broken
			t.putPlan(p, false)
			return nil
		}
		if answer.Jobs, err = t.insert(tick.Jobs); err != nil {
			return err
		}
		p.NextAt, p.Skipped = cut(tick.To), p.Skipped+tick.Skipped
		if n := len(tick.Jobs); n > 0 {
			p.LastAt, p.LastJob = cut(tick.Fired), tick.Jobs[n-1].ID
		}
		t.putPlan(p, false)
		return nil
	})
	return answer, err
}

func (s *store) AddSchedule(ctx context.Context, d domain.Schedule) error {
	const op = "add schedule"
	return s.do(ctx, op, func(t *tx) error {
		if _, taken := t.plans[d.ScheduleKey]; taken {
			return &domain.Fault{Code: domain.Conflict, Op: op, Subject: d.Name, Hint: "there is a schedule of this name"}
		}
		t.addPlan(d)
		return nil
	})
}

func (s *store) PauseSchedule(ctx context.Context, key domain.ScheduleKey, paused bool) error {
	return s.onPlan(ctx, "pause schedule", key, func(t *tx, p domain.Schedule) {
		if p.Paused == paused {
			return
		}
		if p.Paused = paused; !paused {
			p.NextAt = time.Time{} // what passed meanwhile is not missed
		}
		t.editPlan(p)
	})
}

func (s *store) DeleteSchedule(ctx context.Context, key domain.ScheduleKey) error {
	return s.onPlan(ctx, "delete schedule", key, func(t *tx, p domain.Schedule) { t.putPlan(p, true) })
}

func (s *store) Schedule(ctx context.Context, key domain.ScheduleKey) (found domain.Schedule, err error) {
	err = s.onPlan(ctx, "get schedule", key, func(_ *tx, p domain.Schedule) { found = copyPlan(p) })
	return found, err
}

// onPlan does something with one schedule.
func (s *store) onPlan(ctx context.Context, op string, key domain.ScheduleKey, do func(*tx, domain.Schedule)) error {
	return s.do(ctx, op, func(t *tx) error {
		p, ok := t.plans[key]
		if !ok {
			return &domain.Fault{Code: domain.NotFound, Op: op, Subject: key.Name, Hint: "there is no such schedule"}
		}
		do(t, p)
		return nil
	})
}

func (s *store) ListSchedules(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) (all []domain.Schedule, err error) {
	err = s.do(ctx, "list schedules", func(t *tx) error {
		for key, p := range t.plans {
			if (tenant == "" || key.Tenant == tenant) && compareKeys(key, after) > 0 {
				all = append(all, copyPlan(p))
			}
		}
		slices.SortFunc(all, byKey)
		all = all[:min(limit, len(all))]
		return nil
	})
	return all, err
}
