package conformance

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// cancelling does something about each running job that a cancel takes, before or after it.
func cancelling(before, after func(context.Context, driven.Store, *domain.Job)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onCancel = func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
			var running []domain.Job
			for _, id := range r.IDs {
				if j, err := b.Store.Job(ctx, id, r.Tenant); err == nil && j.State == domain.Running {
					running = append(running, j)
				}
			}
			each := func(do func(context.Context, driven.Store, *domain.Job)) {
				for i := range running {
					if do != nil {
						do(ctx, b.Store, &running[i])
					}
				}
			}
			each(before)
			got, err := b.Store.Cancel(ctx, r)
			each(after)
			return got, err
		}
	}
}

// freeing gives back what a job holds.
func freeing(b *broken) func(context.Context, driven.Store, *domain.Job) {
	held := tokens(b)
	return func(ctx context.Context, s driven.Store, j *domain.Job) {
		all, _ := s.Held(ctx, domain.Slot{}, 100)
		for _, h := range all {
			if h.Job == j.ID {
				_ = s.Hold(ctx, []driven.Holding{{Ticket: domain.Ticket{ID: j.ID, Token: held[j.ID]}, Slot: h.Slot, End: true}})
			}
		}
	}
}

func cancelMutants() []mutant {
	return []mutant{
		{"cancels no running job", func(b *broken, _ *Harness) {
			b.onCancel = func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
				if len(r.States) == 0 {
					r.States = []domain.State{domain.Ready, domain.Scheduled, domain.Blocked, domain.Cancelled}
				}
				return b.Store.Cancel(ctx, r)
			}
		}, []string{"edit/cancel-running", "lease/cancelled", "slot/cancelled", "turn/cancel", "batch/edited", "model/everything"}},
		{"cancels running jobs whatever state was asked for", func(b *broken, _ *Harness) {
			b.onCancel = func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
				if len(r.States) > 0 {
					r.States = append(slices.Clone(r.States), domain.Running)
				}
				return b.Store.Cancel(ctx, r)
			}
		}, []string{"edit/cancel-running", "edit/states", "edit/partial", "bulk/edit"}},
		{"takes the outcome of a cancelled claim", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				got, err := b.Store.Settle(ctx, outcomes)
				got.Dropped = slices.DeleteFunc(got.Dropped, func(id domain.JobID) bool {
					j, err := b.Store.Job(ctx, id, "")
					return err == nil && j.State == domain.Cancelled
				})
				return got, err
			}
		}, []string{"edit/cancel-running", "slot/cancelled"}},
		{"counts an attempt when it cancels", func(b *broken, _ *Harness) {
			held := tokens(b)
			cancelling(func(ctx context.Context, s driven.Store, j *domain.Job) {
				o := driven.Outcome{Ticket: domain.Ticket{ID: j.ID, Token: held[j.ID]}, To: domain.Cancelled, Counts: true, Error: j.Error, History: j.History}
				_, _ = s.Settle(ctx, []driven.Outcome{o})
			}, nil)(b, nil)
		}, []string{"edit/cancel-running", "model/everything"}},
		{"frees the slots of what it cancels", func(b *broken, _ *Harness) {
			cancelling(freeing(b), nil)(b, nil)
		}, []string{"slot/cancelled", "turn/cancel"}},
		{"calls a cancelled claim lost", func(b *broken, _ *Harness) {
			b.onRenew = func(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
				got, err := b.Store.Renew(ctx, r)
				return driven.Renewed{Lost: append(got.Lost, got.Cancelled...)}, err
			}
		}, []string{"lease/cancelled", "model/leases"}},
		{"calls every lost claim cancelled", func(b *broken, _ *Harness) {
			b.onRenew = func(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
				got, err := b.Store.Renew(ctx, r)
				return driven.Renewed{Cancelled: append(got.Lost, got.Cancelled...)}, err
			}
		}, []string{"lease/cancelled", "lease/lost"}},
	}
}
