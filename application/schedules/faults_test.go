package schedules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/domain"
)

func TestABadRowBreaksOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		bad := map[string]func(*domain.Schedule){
			"cron":  func(d *domain.Schedule) { d.Timing = domain.Timing{Cron: "0 0 31 4 *"} },
			"zone":  func(d *domain.Schedule) { d.Timing = domain.Timing{Cron: "0 0 * * *", Zone: "Mars/X"} },
			"args":  func(d *domain.Schedule) { d.Job.Args = []byte("{") },
			"queue": func(d *domain.Schedule) { d.Job.Queue = "" },
		}
		for name, change := range bad {
			d := schedule(t, name, schedules.Every(time.Minute))
			change(&d)
			if err := s.AddSchedule(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		s.failing(func(op string, key domain.ScheduleKey) error { // what no store takes
			if op == "advance" && key.Name == "refused" {
				return &domain.Fault{Code: domain.Invalid, Op: op, Hint: "not this"}
			}
			return nil
		})
		var e ears
		defer keep(t, s, &e, "app", schedule(t, "good", schedules.Every(time.Second)), schedule(t, "refused", schedules.Every(time.Minute)))()
		time.Sleep(61*time.Second + 100*time.Millisecond)
		if got := jobs(t, s); got != 61 {
			t.Errorf("%d jobs of the good one, want 61", got)
		}
		for _, name := range []string{"cron", "zone", "args", "queue", "refused"} {
			if row := find(t, s, name); row.Broken == "" {
				t.Errorf("%s is not marked: %+v", name, row)
			}
		}
		told := e.heard(domain.EventError)
		if len(told) != 5 || len(e.heard(domain.EventScheduleSkipped)) != 0 {
			t.Errorf("told %d times of 5: %+v", len(told), told)
		}
		for _, event := range told {
			if event.Operation != "follow schedule" || event.Schedule == "" || domain.CodeOf(event.Err) != domain.Invalid {
				t.Errorf("told %+v", event)
			}
		}
	})
}

// TestWhatTheStoreMarkedIsTold: it reads rows that nobody else sees.
func TestWhatTheStoreMarkedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		unread := schedule(t, "unread", schedules.Every(time.Minute))
		unread.Broken = "its stored job cannot be read"
		s.unread = []domain.Schedule{unread}
		var e ears
		defer keep(t, s, &e, "app", schedule(t, "good", schedules.Every(time.Second)))()
		time.Sleep(5 * time.Second)
		told := e.heard(domain.EventError)
		if len(told) != 1 || told[0].Schedule != "unread" || !strings.Contains(told[0].Err.Error(), unread.Broken) {
			t.Errorf("told %+v", told)
		}
	})
}

// TestTooManyToBeCounted: a count that stopped says so.
func TestTooManyToBeCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		often := schedule(t, "often", schedules.Cron("*/5 * * * * *", ""))
		stop := keep(t, s, nil, "app", often)
		time.Sleep(7 * time.Second)
		stop()
		for n, down := range []time.Duration{time.Hour, 24 * time.Hour} { // 720 and 17,280 ticks
			time.Sleep(down)
			var e ears
			stop := keep(t, s, &e, "app", often)
			time.Sleep(time.Second)
			stop()
			told := e.heard(domain.EventScheduleSkipped)
			if len(told) != 1 || told[0].AtLeast != (n > 0) || told[0].Count < 700 || told[0].Count > 10_000 {
				t.Errorf("%v down: told %+v", down, told)
			}
		}
	})
}

func TestWhatFailsTakesNobodysPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		s.failing(func(op string, key domain.ScheduleKey) error {
			if op == "advance" && key.Name != "good" {
				return &domain.Fault{Code: domain.Internal, Op: op}
			}
			return nil
		})
		all := []domain.Schedule{schedule(t, "good", schedules.Every(time.Second))}
		for i := range 250 { // more than a look takes, and before it by their names
			all = append(all, schedule(t, fmt.Sprint("a ", i), schedules.Every(time.Second)))
		}
		var e ears
		defer keep(t, s, &e, "app", all...)()
		time.Sleep(30 * time.Second)
		if got := jobs(t, s); got < 20 {
			t.Errorf("%d jobs of the one that can be moved", got)
		}
		if told := e.heard(domain.EventError); len(told) == 0 || told[0].Schedule == "" || told[0].Operation != "advance schedule" {
			t.Errorf("told %d", len(told))
		}
	})
}

func TestTheLoopOutlivesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		down := func(string, domain.ScheduleKey) error { return &domain.Fault{Code: domain.Unavailable, Op: "test"} }
		s.failing(down)
		var e ears
		defer keep(t, s, &e, "app", schedule(t, "often", schedules.Every(10*time.Second)))() // starts, and tries again
		time.Sleep(time.Minute)
		s.failing(nil)
		time.Sleep(time.Minute + time.Second)
		if got := jobs(t, s); got < 5 || got > 7 {
			t.Errorf("%d jobs in a minute", got)
		}
		s.failing(down)
		before, looks := len(e.heard(domain.EventError)), s.lookCount()
		time.Sleep(time.Minute)
		if n := s.lookCount() - looks; n < 50 || n > 90 || len(e.heard(domain.EventError)) == before {
			t.Errorf("%d looks in a minute without a store", n)
		}
		s.failing(nil)
		time.Sleep(5 * time.Second)
		if got := jobs(t, s); got < 6 {
			t.Errorf("%d jobs: what was missed is not made up for", got)
		}
	})
}

func TestASchemaThatIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		old := &domain.Fault{Code: domain.Unsupported, Op: "test", Hint: "schedules: run `rowlock migrate up`"}
		s.failing(func(string, domain.ScheduleKey) error { return old })
		var e ears
		stop := keep(t, s, &e, "app")
		time.Sleep(time.Hour)
		stop()
		if told := e.heard(domain.EventError); len(told) != 1 || s.lookCount() > 100 {
			t.Errorf("told %d times in %d looks", len(told), s.lookCount())
		}
		k, err := schedules.NewKeeper(schedules.Config{Namespace: "app"}, []domain.Schedule{schedule(t, "daily", schedules.Cron("@daily", ""))}, schedules.Deps{Store: s, Kinds: known("report")})
		if err != nil {
			t.Fatal(err)
		}
		err = k.Start(t.Context())
		if domain.CodeOf(err) != domain.Unsupported || !strings.Contains(err.Error(), "daily") || !strings.Contains(err.Error(), "rowlock migrate up") || !errors.Is(err, old) {
			t.Errorf("start: %v", err)
		}
		s.failing(nil)
		if err := k.Start(t.Context()); err != nil {
			t.Errorf("start after the migration: %v", err)
		}
		if err := errors.Join(k.Stop(t.Context()), k.Stop(t.Context())); err != nil {
			t.Error(err)
		}
		if err := k.Start(t.Context()); domain.CodeOf(err) != domain.Conflict {
			t.Errorf("start after the stop: %v", err)
		}
	})
}

// TestARightThatIsMissing: it is told once, and refuses the start of who declares any.
func TestARightThatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		denied := &domain.Fault{Code: domain.Denied, Op: "test"}
		s.failing(func(string, domain.ScheduleKey) error { return denied })
		var e ears
		stop := keep(t, s, &e, "app")
		time.Sleep(time.Hour)
		stop()
		if told := e.heard(domain.EventError); len(told) != 1 {
			t.Errorf("told %d times", len(told))
		}
		k, err := schedules.NewKeeper(schedules.Config{Namespace: "app"}, []domain.Schedule{schedule(t, "daily", schedules.Cron("@daily", ""))}, schedules.Deps{Store: s, Kinds: known("report")})
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Start(t.Context()); !errors.Is(err, denied) {
			t.Errorf("start: %v", err)
		}
	})
}

func TestKindsThatNobodyHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, time.Now)
		foreign := schedule(t, "foreign", schedules.Every(time.Second))
		foreign.Job.Kind = "other"
		if err := s.AddSchedule(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		unknown := schedule(t, "unknown", schedules.Every(time.Second))
		unknown.Job.Kind = "nobody"
		var e ears
		stop := keep(t, s, &e, "app", unknown, schedule(t, "good", schedules.Every(time.Second)))
		time.Sleep(10 * time.Second)
		stop()
		if _, err := s.Schedule(t.Context(), unknown.ScheduleKey); domain.CodeOf(err) != domain.NotFound {
			t.Errorf("it is declared: %v", err)
		}
		told := e.heard(domain.EventScheduleSkipped)
		if len(told) != 1 || told[0].Schedule != "unknown" || !strings.Contains(told[0].Err.Error(), "report") {
			t.Errorf("told %+v", told)
		}
		if row := find(t, s, "foreign"); !row.NextAt.IsZero() || jobs(t, s) < 9 {
			t.Errorf("%+v, %d jobs", row, jobs(t, s))
		}
		keep(t, s, &e, "app", unknown)() // declares nothing, forgets nothing
		find(t, s, "good")
	})
}
