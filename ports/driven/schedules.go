package driven

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Schedules are the roles of a store that keep recurring jobs.
type Schedules interface {
	Scheduler
	ScheduleEditor
}

// Scheduler is for moving schedules on.
type Scheduler interface {
	// DeclareSchedules stores all schedules of a namespace and forgets its others
	// (schedule/declare). One that is there keeps its pause, its last tick and, unless
	// its timing changed, its next one; with a new timing the next is to be found,
	// without running it (schedule/changed). A name that another namespace or an
	// operator has is taken over (schedule/taken).
	DeclareSchedules(ctx context.Context, namespace string, all []domain.Schedule) error
	// DueSchedules lists those of the given kinds whose next tick has come by the
	// store's clock, or is to be found, at most limit, the longest due first
	// (schedule/due). None that is paused or broken is among them (schedule/paused),
	// and what is due of other kinds keeps nobody (schedule/kinds).
	DueSchedules(ctx context.Context, kinds []string, limit int) (DueSchedules, error)
	// Advance moves a schedule to its tick's To if it stands at From in the revision
	// Rev, and adds the jobs in the same transaction: one of all that try moves it and
	// the others write nothing (schedule/once). A job whose id is there already is
	// Existing and no fault (schedule/again). With Broken it is marked with the reason,
	// not moved, and not due any more, until it is declared again, in the same
	// words or in others (schedule/broken).
	Advance(context.Context, domain.Tick) (Advanced, error)
}

// DueSchedules is what is due.
type DueSchedules struct {
	All    []domain.Schedule
	Broken []domain.Schedule // rows that could not be read: this call has marked them, and they say why
	Now    time.Time         // the store's
	Next   time.Duration     // until the next tick of these kinds, at most NoNext
}

// Advanced is the answer of an Advance.
type Advanced struct {
	Moved bool // it was this call
	Jobs  []Inserted
}

// ScheduleEditor is for an operator's changes and looks.
type ScheduleEditor interface {
	// AddSchedule writes a new one; a name that is taken is a Conflict (schedule/add).
	AddSchedule(context.Context, domain.Schedule) error
	// PauseSchedule stops its ticks, or lets them go on from now: what passed meanwhile
	// is not missed (schedule/resume). Any number of calls is fine. Not there: NotFound.
	PauseSchedule(ctx context.Context, key domain.ScheduleKey, paused bool) error
	// DeleteSchedule removes it; its jobs stay (schedule/delete). Not there: NotFound.
	DeleteSchedule(ctx context.Context, key domain.ScheduleKey) error
	// Schedule answers one; NotFound (schedule/find).
	Schedule(ctx context.Context, key domain.ScheduleKey) (domain.Schedule, error)
	// ListSchedules lists by tenant and name, at most limit after the key, those of
	// one tenant or, with "", of all (schedule/find).
	ListSchedules(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) ([]domain.Schedule, error)
}
