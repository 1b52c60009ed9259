package conformance

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// plansDeclared worsens what is declared.
func plansDeclared(change func(context.Context, driven.Store, string, []domain.Schedule) []domain.Schedule) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onDeclareSchedules = func(ctx context.Context, ns string, all []domain.Schedule) error {
			return b.Store.DeclareSchedules(ctx, ns, change(ctx, b.Store, ns, slices.Clone(all)))
		}
	}
}

// afterDeclaring does something to each declared schedule that was there before.
func afterDeclaring(then func(ctx context.Context, s driven.Store, was domain.Schedule)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onDeclareSchedules = func(ctx context.Context, ns string, all []domain.Schedule) error {
			was := everyPlan(ctx, b.Store)
			err := b.Store.DeclareSchedules(ctx, ns, all)
			for _, old := range was {
				if slices.ContainsFunc(all, func(s domain.Schedule) bool { return s.ScheduleKey == old.ScheduleKey }) {
					then(ctx, b.Store, old)
				}
			}
			return err
		}
	}
}

func everyPlan(ctx context.Context, s driven.Store) []domain.Schedule {
	all, _ := s.ListSchedules(ctx, "", domain.ScheduleKey{}, 1000)
	return all
}

// dueAnswers worsens what is due.
func dueAnswers(ask func(kinds []string, limit int) ([]string, int), change func(context.Context, driven.Store, []string, int, *driven.DueSchedules)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onDueSchedules = func(ctx context.Context, kinds []string, limit int) (driven.DueSchedules, error) {
			asked, most := kinds, limit
			if ask != nil {
				asked, most = ask(kinds, limit)
			}
			got, err := b.Store.DueSchedules(ctx, asked, most)
			if change != nil {
				change(ctx, b.Store, kinds, limit, &got)
			}
			return got, err
		}
	}
}

// advancing worsens ticks and their answers.
func advancing(ask func(*domain.Tick), change func(context.Context, driven.Store, domain.Tick, *driven.Advanced) error) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onAdvance = func(ctx context.Context, t domain.Tick) (driven.Advanced, error) {
			if ask != nil {
				ask(&t)
			}
			got, err := b.Store.Advance(ctx, t)
			if err == nil && change != nil {
				err = change(ctx, b.Store, t, &got)
			}
			return got, err
		}
	}
}

func scheduleMutants() []mutant {
	return slices.Concat(declaredMutants(), dueMutants(), tickMutants(), planMutants())
}

