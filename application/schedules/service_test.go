package schedules_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/domain"
)

func TestAnOperatorsSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		var b bell
		var e ears
		ops := service(s, schedules.ServiceDeps{Wake: &b, Observer: &e})
		ctx := t.Context()
		if err := ops.Add(ctx, schedule(t, "ping", schedules.Every(time.Minute))); err != nil {
			t.Fatal(err)
		}
		if err := ops.Add(ctx, schedule(t, "ping", schedules.Every(time.Hour))); domain.CodeOf(err) != domain.Conflict {
			t.Errorf("added twice: %v", err)
		}
		defer keep(t, s, nil, "app")()
		time.Sleep(2*time.Minute + time.Second)
		if got := jobs(t, s); got != 2 {
			t.Errorf("%d jobs", got)
		}
		for range 2 {
			if err := ops.Pause(ctx, "ping"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		if row, err := ops.Get(ctx, "ping"); err != nil || !row.Paused || jobs(t, s) != 2 {
			t.Errorf("%+v, %v, %d jobs", row, err, jobs(t, s))
		}
		added, err := ops.Run(ctx, "ping") // also while it is paused
		if err != nil || added.ID.IsZero() || added.Result != domain.InsertedNew || jobs(t, s) != 3 || !slices.Equal(b.heard(), []string{"mail"}) {
			t.Errorf("run: %+v, %v; %d jobs, woken %q", added, err, jobs(t, s), b.heard())
		}
		if told := e.heard(domain.EventEnqueued); len(told) != 1 || told[0].Job != added.ID || told[0].Schedule != "ping" {
			t.Errorf("told %+v", told)
		}
		for range 2 {
			if err := ops.Resume(ctx, "ping"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		if row, _ := ops.Get(ctx, "ping"); jobs(t, s) != 5 || row.Skipped != 0 {
			t.Errorf("%d jobs, %d skipped: what passed while it was paused is not missed", jobs(t, s), row.Skipped)
		}
		if err := ops.Delete(ctx, "ping"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if got := jobs(t, s); got != 5 {
			t.Errorf("%d jobs after it was deleted", got)
		}
		for name, do := range map[string]func() error{
			"pause":  func() error { return ops.Pause(ctx, "ping") },
			"resume": func() error { return ops.Resume(ctx, "ping") },
			"delete": func() error { return ops.Delete(ctx, "ping") },
			"get":    func() error { _, err := ops.Get(ctx, "ping"); return err },
			"run":    func() error { _, err := ops.Run(ctx, "ping"); return err },
		} {
			if err := do(); domain.CodeOf(err) != domain.NotFound {
				t.Errorf("%s what is not there: %v", name, err)
			}
		}
	})
}

func TestAPausedOneStaysPausedWhenItIsDeclaredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		ops := service(s, schedules.ServiceDeps{})
		for _, every := range []time.Duration{time.Minute, time.Minute, time.Second} {
			stop := keep(t, s, nil, "app", schedule(t, "ping", schedules.Every(every)))
			if err := ops.Pause(t.Context(), "ping"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			stop()
		}
		if row := find(t, s, "ping"); !row.Paused || jobs(t, s) != 0 {
			t.Errorf("%+v, %d jobs", row, jobs(t, s))
		}
	})
}

func TestSchedulesOfTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		ops := service(s, schedules.ServiceDeps{})
		ann, bob := domain.WithTenant(t.Context(), "ann"), domain.WithTenant(t.Context(), "bob")
		for _, ctx := range []context.Context{t.Context(), ann, bob} { // three of one name
			if err := ops.Add(ctx, schedule(t, "ping", schedules.Every(time.Minute))); err != nil {
				t.Fatal(err)
			}
		}
		if err := ops.Add(bob, schedule(t, "other", schedules.Every(time.Minute))); err != nil {
			t.Fatal(err)
		}
		if err := ops.Add(ann, schedule(t, "theirs", schedules.Every(time.Minute).For("bob"))); domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), "tenant_cross_write") {
			t.Errorf("ann adds one of bob's: %v", err)
		}
		if err := ops.Pause(ann, "ping"); err != nil {
			t.Fatal(err)
		}
		for name, do := range map[string]func() error{
			"get":    func() error { _, err := ops.Get(ann, "other"); return err },
			"pause":  func() error { return ops.Pause(ann, "other") },
			"resume": func() error { return ops.Resume(ann, "other") },
			"delete": func() error { return ops.Delete(ann, "other") },
			"run":    func() error { _, err := ops.Run(ann, "other"); return err },
		} {
			if err := do(); domain.CodeOf(err) != domain.NotFound {
				t.Errorf("ann's %s of one of bob's: %v", name, err)
			}
		}
		stop := keep(t, s, nil, "app")
		time.Sleep(time.Minute + time.Second)
		stop()
		for tenant, want := range map[string]int{"": 3, "ann": 0, "bob": 2} {
			if n, _, err := s.Count(t.Context(), domain.Filter{Tenant: tenant}, 100); err != nil || n != want {
				t.Errorf("%q has %d jobs, %v, want %d", tenant, n, err, want)
			}
		}
		for tenant, want := range map[string]int{"": 4, "ann": 1, "bob": 2} {
			all, err := ops.List(domain.WithTenant(t.Context(), tenant), domain.ScheduleKey{}, 0)
			if err != nil || len(all) != want {
				t.Errorf("%q lists %d, %v, want %d", tenant, len(all), err, want)
			}
			for _, d := range all {
				if tenant != "" && d.Tenant != tenant {
					t.Errorf("%q sees one of %q", tenant, d.Tenant)
				}
			}
		}
		if _, err := ops.Run(ann, "ping"); err != nil {
			t.Fatal(err)
		}
		if n, _, err := s.Count(t.Context(), domain.Filter{Tenant: "ann"}, 100); err != nil || n != 1 {
			t.Errorf("ann has %d jobs, %v", n, err)
		}
		wide := domain.WithTenant(t.Context(), strings.Repeat("t", domain.MaxTenant+1))
		for name, do := range map[string]func() error{
			"add":  func() error { return ops.Add(wide, schedule(t, "ping", schedules.Every(time.Minute))) },
			"list": func() error { _, err := ops.List(wide, domain.ScheduleKey{}, 0); return err },
			"run":  func() error { _, err := ops.Run(wide, "ping"); return err },
		} {
			if err := do(); domain.CodeOf(err) != domain.Invalid {
				t.Errorf("%s for a tenant of 191 bytes: %v", name, err)
			}
		}
	})
}

