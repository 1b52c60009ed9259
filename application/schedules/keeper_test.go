package schedules_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Four keepers on a store whose clock goes slower than theirs, so that their timers all
// fire early: one job for each tick of the store's time.
func TestATickHasOneJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := open(t, func() time.Time { return began.Add(time.Since(began) * 9 / 10) })
		var e ears
		var stops []func()
		for range 4 {
			stops = append(stops, keep(t, s, &e, "app", schedule(t, "often", schedules.Every(5*time.Second)), schedule(t, "hourly", schedules.Cron("0 * * * *", "Europe/Vienna"))))
		}
		time.Sleep(100*time.Minute + 200*time.Millisecond)
		synctest.Wait()
		const minutes = 90 // of the store
		if got, want := jobs(t, s), minutes*60/5+1; got != want {
			t.Errorf("%d jobs in %d min, want %d", got, minutes, want)
		}
		if got := len(e.heard(domain.EventScheduleFired)); got != minutes*60/5+1 {
			t.Errorf("%d events", got)
		}
		if skipped := e.heard(domain.EventScheduleSkipped); len(skipped) > 0 {
			t.Errorf("skipped: %+v", skipped[0])
		}
		if looks := s.lookCount(); looks > 4*100*60*3 {
			t.Errorf("%d looks", looks)
		}
		for _, stop := range stops {
			stop()
		}
	})
}

func TestAWeeklyIntervalOutlivesDailyRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		time.Sleep(30 * time.Minute)
		for range 15 { // at midnight, when its ticks are, nobody is there
			stop := keepWith(t, schedules.Config{Namespace: "app", Poll: time.Minute}, s, nil, schedule(t, "weekly", schedules.Every(7*24*time.Hour)))
			time.Sleep(23 * time.Hour)
			stop()
			time.Sleep(time.Hour)
		}
		if got := jobs(t, s); got != 2 {
			t.Errorf("%d runs in 15 days, want 2", got)
		}
	})
}

func TestAfterTwelveHoursDown(t *testing.T) {
	for name, c := range map[string]struct {
		when    schedules.When
		jobs    int
		skipped int
	}{
		"once": {schedules.Every(5 * time.Minute), 200, 200 * 143},
		"skip": {schedules.Every(5 * time.Minute).SkipMissed(), 0, 200 * 144},
		"all":  {schedules.Every(5 * time.Minute).AllMissed(3), 600, 200 * 141},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, time.Now)
			var all []domain.Schedule
			for i := range 200 {
				all = append(all, schedule(t, fmt.Sprint("schedule ", i), c.when))
			}
			stop := keep(t, s, nil, "app", all...)
			time.Sleep(2 * time.Minute)
			stop()
			time.Sleep(12 * time.Hour)
			var e ears
			stop = keep(t, s, &e, "app", all...)
			time.Sleep(time.Minute)
			stop()
			if got := jobs(t, s); got != c.jobs {
				t.Errorf("%s: %d jobs, want %d", name, got, c.jobs)
			}
			skipped := 0
			for _, event := range e.heard(domain.EventScheduleSkipped) {
				skipped += event.Count
			}
			if skipped != c.skipped {
				t.Errorf("%s: %d skipped, want %d", name, skipped, c.skipped)
			}
			if row := find(t, s, "schedule 7"); int(row.Skipped)*200 != c.skipped || !row.NextAt.After(time.Now().Add(time.Minute)) {
				t.Errorf("%s: %+v", name, row)
			}
			due, err := s.Jobs(t.Context(), domain.Filter{States: []domain.State{domain.Ready}}, domain.Page{Size: 500})
			if err != nil || c.jobs > 0 && len(due) == c.jobs {
				t.Errorf("%s: all %d jobs are due at once, %v", name, len(due), err)
			}
		})
	}
}

func TestAChangedExpressionMovesWithoutRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble begins at midnight
		s := open(t, time.Now)
		stop := keep(t, s, nil, "app", schedule(t, "daily", schedules.Cron("0 7 * * *", "")))
		time.Sleep(time.Hour)
		stop()
		time.Sleep(7 * time.Hour) // its tick is missed, and no tick any more when it is declared anew
		defer keep(t, s, nil, "app", schedule(t, "daily", schedules.Cron("30 9 * * *", "")))()
		time.Sleep(time.Minute)
		if row := find(t, s, "daily"); jobs(t, s) != 0 || row.NextAt.Format(time.DateTime) != "2000-01-01 09:30:00" || row.Skipped != 0 {
			t.Errorf("%d jobs, %+v", jobs(t, s), row)
		}
		time.Sleep(2 * time.Hour)
		if row := find(t, s, "daily"); jobs(t, s) != 1 || row.LastAt.Format(time.DateTime) != "2000-01-01 09:30:00" {
			t.Errorf("%d jobs, %+v", jobs(t, s), row)
		}
	})
}

func TestNamespacesForgetTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		names := func() string {
			all, err := s.ListSchedules(t.Context(), "", domain.ScheduleKey{}, 100)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, d := range all {
				names = append(names, d.Namespace+":"+d.Name)
			}
			return strings.Join(names, " ")
		}
		hourly := schedules.Every(time.Hour)
		if err := service(s, schedules.ServiceDeps{}).Add(t.Context(), schedule(t, "own", hourly)); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			namespace string
			declared  []string
			want      string
		}{
			{"shop", []string{"a", "b"}, "shop:a shop:b :own"},
			{"mail", []string{"c"}, "shop:a shop:b mail:c :own"},
			{"shop", []string{"b"}, "shop:b mail:c :own"},
			{"shop", nil, "shop:b mail:c :own"}, // who declares none forgets none
			{"mail", []string{"b", "c"}, "mail:b mail:c :own"},
			{"shop", []string{"d"}, "mail:b mail:c shop:d :own"},
		} {
			var all []domain.Schedule
			for _, name := range step.declared {
				all = append(all, schedule(t, name, hourly))
			}
			keep(t, s, nil, step.namespace, all...)()
			if got := names(); got != step.want {
				t.Errorf("%s declares %v: %q, want %q", step.namespace, step.declared, got, step.want)
			}
		}
	})
}

func TestAFiredTickWakesItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		var b bell
		var e ears
		k, err := schedules.NewKeeper(schedules.Config{}, []domain.Schedule{schedule(t, "often", schedules.Every(10*time.Second).For("acme"))},
			schedules.Deps{Store: s, Kinds: known("report"), Wake: &b, Observer: &e})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(k.Start(t.Context()), k.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		if err := k.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if heard := b.heard(); !slices.Equal(heard, []string{"mail"}) {
			t.Errorf("woken: %q", heard)
		}
		all, err := s.Jobs(t.Context(), domain.Filter{Tenant: "acme"}, domain.Page{Size: 10})
		if err != nil || len(all) != 1 || all[0].Kind != "report" || all[0].Queue != "mail" {
			t.Fatalf("%+v, %v", all, err)
		}
		fired := e.heard(domain.EventScheduleFired)
		if len(fired) != 1 || fired[0].Job != all[0].ID || fired[0].Schedule != "often" || fired[0].Tenant != "acme" || fired[0].Kind != "report" || fired[0].Queue != "mail" {
			t.Errorf("told %+v", fired)
		}
	})
}

func TestSettingsThatCannotWork(t *testing.T) {
	s := open(t, time.Now)
	fine := schedules.Deps{Store: s, Kinds: known("report")}
	for name, try := range map[string]func() error{
		"a poll of a year":       func() error { return made(schedules.Config{Poll: 9000 * time.Hour}, nil, fine) },
		"a poll of nothing":      func() error { return made(schedules.Config{Poll: time.Microsecond}, nil, fine) },
		"no store":               func() error { return made(schedules.Config{}, nil, schedules.Deps{Kinds: known()}) },
		"no kinds":               func() error { return made(schedules.Config{}, nil, schedules.Deps{Store: s}) },
		"a namespace of nothing": func() error { return made(schedules.Config{Namespace: "a\x00"}, nil, fine) },
		"a schedule of nothing":  func() error { return made(schedules.Config{}, []domain.Schedule{{}}, fine) },
	} {
		if err := try(); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
}

func made(cfg schedules.Config, declared []domain.Schedule, deps schedules.Deps) error {
	_, err := schedules.NewKeeper(cfg, declared, deps)
	return err
}

var _ driven.Scheduler = (*store)(nil)
