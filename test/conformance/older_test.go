package conformance

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// older is a store whose schema lacks later steps.
type older struct {
	driven.Store
	batches, schedules, switches bool // they are there
}

func (o older) Insert(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
	for i := range jobs {
		if !jobs[i].Batch.IsZero() && !o.batches {
			return nil, errBare
		}
	}
	return o.Store.Insert(ctx, jobs)
}

func (o older) CreateBatch(ctx context.Context, n domain.NewBatch) error {
	if !o.batches {
		return errBare
	}
	return o.Store.CreateBatch(ctx, n)
}

func (o older) SealBatch(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error) {
	if !o.batches {
		return domain.Sealed{}, errBare
	}
	return o.Store.SealBatch(ctx, id, tenant)
}

func (o older) FinishBatches(ctx context.Context, ids []domain.BatchID) ([]driven.Finished, error) {
	if !o.batches {
		return nil, errBare
	}
	return o.Store.FinishBatches(ctx, ids)
}

func (o older) OpenBatches(ctx context.Context, after domain.BatchID, limit int) ([]domain.BatchID, error) {
	if !o.batches {
		return nil, errBare
	}
	return o.Store.OpenBatches(ctx, after, limit)
}

func (o older) ForgetBatch(ctx context.Context, id domain.BatchID, tenant string) error {
	if !o.batches {
		return errBare
	}
	return o.Store.ForgetBatch(ctx, id, tenant)
}

func (o older) Batch(ctx context.Context, id domain.BatchID, tenant string) (domain.Batch, error) {
	if !o.batches {
		return domain.Batch{}, errBare
	}
	return o.Store.Batch(ctx, id, tenant)
}

func (o older) ListBatches(ctx context.Context, f domain.BatchFilter, p domain.BatchPage) ([]domain.Batch, error) {
	if !o.batches {
		return nil, errBare
	}
	return o.Store.ListBatches(ctx, f, p)
}

func (o older) PruneBatches(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
	if !o.batches {
		return driven.Pruned{}, errBare
	}
	return o.Store.PruneBatches(ctx, r)
}

func (o older) DeclareSchedules(ctx context.Context, ns string, all []domain.Schedule) error {
	if !o.schedules {
		return errBare
	}
	return o.Store.DeclareSchedules(ctx, ns, all)
}

func (o older) DueSchedules(ctx context.Context, kinds []string, limit int) (driven.DueSchedules, error) {
	if !o.schedules {
		return driven.DueSchedules{}, errBare
	}
	return o.Store.DueSchedules(ctx, kinds, limit)
}

func (o older) Advance(ctx context.Context, t domain.Tick) (driven.Advanced, error) {
	if !o.schedules {
		return driven.Advanced{}, errBare
	}
	return o.Store.Advance(ctx, t)
}

func (o older) AddSchedule(ctx context.Context, s domain.Schedule) error {
	if !o.schedules {
		return errBare
	}
	return o.Store.AddSchedule(ctx, s)
}

func (o older) PauseSchedule(ctx context.Context, key domain.ScheduleKey, paused bool) error {
	if !o.schedules {
		return errBare
	}
	return o.Store.PauseSchedule(ctx, key, paused)
}

func (o older) DeleteSchedule(ctx context.Context, key domain.ScheduleKey) error {
	if !o.schedules {
		return errBare
	}
	return o.Store.DeleteSchedule(ctx, key)
}

func (o older) Schedule(ctx context.Context, key domain.ScheduleKey) (domain.Schedule, error) {
	if !o.schedules {
		return domain.Schedule{}, errBare
	}
	return o.Store.Schedule(ctx, key)
}

func (o older) ListSchedules(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) ([]domain.Schedule, error) {
	if !o.schedules {
		return nil, errBare
	}
	return o.Store.ListSchedules(ctx, tenant, after, limit)
}

func (o older) Pause(ctx context.Context, x domain.Switch) error {
	if !o.switches {
		return errBare
	}
	return o.Store.Pause(ctx, x)
}

func (o older) Resume(ctx context.Context, x domain.Switch) error {
	if !o.switches {
		return errBare
	}
	return o.Store.Resume(ctx, x)
}

func (o older) Paused(ctx context.Context, limit int) ([]domain.Paused, error) {
	if !o.switches {
		return nil, errBare
	}
	return o.Store.Paused(ctx, limit)
}