func TestWhatAnOperatorMayNotAdd(t *testing.T) {
	s := open(t, time.Now)
	ops := service(s, schedules.ServiceDeps{Kinds: known("report")})
	for name, change := range map[string]func(*domain.Schedule){
		"a zone that is none": func(d *domain.Schedule) { d.Timing = domain.Timing{Cron: "0 0 * * *", Zone: "+05:30"} },
		"a name of nothing":   func(d *domain.Schedule) { d.Name = "" },
		"a namespace's":       func(d *domain.Schedule) { d.Namespace = "app" },
		"a kind of nobody's":  func(d *domain.Schedule) { d.Job.Kind = "nobody" },
		"a long name":         func(d *domain.Schedule) { d.Name = strings.Repeat("n", domain.MaxSched+1) },
		"all without a cap":   func(d *domain.Schedule) { d.Missed.Policy = domain.MissedAll },
	} {
		d := schedule(t, "ping", schedules.Every(time.Minute))
		change(&d)
		if err := ops.Add(t.Context(), d); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
	if all, err := ops.List(t.Context(), domain.ScheduleKey{}, 0); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := ops.List(t.Context(), domain.ScheduleKey{}, domain.MaxPage+1); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a page of too many: %v", err)
	}
}

func TestABookOfSchedules(t *testing.T) {
	maker := func(every time.Duration) schedules.Maker {
		return func(ctx context.Context) (domain.Schedule, error) {
			return schedules.Every(every).For(domain.TenantOf(ctx)).Schedule("ping", domain.Template{Kind: "report", Queue: "mail", Args: []byte("{}")})
		}
	}
	var book schedules.Book
	ping, theirs := domain.ScheduleKey{Name: "ping"}, domain.ScheduleKey{Name: "ping", Tenant: "ann"}
	for _, step := range []struct {
		key     domain.ScheduleKey
		builtin bool
		every   time.Duration
		want    domain.Code
	}{
		{ping, true, time.Minute, ""},
		{ping, true, time.Minute, domain.Conflict}, // two libraries
		{ping, false, time.Hour, ""},               // the host's beats it
		{ping, true, time.Minute, ""},              // also when it comes later
		{ping, false, time.Minute, domain.Conflict},
		{theirs, false, 2 * time.Hour, ""},
		{domain.ScheduleKey{}, false, time.Hour, domain.Invalid},
	} {
		if err := book.Declare(step.key, step.builtin, maker(step.every)); domain.CodeOf(err) != step.want {
			t.Errorf("%+v: %v, want %q", step, err, step.want)
		}
	}
	for range 2 {
		all, err := book.Seal(t.Context())
		if err != nil || len(all) != 2 || all[0].Timing.Every != time.Hour || all[1].Timing.Every != 2*time.Hour || all[1].Tenant != "ann" {
			t.Errorf("%+v, %v", all, err)
		}
	}
	if err := book.Declare(domain.ScheduleKey{Name: "late"}, false, maker(time.Hour)); domain.CodeOf(err) != domain.Conflict {
		t.Errorf("after the start: %v", err)
	}
	var wrong schedules.Book
	if err := wrong.Declare(ping, false, maker(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Seal(t.Context()); domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), "schedule ping") {
		t.Errorf("an interval that is too short: %v", err)
	}
}
