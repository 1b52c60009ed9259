package conformance

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// brokenBatches are the worse methods of a store's batches.
type brokenBatches struct {
	onCreateBatch   func(ctx context.Context, n domain.NewBatch) error
	onSealBatch     func(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error)
	onFinishBatches func(ctx context.Context, ids []domain.BatchID) ([]driven.Finished, error)
	onOpenBatches   func(ctx context.Context, after domain.BatchID, limit int) ([]domain.BatchID, error)
	onForgetBatch   func(ctx context.Context, id domain.BatchID, tenant string) error
	onBatch         func(ctx context.Context, id domain.BatchID, tenant string) (domain.Batch, error)
	onListBatches   func(ctx context.Context, f domain.BatchFilter, p domain.BatchPage) ([]domain.Batch, error)
	onPruneBatches  func(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error)
}

// brokenSchedules are the worse methods of its schedules.
type brokenSchedules struct {
	onDeclareSchedules func(ctx context.Context, ns string, all []domain.Schedule) error
	onDueSchedules     func(ctx context.Context, kinds []string, limit int) (driven.DueSchedules, error)
	onAdvance          func(ctx context.Context, t domain.Tick) (driven.Advanced, error)
	onAddSchedule      func(ctx context.Context, s domain.Schedule) error
	onPauseSchedule    func(ctx context.Context, key domain.ScheduleKey, paused bool) error
	onDeleteSchedule   func(ctx context.Context, key domain.ScheduleKey) error
	onSchedule         func(ctx context.Context, key domain.ScheduleKey) (domain.Schedule, error)
	onListSchedules    func(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) ([]domain.Schedule, error)
}

func (b *broken) CreateBatch(ctx context.Context, n domain.NewBatch) error {
	return or(b.onCreateBatch, b.onCreateBatch != nil, b.Store.CreateBatch)(ctx, n)
}

func (b *broken) SealBatch(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error) {
	return or(b.onSealBatch, b.onSealBatch != nil, b.Store.SealBatch)(ctx, id, tenant)
}

func (b *broken) FinishBatches(ctx context.Context, ids []domain.BatchID) ([]driven.Finished, error) {
	return or(b.onFinishBatches, b.onFinishBatches != nil, b.Store.FinishBatches)(ctx, ids)
}

func (b *broken) OpenBatches(ctx context.Context, after domain.BatchID, limit int) ([]domain.BatchID, error) {
	return or(b.onOpenBatches, b.onOpenBatches != nil, b.Store.OpenBatches)(ctx, after, limit)
}

func (b *broken) ForgetBatch(ctx context.Context, id domain.BatchID, tenant string) error {
	return or(b.onForgetBatch, b.onForgetBatch != nil, b.Store.ForgetBatch)(ctx, id, tenant)
}

func (b *broken) Batch(ctx context.Context, id domain.BatchID, tenant string) (domain.Batch, error) {
	return or(b.onBatch, b.onBatch != nil, b.Store.Batch)(ctx, id, tenant)
}

func (b *broken) ListBatches(ctx context.Context, f domain.BatchFilter, p domain.BatchPage) ([]domain.Batch, error) {
	return or(b.onListBatches, b.onListBatches != nil, b.Store.ListBatches)(ctx, f, p)
}

func (b *broken) PruneBatches(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
	return or(b.onPruneBatches, b.onPruneBatches != nil, b.Store.PruneBatches)(ctx, r)
}

func (b *broken) DeclareSchedules(ctx context.Context, ns string, all []domain.Schedule) error {
	return or(b.onDeclareSchedules, b.onDeclareSchedules != nil, b.Store.DeclareSchedules)(ctx, ns, all)
}

func (b *broken) DueSchedules(ctx context.Context, kinds []string, limit int) (driven.DueSchedules, error) {
	return or(b.onDueSchedules, b.onDueSchedules != nil, b.Store.DueSchedules)(ctx, kinds, limit)
}

func (b *broken) Advance(ctx context.Context, t domain.Tick) (driven.Advanced, error) {
	return or(b.onAdvance, b.onAdvance != nil, b.Store.Advance)(ctx, t)
}

func (b *broken) AddSchedule(ctx context.Context, s domain.Schedule) error {
	return or(b.onAddSchedule, b.onAddSchedule != nil, b.Store.AddSchedule)(ctx, s)
}

func (b *broken) PauseSchedule(ctx context.Context, key domain.ScheduleKey, paused bool) error {
	return or(b.onPauseSchedule, b.onPauseSchedule != nil, b.Store.PauseSchedule)(ctx, key, paused)
}

func (b *broken) DeleteSchedule(ctx context.Context, key domain.ScheduleKey) error {
	return or(b.onDeleteSchedule, b.onDeleteSchedule != nil, b.Store.DeleteSchedule)(ctx, key)
}

func (b *broken) Schedule(ctx context.Context, key domain.ScheduleKey) (domain.Schedule, error) {
	return or(b.onSchedule, b.onSchedule != nil, b.Store.Schedule)(ctx, key)
}

func (b *broken) ListSchedules(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) ([]domain.Schedule, error) {
	return or(b.onListSchedules, b.onListSchedules != nil, b.Store.ListSchedules)(ctx, tenant, after, limit)
}
