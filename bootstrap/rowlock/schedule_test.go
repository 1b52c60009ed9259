package rowlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// digest is due on a queue of its own, and tried twice where its handler does not say.
type digest struct {
	Week int `json:"week"`
}

func (digest) Kind() string { return "mail/digest" }

func (digest) EnqueueOptions() []enqueue.Option {
	return []enqueue.Option{enqueue.Queue("digests"), enqueue.MaxAttempts(2), enqueue.Priority(3)}
}

// skewed is a clock that is wrong.
type skewed time.Duration

func (s skewed) Now() time.Time { return time.Now().Add(time.Duration(s)) }

// Four workers on one store, their clocks wrong by up to two minutes: each tick has one
// job, which runs once.
func TestATickOfManyWorkers(t *testing.T) {
	for name, dsn := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ran := make(chan work.Job[digest], 100)
			first := open(t, dsn, rowlock.Migrate(), rowlock.Namespace("app"), rowlock.WithClock(skewed(0)))
			queues := []*rowlock.Queue{first}
			for _, skew := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
				if name == "memory" { // which no two queues share
					break
				}
				queues = append(queues, open(t, dsn, rowlock.Namespace("app"), rowlock.WithClock(skewed(skew))))
			}
			for _, q := range queues {
				rowlock.Handle(q, func(_ context.Context, j work.Job[digest]) error { ran <- j; return nil }, work.MaxAttempts(7))
				rowlock.Schedule(q, "digest", digest{Week: 3}, schedules.Every(time.Second).For("acme"), enqueue.Priority(1), enqueue.Tags("weekly"))
				defer background(t, q, rowlock.Poll(100*time.Millisecond))()
			}
			ticks := make(map[int64]bool)
			for range 3 {
				j := within(t, ran, "a tick")
				if at := j.ID.Time().UnixMilli(); ticks[at] || at%1000 != 0 {
					t.Errorf("the tick of %d came twice, or is none", at)
				} else {
					ticks[at] = true
				}
				if j.Args.Week != 3 || j.Queue != "digests" || j.Tenant != "acme" || j.MaxAttempts != 7 || strings.Join(j.Tags, "") != "weekly" {
					t.Errorf("%+v", j)
				}
			}
			row, err := first.Schedules().Get(domain.WithTenant(t.Context(), "acme"), "digest")
			if err != nil || row.Namespace != "app" || row.Job.Queue != "digests" || row.Job.Priority != 1 || row.Job.MaxAttempts != 0 {
				t.Errorf("%+v, %v", row, err)
			}
		})
	}
}

func TestSchedulesThatKeepWorkFromStarting(t *testing.T) {
	daily := schedules.Cron("@daily", "")
	for name, c := range map[string]struct {
		declare func(*rowlock.Queue)
		code    domain.Code
		says    string
	}{
		"a bad expression": {func(q *rowlock.Queue) { rowlock.Schedule(q, "a", digest{}, schedules.Cron("0 0 30 2 *", "")) }, domain.Invalid, "schedule a"},
		"two of one name": {func(q *rowlock.Queue) {
			rowlock.Schedule(q, "a", digest{}, daily)
			rowlock.Schedule(q, "a", digest{}, daily)
		}, domain.Conflict, "a"},
		"no args":        {func(q *rowlock.Queue) { rowlock.Schedule(q, "a", nil, daily) }, domain.Invalid, "nil"},
		"a due time":     {func(q *rowlock.Queue) { rowlock.Schedule(q, "a", digest{}, daily, enqueue.After(time.Minute)) }, domain.Invalid, "After"},
		"a unique key":   {func(q *rowlock.Queue) { rowlock.Schedule(q, "a", digest{}, daily, enqueue.Unique("u")) }, domain.Invalid, "Unique"},
		"a file's, made": {func(q *rowlock.Queue) { q.DeclareSchedule(domain.Schedule{ScheduleKey: domain.ScheduleKey{Name: "a"}}) }, domain.Invalid, "schedule a"},
	} {
		q := open(t, "memory:")
		rowlock.Handle(q, ignore[digest])
		c.declare(q)
		if err := q.Work(t.Context()); domain.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.code, c.says)
		}
	}
}

func TestAHostsScheduleBeatsALibrarys(t *testing.T) {
	q := open(t, "memory:", rowlock.Namespace("app"))
	rowlock.Handle(q, ignore[digest])
	rowlock.BuiltinSchedule(q, "digest", digest{Week: 1}, schedules.Every(time.Hour))
	rowlock.Schedule(q, "digest", digest{Week: 2}, schedules.Every(2*time.Hour))
	rowlock.BuiltinSchedule(q, "own", digest{}, schedules.Every(time.Hour))
	rowlock.Schedule(q, "nobody", followUp{}, schedules.Every(time.Hour)) // of no kind here: left out
	stop := background(t, q)
	eventually(t, func() bool {
		all, err := q.Schedules().List(t.Context(), domain.ScheduleKey{}, 0)
		return err == nil && len(all) == 2 && all[0].Name == "digest" && all[0].Timing.Every == 2*time.Hour && string(all[0].Job.Args) == `{"week":2}` && all[1].Name == "own"
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// works says that a worker of the queue has started.
func works(t *testing.T, q *rowlock.Queue) bool {
	t.Helper()
	stats, err := q.Inspect().Stats(t.Context())
	return err == nil && len(stats.Runners) == 1
}

func TestALateScheduleIsTold(t *testing.T) {
	errs := told{domain.EventError, make(chan domain.Event, 1)}
	q := open(t, "memory:", rowlock.WithObserver(errs))
	rowlock.Handle(q, ignore[digest])
	stop := background(t, q)
	eventually(t, func() bool { return works(t, q) })
	rowlock.Schedule(q, "late", digest{}, schedules.Every(time.Hour))
	if e := within(t, errs.ch, "the event"); domain.CodeOf(e.Err) != domain.Conflict {
		t.Errorf("told %+v", e)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestSchedulesNeedTheirTable(t *testing.T) {
	dsn := stores(t)["sqlite"]
	q := open(t, dsn, rowlock.Namespace("app"))
	if _, err := q.Schema().Up(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	rowlock.Handle(q, ignore[digest])
	stop := background(t, q) // without schedules it works
	eventually(t, func() bool { return works(t, q) })
	if err := stop(); err != nil {
		t.Error(err)
	}
	other := open(t, dsn, rowlock.Namespace("app"))
	rowlock.Handle(other, ignore[digest])
	rowlock.Schedule(other, "digest", digest{}, schedules.Every(time.Hour))
	err := other.Work(t.Context())
	if domain.CodeOf(err) != domain.Unsupported || !strings.Contains(err.Error(), "digest") || !strings.Contains(err.Error(), "rowlock migrate up") {
		t.Errorf("got %v", err)
	}
	if _, err := other.Schedules().List(t.Context(), domain.ScheduleKey{}, 0); domain.CodeOf(err) != domain.Unsupported || !strings.Contains(err.Error(), "rowlock migrate up") {
		t.Errorf("list: %v", err)
	}
}