func declaredMutants() []mutant {
	return []mutant{
		{"forgets no schedule", plansDeclared(func(ctx context.Context, s driven.Store, ns string, all []domain.Schedule) []domain.Schedule {
			for _, old := range everyPlan(ctx, s) {
				if old.Namespace == ns && !slices.ContainsFunc(all, func(d domain.Schedule) bool { return d.ScheduleKey == old.ScheduleKey }) {
					all = append(all, old)
				}
			}
			return all
		}), []string{"schedule/declare", "schedule/taken", "schedule/many", "schedule/race", "schedule/names"}},
		{"forgets everybody's schedules", plansDeclared(func(ctx context.Context, s driven.Store, _ string, all []domain.Schedule) []domain.Schedule {
			for _, old := range everyPlan(ctx, s) {
				if !slices.ContainsFunc(all, func(d domain.Schedule) bool { return d.ScheduleKey == old.ScheduleKey }) {
					_ = s.DeleteSchedule(ctx, old.ScheduleKey)
				}
			}
			return all
		}), []string{"schedule/declare", "schedule/taken", "schedule/names"}},
		{"loses the options of a schedule's job", plansDeclared(func(_ context.Context, _ driven.Store, _ string, all []domain.Schedule) []domain.Schedule {
			for i := range all {
				all[i].Job.Tags, all[i].Job.Timeout = nil, 0
			}
			return all
		}), []string{"schedule/declare"}},
		{"declares a hundred schedules", plansDeclared(func(_ context.Context, _ driven.Store, _ string, all []domain.Schedule) []domain.Schedule {
			return all[:min(len(all), 100)]
		}), []string{"schedule/many"}},
		{"folds the case of schedules", plansDeclared(func(_ context.Context, _ driven.Store, _ string, all []domain.Schedule) []domain.Schedule {
			for i := range all {
				all[i].Name, all[i].Tenant = strings.ToLower(all[i].Name), strings.ToLower(all[i].Tenant)
			}
			return all
		}), []string{"schedule/names", "schedule/taken"}},
		{"lets schedules go on that are declared again", afterDeclaring(func(ctx context.Context, s driven.Store, was domain.Schedule) {
			_ = s.PauseSchedule(ctx, was.ScheduleKey, false)
		}), []string{"schedule/declare", "schedule/changed", "schedule/taken"}},
		{"finds the next tick anew at each declaration", afterDeclaring(func(ctx context.Context, s driven.Store, was domain.Schedule) {
			_ = s.PauseSchedule(ctx, was.ScheduleKey, !was.Paused)
			_ = s.PauseSchedule(ctx, was.ScheduleKey, was.Paused)
			if was.Paused {
				return
			}
			_ = s.PauseSchedule(ctx, was.ScheduleKey, true)
			_ = s.PauseSchedule(ctx, was.ScheduleKey, false)
		}), []string{"schedule/changed", "schedule/declare"}},
		{"keeps the next tick of a timing that changed", afterDeclaring(func(ctx context.Context, s driven.Store, was domain.Schedule) {
			if now, err := s.Schedule(ctx, was.ScheduleKey); err == nil && now.NextAt.IsZero() && !was.NextAt.IsZero() {
				_, _ = s.Advance(ctx, domain.Tick{Key: now.ScheduleKey, Rev: now.Rev, To: was.NextAt})
			}
		}), []string{"schedule/changed"}},
		{"leaves a broken schedule as it is that is declared in the same words", afterDeclaring(func(ctx context.Context, s driven.Store, was domain.Schedule) {
			if now, err := s.Schedule(ctx, was.ScheduleKey); err == nil && now.Timing == was.Timing && was.Broken != "" {
				_, _ = s.Advance(ctx, domain.Tick{Key: now.ScheduleKey, Rev: now.Rev, From: now.NextAt, Broken: was.Broken})
			}
		}), []string{"schedule/broken"}},
		{"runs a schedule whose timing changed", afterDeclaring(func(ctx context.Context, s driven.Store, was domain.Schedule) {
			if now, err := s.Schedule(ctx, was.ScheduleKey); err == nil && now.Timing != was.Timing {
				_, _ = s.Insert(ctx, []domain.NewJob{now.Job.Job(domain.DeriveJobID(now.UpdatedAt, []byte("x")), "", domain.Due{})})
			}
		}), []string{"schedule/changed"}},
		{"refuses a name that another has", func(b *broken, _ *Harness) {
			b.onDeclareSchedules = func(ctx context.Context, ns string, all []domain.Schedule) error {
				for _, d := range all {
					if old, err := b.Store.Schedule(ctx, d.ScheduleKey); err == nil && old.Namespace != ns {
						return &domain.Fault{Code: domain.Conflict, Op: "declare"}
					}
				}
				return b.Store.DeclareSchedules(ctx, ns, all)
			}
		}, []string{"schedule/taken"}},
		{"looks for a schedule before it adds it", func(b *broken, _ *Harness) {
			b.onDeclareSchedules = func(ctx context.Context, ns string, all []domain.Schedule) error {
				for _, d := range all {
					_, err := b.Store.Schedule(ctx, d.ScheduleKey)
					wait(time.Millisecond)
					if d.Namespace = ns; err == nil {
						continue
					}
					if err := b.Store.AddSchedule(ctx, d); err != nil {
						return err
					}
				}
				return b.Store.DeclareSchedules(ctx, ns, all)
			}
		}, []string{"schedule/race"}},
	}
}

