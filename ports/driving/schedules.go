package driving

import (
	"context"

	"github.com/rowlock/rowlock/domain"
)

// Schedules is for looking at schedules and changing them. Their names are the
// tenant's own: with a tenant in scope that tenant's are meant, without one those that
// belong to none. What is not there is NotFound.
type Schedules interface {
	ScheduleEditor
	ScheduleFinder
}

// ScheduleEditor is for an operator's changes.
type ScheduleEditor interface {
	// Add writes a new one, which belongs to no application: only an operator removes
	// it. A name that is taken is a Conflict.
	Add(ctx context.Context, s domain.Schedule) error
	// Pause stops its ticks until Resume, for any number of restarts.
	Pause(ctx context.Context, name string) error
	// Resume lets it go on from now: what passed meanwhile is not made up for.
	Resume(ctx context.Context, name string) error
	// Delete removes it; jobs that it added stay. One that an application declares is
	// back when that starts again.
	Delete(ctx context.Context, name string) error
	// Run adds its job once more, now, also while it is paused; its ticks stay.
	Run(ctx context.Context, name string) (Added, error)
}

// ScheduleFinder is for looking.
type ScheduleFinder interface {
	Get(ctx context.Context, name string) (domain.Schedule, error)
	// List answers one page after the key, by tenant and name; without a tenant in
	// scope those of all.
	List(ctx context.Context, after domain.ScheduleKey, limit int) ([]domain.Schedule, error)
}
