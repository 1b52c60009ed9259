package operate

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// maxPaused is the most that one list has.
const maxPaused = 10_000

// Switches pauses queues and kinds and lets them go on. It is safe for concurrent use.
// They are everybody's: with a tenant in scope it refuses.
type Switches struct {
	store driven.Switches
	wake  driven.Notifier
}

var _ driving.Switches = (*Switches)(nil)

// NewSwitches makes one; wake may be nil: runners poll.
func NewSwitches(store driven.Switches, wake driven.Notifier) *Switches {
	return &Switches{store: store, wake: wake}
}

// Pause keeps runners from claiming more of it: within a second, those that heard of
// it later than a claim run what they took.
func (s *Switches) Pause(ctx context.Context, x domain.Switch) error {
	if err := everybodys(ctx, "pause", x); err != nil {
		return err
	}
	return s.store.Pause(ctx, x)
}

// Resume lets runners claim it again, at once where they hear of it.
func (s *Switches) Resume(ctx context.Context, x domain.Switch) error {
	if err := everybodys(ctx, "resume", x); err != nil {
		return err
	}
	if err := s.store.Resume(ctx, x); err != nil {
		return err
	}
	if s.wake == nil {
		return nil
	}
	queue := "" // a kind's jobs may be in any
	if x.Sort == domain.SwitchQueue {
		queue = x.Name
	}
	s.wake.Notify(queue)
	return nil
}

// Paused lists what is paused, queues first, by name.
func (s *Switches) Paused(ctx context.Context) ([]domain.Paused, error) {
	return s.store.Paused(ctx, maxPaused)
}

func everybodys(ctx context.Context, op string, x domain.Switch) error {
	if err := x.Validate(); err != nil {
		return err
	}
	if domain.TenantOf(ctx) == "" {
		return nil
	}
	return &domain.Fault{
		Code: domain.Invalid, Op: op, Subject: x.Name,
		Hint: "a tenant is in scope, and a " + x.Sort.String() + " is everybody's: leave the tenant out",
	}
}
