package conformance

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func (b *broken) Pause(ctx context.Context, x domain.Switch) error {
	return or(b.onPause, b.onPause != nil, b.Store.Pause)(ctx, x)
}

func (b *broken) Resume(ctx context.Context, x domain.Switch) error {
	return or(b.onResume, b.onResume != nil, b.Store.Resume)(ctx, x)
}

func (b *broken) Paused(ctx context.Context, limit int) ([]domain.Paused, error) {
	return or(b.onPaused, b.onPaused != nil, b.Store.Paused)(ctx, limit)
}

// brokenSwitches are the worse methods of a store's switches.
type brokenSwitches struct {
	onPause  func(context.Context, domain.Switch) error
	onResume func(context.Context, domain.Switch) error
	onPaused func(ctx context.Context, limit int) ([]domain.Paused, error)
}

func switchMutants() []mutant {
	return []mutant{
		{"pauses nothing", func(b *broken, _ *Harness) {
			b.onPause = func(context.Context, domain.Switch) error { return nil }
		}, []string{"switch/paused", "switch/resume"}},
		{"pauses the queue of a kind's name too", func(b *broken, _ *Harness) {
			b.onPause = func(ctx context.Context, x domain.Switch) error {
				_ = b.Store.Pause(ctx, queueSwitch(x.Name))
				return b.Store.Pause(ctx, x)
			}
		}, []string{"switch/paused"}},
		{"counts a pause from the last call on", func(b *broken, _ *Harness) {
			b.onPause = func(ctx context.Context, x domain.Switch) error {
				_ = b.Store.Resume(ctx, x)
				return b.Store.Pause(ctx, x)
			}
		}, []string{"switch/again"}},
		{"refuses what is paused", func(b *broken, _ *Harness) {
			b.onPause = func(ctx context.Context, x domain.Switch) error {
				before, _ := b.Store.Paused(ctx, 1000)
				for _, p := range before {
					if p.Switch == x {
						return &domain.Fault{Code: domain.Conflict, Op: "pause"}
					}
				}
				return b.Store.Pause(ctx, x)
			}
		}, []string{"switch/again"}},
		{"resumes all", func(b *broken, _ *Harness) {
			b.onResume = func(ctx context.Context, _ domain.Switch) error {
				all, err := b.Store.Paused(ctx, 1000)
				for _, p := range all {
					_ = b.Store.Resume(ctx, p.Switch)
				}
				return err
			}
		}, []string{"switch/resume"}},
		{"resumes nothing", func(b *broken, _ *Harness) {
			b.onResume = func(context.Context, domain.Switch) error { return nil }
		}, []string{"switch/resume"}},
		{"lists without a bound, in local time", func(b *broken, _ *Harness) {
			b.onPaused = func(ctx context.Context, _ int) ([]domain.Paused, error) {
				all, err := b.Store.Paused(ctx, 1000)
				for i := range all {
					all[i].Since = all[i].Since.In(time.FixedZone("here", 3600))
				}
				return all, err
			}
		}, []string{"switch/paused", "switch/again"}},
	}
}
