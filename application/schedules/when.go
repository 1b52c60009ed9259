package schedules

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// When says when a schedule runs, what becomes of its missed ticks, and whose it is.
type When struct {
	timing domain.Timing
	missed domain.Missed
	tenant string
}

// Cron is by an expression on the clocks of a zone, e.g. "0 7 * * mon-fri" in
// "Europe/Vienna"; "" is UTC. The expression has five fields, or six with the seconds
// first, or is one of @hourly, @daily, @weekly, @monthly, @yearly.
func Cron(expression, zone string) When {
	return When{timing: domain.Timing{Cron: expression, Zone: zone}}
}

// Every is by an interval of a second at least, counted from the epoch: its ticks do not
// move when a process restarts.
func Every(d time.Duration) When { return When{timing: domain.Timing{Every: d}} }

// SkipMissed leaves out the ticks that nobody was there for. Without it, and without AllMissed, one
// job makes up for all of them.
func (w When) SkipMissed() When {
	w.missed = domain.Missed{Policy: domain.MissedSkip}
	return w
}

// AllMissed makes up for each of the latest ticks that nobody was there for, at most limit.
func (w When) AllMissed(limit int) When {
	w.missed = domain.Missed{Policy: domain.MissedAll, Max: limit}
	return w
}

// For makes it a tenant's: its name is one of the tenant's own, its jobs are the tenant's.
func (w When) For(tenant string) When {
	w.tenant = tenant
	return w
}

// Key names the schedule of that name.
func (w When) Key(name string) domain.ScheduleKey {
	return domain.ScheduleKey{Tenant: w.tenant, Name: name}
}

// Declare makes the schedule of that name with the template of its job.
func (w When) Declare(name string, template func(context.Context) (domain.Template, error)) Maker {
	return func(ctx context.Context) (domain.Schedule, error) {
		job, err := template(ctx)
		if err != nil {
			return domain.Schedule{}, err
		}
		return w.Schedule(name, job)
	}
}

// Schedule is the one of that name which adds the job.
func (w When) Schedule(name string, job domain.Template) (domain.Schedule, error) {
	s := domain.Schedule{ScheduleKey: w.Key(name), Timing: w.timing, Missed: w.missed, Job: job}
	return s, s.Validate()
}

// DefaultNamespace is the path of the program's main package, so that two programs on
// one database do not forget each other's schedules.
func DefaultNamespace() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" {
		return domain.CleanText(info.Path, domain.MaxGroup)
	}
	return "rowlock"
}
