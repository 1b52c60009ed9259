package driven

import (
	"context"

	"github.com/rowlock/rowlock/domain"
)

// Switches is for pausing queues and kinds. A store only remembers them: who claims
// leaves out what is paused.
type Switches interface {
	// Pause remembers one; paused already, nothing changes (switch/again).
	Pause(context.Context, domain.Switch) error
	// Resume forgets one; that it is not paused is no fault (switch/resume).
	Resume(context.Context, domain.Switch) error
	// Paused lists what is paused since when, by sort and name in byte order, at most
	// limit (switch/paused).
	Paused(ctx context.Context, limit int) ([]domain.Paused, error)
}
