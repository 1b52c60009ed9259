package memstore

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// batchProblems compares what batches say with their members.
func (s *store) batchProblems() (found []string) {
	members := map[domain.BatchID]int64{}
	for _, r := range s.rows {
		members[r.Batch]++
	}
	for id, b := range s.batches {
		switch n := members[id]; {
		case b.ID != id, b.SealedAt.IsZero() && (!b.FinishedAt.IsZero() || b.Total > 0):
			found = append(found, fmt.Sprintf("batch %v is %+v", id, *b))
		case !b.SealedAt.IsZero() && n > b.Total:
			found = append(found, fmt.Sprintf("batch %v was sealed with %d members and has %d", id, b.Total, n))
		case b.Done > b.Total:
			found = append(found, fmt.Sprintf("batch %v: %d of %d members done", id, b.Done, b.Total))
		}
	}
	return found
}

// gather makes batches and brings them on, whoever is in the middle of adding to them.
func (a *actor) gather() error {
	if len(a.sets) == 0 || rand.IntN(4) == 0 {
		n := domain.NewBatch{ID: a.bench.ids.NewBatchID(), Callback: &domain.Template{Kind: "k", Queue: "q", Args: []byte(`{}`)}, Keep: time.Second}
		a.sets = append(a.sets, n.ID)
		return a.CreateBatch(a.Context(), n)
	}
	id := a.sets[rand.IntN(len(a.sets))]
	switch rand.IntN(4) {
	case 0:
		_, err := a.SealBatch(a.Context(), id, "")
		return err
	case 1:
		_, err := a.PruneBatches(a.Context(), driven.PruneRequest{Limit: 3})
		return err
	case 2:
		if rand.IntN(5) == 0 {
			return a.ForgetBatch(a.Context(), id, "")
		}
	}
	open, err := a.OpenBatches(a.Context(), domain.BatchID{}, 100)
	if err != nil {
		return err
	}
	_, err = a.FinishBatches(a.Context(), open)
	return err
}

// plan declares schedules and moves those that are due.
func (a *actor) plan() error {
	ctx, now := a.Context(), cut(a.clock())
	var all []domain.Schedule
	for _, name := range []string{"a", "b", "c"}[rand.IntN(3):] {
		all = append(all, domain.Schedule{
			ScheduleKey: domain.ScheduleKey{Name: name}, Timing: domain.Timing{Every: time.Duration(1+rand.IntN(2)) * time.Second},
			Job: domain.Template{Kind: "k", Queue: "q", Args: []byte(`1`)},
		})
	}
	if err := a.DeclareSchedules(ctx, []string{"x", "y"}[rand.IntN(2)], all); err != nil {
		return err
	}
	due, err := a.DueSchedules(ctx, []string{"k"}, 10)
	for _, d := range due.All {
		tick := domain.Tick{Key: d.ScheduleKey, Rev: d.Rev, From: d.NextAt, To: now.Add(d.Timing.Every), Fired: now}
		tick.Jobs = []domain.NewJob{d.Job.Job(a.bench.ids.NewJobID(), "", domain.Due{})}
		if _, err := a.Advance(ctx, tick); err != nil {
			return err
		}
	}
	return err
}

// TestBatchesAndSchedulesShareNoMemory writes over all that went in and came out.
func TestBatchesAndSchedulesShareNoMemory(t *testing.T) {
	b, ctx := open(t), t.Context()
	fresh := func() domain.Template {
		return domain.Template{Kind: "k", Queue: "q", Args: []byte(`{"n":1}`), Tags: []string{"t"}, Meta: []byte(`{"m":1}`)}
	}
	template := fresh()
	want, _ := template.Text()
	given := func(what string, t *domain.Template, err error) {
		b.Helper()
		if text, _ := t.Text(); err != nil || text != want {
			b.Fatalf("%s: %q, %v", what, text, err)
		}
		clear(t.Args)
		clear(t.Tags)
		clear(t.Meta)
	}
	id := b.ids.NewBatchID()
	given("create", &template, b.CreateBatch(ctx, domain.NewBatch{ID: id, Callback: &template}))
	plan := domain.Schedule{ScheduleKey: domain.ScheduleKey{Name: "s"}, Timing: domain.Timing{Every: time.Second}, Job: fresh()}
	given("declare", &plan.Job, b.DeclareSchedules(ctx, "x", []domain.Schedule{plan}))
	for range 2 {
		one, err := b.Batch(ctx, id, "")
		given("batch", one.Callback, err)
		all, err := b.ListBatches(ctx, domain.BatchFilter{}, domain.BatchPage{})
		given("batches", all[0].Callback, err)
		s, err := b.Schedule(ctx, plan.ScheduleKey)
		given("schedule", &s.Job, err)
		list, err := b.ListSchedules(ctx, "", domain.ScheduleKey{}, 10)
		given("schedules", &list[0].Job, err)
		due, err := b.DueSchedules(ctx, []string{"k"}, 10)
		given("due schedules", &due.All[0].Job, err)
	}
	if _, err := b.SealBatch(ctx, id, ""); err != nil {
		t.Fatal(err)
	}
	done, err := b.FinishBatches(ctx, []domain.BatchID{id})
	given("finished", done[0].Batch.Callback, err)
	if job := b.get(done[0].Batch.CallbackJob); len(job.Tags) != 1 || job.Tags[0] != "t" {
		t.Errorf("%+v", job)
	}
}

// TestReplacedInATransaction: nobody sees a holder that an open transaction changed,
// and a rollback gives it back with its place in every index.
func TestReplacedInATransaction(t *testing.T) {
	b := open(t)
	holder := b.unique("u", domain.Skip)
	holder.Turn, holder.Keys = domain.TurnMutex, []string{"m"}
	b.add(holder)
	for _, commit := range []bool{false, true} {
		tx, in := b.begin()
		later := b.unique("u", domain.Replace)
		later.Due.After = time.Hour
		got, err := in.Insert(t.Context(), []domain.NewJob{later, b.unique("u", domain.Reschedule), b.unique("v", domain.Skip)})
		if err != nil || got[0].Result != domain.Replaced || got[1].Result != domain.Rescheduled || len(got[0].Keys) != 1 {
			t.Fatal(got, err)
		}
		_, err = in.Insert(t.Context(), []domain.NewJob{b.unique("u", domain.Reschedule), b.unique("v", domain.Error)})
		if domain.CodeOf(err) != domain.Conflict {
			t.Fatal(err)
		}
		if _, err := b.Insert(t.Context(), []domain.NewJob{b.unique("u", domain.Skip)}); domain.CodeOf(err) != domain.Contended {
			t.Fatal(err)
		}
		if n := len(b.claim(10).Jobs); n != 0 {
			t.Fatalf("%d jobs were claimed in the middle of a transaction", n)
		}
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		b.check()
	}
	var claimed []driven.Claimed
	if claimed = b.claim(10).Jobs; len(claimed) != 2 || claimed[0].Job.ID != holder.ID {
		t.Fatalf("%+v", claimed)
	}
}
