package customadapter

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
)

// TestRestartKeepsBatchesAndSchedules opens the file again with an open batch, a
// finished one, one that was forgotten, and two schedules of which one has moved.
func TestRestartKeepsBatchesAndSchedules(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "jobs.log"), t.Context()
	s := reopen(t, path)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	callback := domain.Template{Kind: "end", Queue: "q", Args: []byte(`{"n":9007199254740993}`), Tags: []string{"t"}}
	var ids []domain.BatchID
	for range 3 {
		n := domain.NewBatch{ID: system.IDs().NewBatchID(), Name: "n", Tenant: "t", Callback: &callback}
		must(s.CreateBatch(ctx, n))
		ids = append(ids, n.ID)
	}
	_, err := insert(t, s, func(n *domain.NewJob) { n.Batch, n.Tenant = ids[0], "t" })
	must(err)
	_, err = s.SealBatch(ctx, ids[1], "")
	must(err)
	if done, err := s.FinishBatches(ctx, ids); err != nil || len(done) != 1 {
		t.Fatal(done, err)
	}
	must(s.ForgetBatch(ctx, ids[2], "t"))
	plan := domain.Schedule{
		ScheduleKey: domain.ScheduleKey{Tenant: "t", Name: "s"}, Timing: domain.Timing{Every: time.Minute}, Job: callback,
		Missed: domain.Missed{Policy: domain.MissedAll, Max: 3},
	}
	must(s.DeclareSchedules(ctx, "app", []domain.Schedule{plan}))
	job := plan.Job.Job(system.IDs().NewJobID(), "t", domain.Due{})
	tick := domain.Tick{Key: plan.ScheduleKey, Rev: 1, To: time.UnixMilli(1_000_000), Fired: time.UnixMilli(5), Skipped: 2, Jobs: []domain.NewJob{job}}
	if got, err := s.Advance(ctx, tick); err != nil || !got.Moved {
		t.Fatal(got, err)
	}
	plan.Name = "gone"
	must(s.AddSchedule(ctx, plan))
	must(s.DeleteSchedule(ctx, plan.ScheduleKey))
	look := func() (all []any) {
		t.Helper()
		batches, err := s.ListBatches(ctx, domain.BatchFilter{}, domain.BatchPage{})
		must(err)
		plans, err := s.ListSchedules(ctx, "", domain.ScheduleKey{}, 10)
		must(err)
		if len(batches) != 2 || len(plans) != 1 {
			t.Fatal(batches, plans)
		}
		return []any{batches, plans, jobs(t, s)}
	}
	before := look()
	s = reopen(t, path)
	if after := look(); !reflect.DeepEqual(before, after) {
		t.Fatalf("before\n%+v\nafter\n%+v", before, after)
	}
	if got, err := s.SealBatch(ctx, ids[0], "t"); err != nil || got != (domain.Sealed{Total: 1}) {
		t.Fatal(got, err)
	}
}
