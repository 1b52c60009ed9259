package rowlockfx_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlockfx"
	"github.com/rowlock/rowlock/domain"
)

type ticker chan domain.JobID

func (c ticker) Work(_ context.Context, j work.Job[followUp]) error {
	c <- j.ID
	return nil
}

func TestSchedulesOfAnApp(t *testing.T) {
	ran := make(ticker, 100)
	var ops *schedules.Service
	a := app(t,
		rowlockfx.Module(
			rowlockfx.Backend(memory), rowlockfx.Worker(runner.Config{Poll: 100 * time.Millisecond}), rowlockfx.Namespace("app"),
			rowlockfx.BuiltinSchedule("often", followUp{}, schedules.Every(time.Hour)),
			rowlockfx.Schedule("often", followUp{}, schedules.Every(time.Second), enqueue.Queue("ticks")),
			rowlockfx.Schedule("nobody", welcome{}, schedules.Every(time.Second)),
		),
		rowlockfx.Handle[followUp](func() ticker { return ran }),
		fx.Populate(&ops),
	)
	a.RequireStart()
	first, second := within(t, ran, "a tick"), within(t, ran, "another")
	if second.Time().Sub(first.Time()) < time.Second {
		t.Errorf("ticks of %v and %v", first.Time(), second.Time())
	}
	all, err := ops.List(t.Context(), domain.ScheduleKey{}, 0)
	if err != nil || len(all) != 1 || all[0].Namespace != "app" || all[0].Job.Queue != "ticks" || all[0].Timing.Every != time.Second {
		t.Errorf("%+v, %v", all, err)
	}
	a.RequireStop()
}

func TestSchedulesThatKeepAnAppFromStarting(t *testing.T) {
	for name, opts := range map[string][]rowlockfx.Option{
		"a bad expression": {rowlockfx.Schedule("a", followUp{}, schedules.Cron("5-2 * * * *", ""))},
		"two of one name":  {rowlockfx.Schedule("a", followUp{}, schedules.Every(time.Hour)), rowlockfx.Schedule("a", followUp{}, schedules.Every(time.Hour))},
		"no args":          {rowlockfx.Schedule("a", nil, schedules.Every(time.Hour))},
	} {
		opts = append(opts, rowlockfx.Backend(memory), rowlockfx.Worker(runner.Config{}))
		a := fx.New(rowlockfx.Module(opts...), rowlockfx.Handle[followUp](func() ticker { return nil }), fx.NopLogger)
		if code := domain.CodeOf(a.Err()); code != domain.Invalid && code != domain.Conflict {
			t.Errorf("%s: %v", name, a.Err())
		}
	}
}