func dueMutants() []mutant {
	byName := func(a, b domain.Schedule) int { return cmp.Compare(a.Name, b.Name) }
	return []mutant{
		{"lists due schedules by name", dueAnswers(nil, func(_ context.Context, _ driven.Store, _ []string, _ int, got *driven.DueSchedules) {
			slices.SortFunc(got.All, byName)
		}), []string{"schedule/due"}},
		{"lists due schedules without a bound", dueAnswers(func(kinds []string, _ int) ([]string, int) { return kinds, 1000 }, nil), []string{"schedule/due"}},
		{"goes by Go's clock", dueAnswers(nil, func(_ context.Context, _ driven.Store, _ []string, _ int, got *driven.DueSchedules) {
			got.Now = system.Clock().Now().UTC()
		}), []string{"schedule/due"}},
		{"says nothing of the next tick", dueAnswers(nil, func(_ context.Context, _ driven.Store, _ []string, _ int, got *driven.DueSchedules) {
			got.Next = driven.NoNext
		}), []string{"schedule/due", "schedule/kinds"}},
		{"lists what is not due yet", dueAnswers(nil, func(ctx context.Context, s driven.Store, kinds []string, limit int, got *driven.DueSchedules) {
			for _, d := range everyPlan(ctx, s) {
				if d.NextAt.After(got.Now) && d.NextAt.Sub(got.Now) < 2*time.Minute && len(got.All) < limit && slices.Contains(kinds, d.Job.Kind) && !d.Paused {
					got.All = append(got.All, d)
				}
			}
		}), []string{"schedule/due"}},
		{"lists paused schedules", dueAnswers(nil, func(ctx context.Context, s driven.Store, _ []string, limit int, got *driven.DueSchedules) {
			for _, d := range everyPlan(ctx, s) {
				if d.Paused && !d.NextAt.After(got.Now) && len(got.All) < limit {
					got.All = append(got.All, d)
				}
			}
		}), []string{"schedule/paused", "schedule/resume"}},
		{"waits for paused schedules", dueAnswers(nil, func(ctx context.Context, s driven.Store, _ []string, _ int, got *driven.DueSchedules) {
			for _, d := range everyPlan(ctx, s) {
				if d.NextAt.After(got.Now) {
					got.Next = min(got.Next, d.NextAt.Sub(got.Now))
				}
			}
		}), []string{"schedule/paused", "schedule/kinds"}},
		{"lists broken schedules", dueAnswers(nil, func(ctx context.Context, s driven.Store, _ []string, limit int, got *driven.DueSchedules) {
			for _, d := range everyPlan(ctx, s) {
				if d.Broken != "" && len(got.All) < limit {
					got.All = append(got.All, d)
				}
			}
		}), []string{"schedule/paused", "schedule/broken"}},
		{"lists due schedules of every kind", dueAnswers(func([]string, int) ([]string, int) { return []string{kind, other}, 1000 }, nil), []string{"schedule/kinds"}},
		{"looks for kinds among the first that are due", dueAnswers(func(_ []string, limit int) ([]string, int) { return []string{kind, other}, limit },
			func(_ context.Context, _ driven.Store, kinds []string, _ int, got *driven.DueSchedules) {
				got.All = slices.DeleteFunc(got.All, func(d domain.Schedule) bool { return !slices.Contains(kinds, d.Job.Kind) })
			}), []string{"schedule/kinds"}},
	}
}

func tickMutants() []mutant {
	return []mutant{
		{"forgets the ticks that it skips", advancing(func(t *domain.Tick) { t.Skipped = 0 }, nil), []string{"schedule/tick"}},
		{"takes a tick without a job for the last one", advancing(nil, func(ctx context.Context, s driven.Store, t domain.Tick, got *driven.Advanced) error {
			if got.Moved && len(t.Jobs) == 0 && t.Broken == "" {
				if d, err := s.Schedule(ctx, t.Key); err == nil && !d.LastAt.IsZero() {
					_, err = s.Advance(ctx, domain.Tick{Key: t.Key, Rev: d.Rev, From: d.NextAt, To: d.NextAt, Fired: t.To, Jobs: []domain.NewJob{d.Job.Job(d.LastJob, "", domain.Due{})}})
					return err
				}
			}
			return nil
		}), []string{"schedule/tick"}},
		{"adds no job of a tick", advancing(func(t *domain.Tick) { t.Jobs = nil }, nil), []string{"schedule/tick", "schedule/once", "schedule/again", "schedule/delete"}},
		{"moves a schedule for whoever asks", func(b *broken, _ *Harness) {
			b.onAdvance = func(ctx context.Context, t domain.Tick) (driven.Advanced, error) {
				got, err := b.Store.Advance(ctx, t)
				if d, lost := b.Store.Schedule(ctx, t.Key); err == nil && lost == nil && !got.Moved {
					t.Rev, t.From = d.Rev, d.NextAt
					return b.Store.Advance(ctx, t)
				}
				return got, err
			}
		}, []string{"schedule/once", "schedule/changed", "schedule/paused", "schedule/broken", "schedule/again"}},
		{"adds the jobs of ticks that others took", advancing(nil, func(ctx context.Context, s driven.Store, t domain.Tick, got *driven.Advanced) error {
			if !got.Moved {
				_, _ = s.Insert(ctx, t.Jobs)
			}
			return nil
		}), []string{"schedule/once", "schedule/paused", "schedule/changed"}},
		{"fails where a tick's job is there", advancing(nil, func(_ context.Context, _ driven.Store, t domain.Tick, got *driven.Advanced) error {
			for _, a := range got.Jobs {
				if a.Result == domain.Existing {
					return &domain.Fault{Code: domain.Conflict, Op: "advance", Subject: t.Key.Name}
				}
			}
			return nil
		}), []string{"schedule/again"}},
		{"moves a schedule that it calls broken", func(b *broken, _ *Harness) {
			b.onAdvance = func(ctx context.Context, t domain.Tick) (driven.Advanced, error) {
				got, err := b.Store.Advance(ctx, t)
				if t.Broken != "" && got.Moved {
					_, _ = b.Store.Advance(ctx, domain.Tick{Key: t.Key, Rev: t.Rev, From: t.From, To: t.From.Add(long)})
				}
				return got, err
			}
		}, []string{"schedule/broken"}},
		{"forgets why a schedule is broken", func(b *broken, _ *Harness) {
			b.onSchedule = func(ctx context.Context, key domain.ScheduleKey) (domain.Schedule, error) {
				d, err := b.Store.Schedule(ctx, key)
				d.Broken = ""
				return d, err
			}
		}, []string{"schedule/broken"}},
	}
}

