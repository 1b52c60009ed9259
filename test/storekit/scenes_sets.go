package storekit

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
)

// batchScenes are the calls that write batches, or jobs that are members of one.
func batchScenes(h conformance.Harness) map[string]scene {
	s := h.Backend.Store
	return map[string]scene{
		"create batch": func(t testing.TB) (func() error, func()) {
			n := domain.NewBatch{ID: ids.NewBatchID(), Name: "n"}
			return func() error { return s.CreateBatch(t.Context(), n) }, stands(t, s, n.ID, domain.BatchOpen, 0)
		},
		"insert members": func(t testing.TB) (func() error, func()) {
			in, id := members(t, s)
			return func() error { _, err := s.Insert(t.Context(), in); return err }, stands(t, s, id, domain.BatchOpen, 2)
		},
		"seal": func(t testing.TB) (func() error, func()) {
			in, id := members(t, s)
			if _, err := s.Insert(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			return func() error { _, err := s.SealBatch(t.Context(), id, ""); return err }, stands(t, s, id, domain.BatchSealed, 2)
		},
		"finish": finishScene(s),
		"forget": func(t testing.TB) (func() error, func()) {
			_, id := members(t, s)
			return func() error { return s.ForgetBatch(t.Context(), id, "") }, forgotten(t, s, id)
		},
		"retry a member": func(t testing.TB) (func() error, func()) {
			id, job := over(t, s)
			r := driven.EditRequest{IDs: []domain.JobID{job}, Due: domain.Due{After: time.Hour}}
			return func() error { _, err := s.Retry(t.Context(), r); return err }, stands(t, s, id, domain.BatchSealed, 1)
		},
		"put members off": deferScene(h),
		"prune batches":   pruneBatchesScene(h),
	}
}

// deferScene prunes a member of a batch that is not finished.
func deferScene(h conformance.Harness) scene {
	return func(t testing.TB) (func() error, func()) {
		s := h.Backend.Store
		_, job := over(t, s)
		h.Advance(2 * time.Hour)
		r := driven.PruneRequest{Limit: 1000, Defer: time.Hour}
		return func() error { _, err := s.Prune(t.Context(), r); return err }, IsIn(t, s, job, domain.Cancelled)
	}
}

// pruneBatchesScene has one finished batch whose callback is over.
func pruneBatchesScene(h conformance.Harness) scene {
	return func(t testing.TB) (func() error, func()) {
		s := h.Backend.Store
		_, id := members(t, s)
		_, err := s.SealBatch(t.Context(), id, "")
		var done []driven.Finished
		if err == nil {
			done, err = s.FinishBatches(t.Context(), []domain.BatchID{id})
		}
		if err == nil {
			_, err = s.Cancel(t.Context(), driven.EditRequest{IDs: []domain.JobID{done[0].Batch.CallbackJob}, Keep: time.Hour})
		}
		if err != nil {
			t.Fatal(err)
		}
		h.Advance(domain.DefaultBatchKeep)
		return func() error {
			_, err := s.PruneBatches(t.Context(), driven.PruneRequest{Limit: 1000, Defer: time.Hour})
			return err
		}, forgotten(t, s, id)
	}
}

// members are two jobs, not yet written, of a batch that is there.
func members(t testing.TB, s driven.Store) ([]domain.NewJob, domain.BatchID) {
	t.Helper()
	id := ids.NewBatchID()
	call := &domain.Template{Kind: "call", Queue: id.String(), Args: []byte(`{}`)}
	if err := s.CreateBatch(t.Context(), domain.NewBatch{ID: id, Callback: call}); err != nil {
		t.Fatal(err)
	}
	in := Jobs(2)
	in[0].Batch, in[1].Batch = id, id
	in[0].Queue, in[1].Queue = "members", "members"
	return in, id
}

// over is a sealed batch whose members were cancelled, and one of them.
func over(t testing.TB, s driven.Store) (domain.BatchID, domain.JobID) {
	t.Helper()
	in, id := members(t, s)
	_, err := s.Insert(t.Context(), in)
	if err == nil {
		_, err = s.SealBatch(t.Context(), id, "")
	}
	if err == nil {
		_, err = s.Cancel(t.Context(), driven.EditRequest{IDs: []domain.JobID{in[0].ID, in[1].ID}, Keep: time.Hour})
	}
	if err != nil {
		t.Fatal(err)
	}
	return id, in[0].ID
}

func forgotten(t testing.TB, s driven.Store, id domain.BatchID) func() {
	return func() {
		if _, err := s.Batch(t.Context(), id, ""); domain.CodeOf(err) != domain.NotFound {
			t.Errorf("the batch that was forgotten: %v", err)
		}
	}
}

func stands(t testing.TB, s driven.Store, id domain.BatchID, want domain.BatchState, pending int64) func() {
	return func() {
		if b, err := s.Batch(t.Context(), id, ""); err != nil || b.State() != want || b.Pending != pending {
			t.Errorf("the batch is %+v, want it %v with %d that wait: %v", b, want, pending, err)
		}
	}
}

// finishScene has a batch finish once, with one callback.
func finishScene(s driven.Store) scene {
	return func(t testing.TB) (func() error, func()) {
		id, _ := over(t, s)
		return func() error { _, err := s.FinishBatches(t.Context(), []domain.BatchID{id}); return err }, func() {
			stands(t, s, id, domain.BatchFinished, 0)()
			if n, _, err := s.Count(t.Context(), domain.Filter{Kind: "call", Queue: id.String()}, 9); n != 1 || err != nil {
				t.Errorf("%d callbacks: %v", n, err)
			}
		}
	}
}

// scheduleScenes are the calls that write schedules.
func scheduleScenes(h conformance.Harness) map[string]scene {
	s := h.Backend.Store
	return map[string]scene{
		"declare": func(t testing.TB) (func() error, func()) {
			app := ids.NewJobID().String()
			goes, stays, comes := every(app+"a"), every(app+"b"), every(app+"c")
			if err := s.DeclareSchedules(t.Context(), app, []domain.Schedule{goes, stays}); err != nil {
				t.Fatal(err)
			}
			stays.Timing.Every = time.Hour
			return func() error { return s.DeclareSchedules(t.Context(), app, []domain.Schedule{stays, comes}) }, func() {
				scheduled(t, s, goes.ScheduleKey, "none")()
				scheduled(t, s, stays.ScheduleKey, "1h0m0s false")()
				scheduled(t, s, comes.ScheduleKey, "1m0s false")()
			}
		},
		"add schedule": func(t testing.TB) (func() error, func()) {
			d := every(ids.NewJobID().String())
			return func() error { return s.AddSchedule(t.Context(), d) }, scheduled(t, s, d.ScheduleKey, "1m0s false")
		},
		"pause": func(t testing.TB) (func() error, func()) {
			d := added(t, s)
			return func() error { return s.PauseSchedule(t.Context(), d, true) }, scheduled(t, s, d, "1m0s true")
		},
		"delete schedule": func(t testing.TB) (func() error, func()) {
			d := added(t, s)
			return func() error { return s.DeleteSchedule(t.Context(), d) }, scheduled(t, s, d, "none")
		},
		"advance": advanceScene(s),
	}
}

// advanceScene moves a schedule on, with the job of its tick.
func advanceScene(s driven.Store) scene {
	return func(t testing.TB) (func() error, func()) {
		tick := domain.Tick{Key: added(t, s), Rev: 1, To: time.UnixMilli(60_000), Fired: time.UnixMilli(1), Jobs: Jobs(1)}
		tick.Jobs[0].Queue = "ticks"
		var got driven.Advanced
		call := func() (err error) { got, err = s.Advance(t.Context(), tick); return err }
		return call, func() {
			IsIn(t, s, tick.Jobs[0].ID, domain.Ready)()
			if d, err := s.Schedule(t.Context(), tick.Key); err != nil || !got.Moved || !d.NextAt.Equal(tick.To) || d.LastJob != tick.Jobs[0].ID {
				t.Errorf("answered %+v, the schedule is %+v: %v", got, d, err)
			}
		}
	}
}

func every(name string) domain.Schedule {
	return domain.Schedule{
		ScheduleKey: domain.ScheduleKey{Name: name}, Timing: domain.Timing{Every: time.Minute},
		Job: domain.Template{Kind: "tick", Queue: "ticks", Args: []byte(`{}`)},
	}
}

func added(t testing.TB, s driven.Store) domain.ScheduleKey {
	t.Helper()
	d := every(ids.NewJobID().String())
	if err := s.AddSchedule(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d.ScheduleKey
}

// scheduled checks a schedule's interval and pause, or that it is not there.
func scheduled(t testing.TB, s driven.Store, key domain.ScheduleKey, want string) func() {
	return func() {
		d, err := s.Schedule(t.Context(), key)
		got := fmt.Sprint(d.Timing.Every, d.Paused)
		if domain.CodeOf(err) == domain.NotFound {
			got, err = "none", nil
		}
		if err != nil || got != want {
			t.Errorf("the schedule is %q, want %q: %v", got, want, err)
		}
	}
}
