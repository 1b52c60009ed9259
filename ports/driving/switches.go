package driving

import (
	"context"

	"github.com/rowlock/rowlock/domain"
)

// Switches is for pausing queues and kinds.
type Switches interface {
	// Pause keeps runners from claiming more of it; any number of calls is fine.
	Pause(context.Context, domain.Switch) error
	// Resume lets them go on; one that is not paused is no fault.
	Resume(context.Context, domain.Switch) error
	// Paused lists what is paused since when, queues first, by name.
	Paused(context.Context) ([]domain.Paused, error)
}
