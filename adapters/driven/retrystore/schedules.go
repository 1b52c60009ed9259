package retrystore

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func (s *store) DeclareSchedules(ctx context.Context, namespace string, all []domain.Schedule) error {
	return do(ctx, func() error { return s.next.DeclareSchedules(ctx, namespace, all) })
}

// DueSchedules tells of all that its tries marked.
func (s *store) DueSchedules(ctx context.Context, kinds []string, limit int) (answer driven.DueSchedules, err error) {
	var broken []domain.Schedule
	err = do(ctx, func() (err error) {
		answer, err = s.next.DueSchedules(ctx, kinds, limit)
		broken = append(broken, answer.Broken...)
		return err
	})
	answer.Broken = broken
	return answer, err
}

func (s *store) Advance(ctx context.Context, t domain.Tick) (driven.Advanced, error) {
	return again(ctx, func() (driven.Advanced, error) { return s.next.Advance(ctx, t) })
}

func (s *store) AddSchedule(ctx context.Context, d domain.Schedule) error {
	return do(ctx, func() error { return s.next.AddSchedule(ctx, d) })
}

func (s *store) PauseSchedule(ctx context.Context, key domain.ScheduleKey, paused bool) error {
	return do(ctx, func() error { return s.next.PauseSchedule(ctx, key, paused) })
}

func (s *store) DeleteSchedule(ctx context.Context, key domain.ScheduleKey) error {
	return do(ctx, func() error { return s.next.DeleteSchedule(ctx, key) })
}

func (s *store) Schedule(ctx context.Context, key domain.ScheduleKey) (domain.Schedule, error) {
	return again(ctx, func() (domain.Schedule, error) { return s.next.Schedule(ctx, key) })
}

func (s *store) ListSchedules(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) ([]domain.Schedule, error) {
	return again(ctx, func() ([]domain.Schedule, error) { return s.next.ListSchedules(ctx, tenant, after, limit) })
}
