package mongostore_test

import (
	"cmp"
	"time"

	"github.com/rowlock/rowlock/domain"
)

const every = 10 * time.Minute

// ticking has a schedule that is due, and moves it as the application does.
func (w *world) ticking() (key domain.ScheduleKey, first time.Time, tick func() error) {
	w.Helper()
	key = domain.ScheduleKey{Name: "s"}
	d := domain.Schedule{ScheduleKey: key, Timing: domain.Timing{Every: every}, Job: domain.Template{Kind: plainKind, Queue: "default", Args: []byte(`1`)}}
	w.ok("add schedule", w.store.AddSchedule(w.Context(), d))
	tick = func() error {
		due, err := w.store.DueSchedules(w.Context(), []string{plainKind}, 10)
		for _, d := range due.All {
			t := domain.Tick{Key: d.ScheduleKey, Rev: d.Rev, From: d.NextAt, To: due.Now.Add(every), Fired: d.NextAt}
			if !d.NextAt.IsZero() {
				n := d.Job.Job(tickID(key, d.NextAt), "", domain.Due{})
				t.Jobs, t.To = []domain.NewJob{n}, d.NextAt.Add(every)
			}
			_, failed := w.store.Advance(w.Context(), t)
			err = cmp.Or(err, failed)
		}
		return err
	}
	w.ok("first tick", tick())
	found, err := w.store.Schedule(w.Context(), key)
	w.ok("schedule", err)
	return key, found.NextAt, tick
}

func tickID(key domain.ScheduleKey, at time.Time) domain.JobID {
	return domain.DeriveJobID(at, []byte(key.Name))
}

// ticked checks that each tick up to where the schedule stands has its job, and no
// other one has. Then it is deleted.
func (w *world) ticked(key domain.ScheduleKey, first time.Time) domain.Schedule {
	w.Helper()
	d, err := w.store.Schedule(w.Context(), key)
	w.ok("schedule", err)
	n := 0
	for at := first; at.Before(d.NextAt); at = at.Add(every) {
		w.ranOnce("the job of a tick", tickID(key, at))
		n++
	}
	all, err := w.store.Match(w.Context(), domain.Filter{}, domain.Page{Size: 100})
	w.ok("jobs", err)
	if len(all) != n {
		w.Fatalf("%d ticks have %d jobs", n, len(all))
	}
	w.ok("delete schedule", w.store.DeleteSchedule(w.Context(), key))
	return d
}

func brokenAdvance(w *world) (func() error, func()) {
	key, first, tick := w.ticking()
	w.clock.Advance(every)
	w.upkeep = func() { w.ok("tick", tick()) }
	w.check = func(bool) {
		if d := w.ticked(key, first); !d.NextAt.After(first) || d.LastAt.IsZero() {
			w.Fatalf("the schedule stands at %v, its last tick was %v", d.NextAt, d.LastAt)
		}
	}
	return tick, func() {
		if d, err := w.store.Schedule(w.Context(), key); err != nil || !d.NextAt.After(first) {
			w.Fatalf("the schedule did not move for those who came again: %v, %v", d.NextAt, err)
		}
	}
}

// brokenRedeclare gives an operator's schedule to an application, with another
// timing.
func brokenRedeclare(w *world) (func() error, func()) {
	key, _, tick := w.ticking()
	d, err := w.store.Schedule(w.Context(), key)
	w.ok("schedule", err)
	d.Timing.Every = 2 * every
	other := d
	other.Name = "other"
	w.ok("declare schedules", w.store.DeclareSchedules(w.Context(), "app", []domain.Schedule{other}))
	w.upkeep = func() { w.ok("tick", tick()) }
	w.check = func(again bool) {
		all, err := w.store.ListSchedules(w.Context(), "", domain.ScheduleKey{}, 10)
		w.ok("list schedules", err)
		if again && (len(all) != 1 || all[0].Timing.Every != 2*every || all[0].Namespace != "app") {
			w.Fatalf("schedules: %+v", all)
		}
		if jobs, err := w.store.Match(w.Context(), domain.Filter{}, domain.Page{}); err != nil || len(jobs) > 0 {
			w.Fatalf("no tick has come, and there are jobs: %v, %v", jobs, err)
		}
		w.ok("delete schedule", w.store.DeleteSchedule(w.Context(), key))
		w.ok("declare none", w.store.DeclareSchedules(w.Context(), "app", nil))
	}
	return func() error { return w.store.DeclareSchedules(w.Context(), "app", []domain.Schedule{d}) }, nothing
}