func planMutants() []mutant {
	return []mutant{
		{"overwrites a schedule that is there", func(b *broken, _ *Harness) {
			b.onAddSchedule = func(ctx context.Context, d domain.Schedule) error {
				_ = b.Store.DeleteSchedule(ctx, d.ScheduleKey)
				return b.Store.AddSchedule(ctx, d)
			}
		}, []string{"schedule/add"}},
		{"goes on from where it was paused", func(b *broken, _ *Harness) {
			b.onPauseSchedule = func(ctx context.Context, key domain.ScheduleKey, paused bool) error {
				was, _ := b.Store.Schedule(ctx, key)
				err := b.Store.PauseSchedule(ctx, key, paused)
				if now, lost := b.Store.Schedule(ctx, key); lost == nil && !was.NextAt.IsZero() && now.NextAt.IsZero() {
					_, _ = b.Store.Advance(ctx, domain.Tick{Key: key, Rev: now.Rev, To: was.NextAt})
				}
				return err
			}
		}, []string{"schedule/resume"}},
		{"disturbs a schedule that is not paused", func(b *broken, _ *Harness) {
			b.onPauseSchedule = func(ctx context.Context, key domain.ScheduleKey, paused bool) error {
				_ = b.Store.PauseSchedule(ctx, key, !paused)
				return b.Store.PauseSchedule(ctx, key, paused)
			}
		}, []string{"schedule/resume"}},
		{"is content with schedules that are not there", func(b *broken, _ *Harness) {
			b.onPauseSchedule = func(ctx context.Context, key domain.ScheduleKey, paused bool) error {
				_ = b.Store.PauseSchedule(ctx, key, paused)
				return nil
			}
			b.onDeleteSchedule = func(ctx context.Context, key domain.ScheduleKey) error {
				_ = b.Store.DeleteSchedule(ctx, key)
				return nil
			}
		}, []string{"schedule/resume", "schedule/delete", "tenancy/schedules"}},
		{"deletes the jobs of a schedule too", func(b *broken, _ *Harness) {
			b.onDeleteSchedule = func(ctx context.Context, key domain.ScheduleKey) error {
				d, _ := b.Store.Schedule(ctx, key)
				_, _ = b.Store.Delete(ctx, driven.EditRequest{IDs: []domain.JobID{d.LastJob}})
				return b.Store.DeleteSchedule(ctx, key)
			}
		}, []string{"schedule/delete"}},
		{"lists every tenant's schedules", func(b *broken, _ *Harness) {
			b.onListSchedules = func(ctx context.Context, _ string, after domain.ScheduleKey, limit int) ([]domain.Schedule, error) {
				return b.Store.ListSchedules(ctx, "", after, limit)
			}
		}, []string{"schedule/find", "tenancy/schedules"}},
		{"lists schedules by name alone", func(b *broken, _ *Harness) {
			b.onListSchedules = func(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) ([]domain.Schedule, error) {
				all, err := b.Store.ListSchedules(ctx, tenant, after, limit)
				slices.SortStableFunc(all, func(a, b domain.Schedule) int { return cmp.Compare(a.Name, b.Name) })
				return all, err
			}
		}, []string{"schedule/find"}},
		{"finds another tenant's schedules", func(b *broken, _ *Harness) {
			b.onSchedule = func(ctx context.Context, key domain.ScheduleKey) (domain.Schedule, error) {
				for _, d := range everyPlan(ctx, b.Store) {
					if d.Name == key.Name {
						return d, nil
					}
				}
				return b.Store.Schedule(ctx, key)
			}
		}, []string{"schedule/find", "schedule/delete", "tenancy/schedules"}},
	}
}
