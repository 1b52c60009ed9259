package sqlitestore_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// sets is a store with a way to its tables past it.
type sets struct {
	testing.TB
	driven.Store
	schema driven.Migrator
	exec   func(text string, args ...any)
}

// openSets has the schema at a step; 0: the newest.
func openSets(t *testing.T, step int) *sets {
	cfg := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "jobs.db")}
	b := openBare(t, cfg)
	if _, err := b.Schema.Up(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	db := pool(t, cfg.Path, nil)
	return &sets{TB: t, Store: b.Store, schema: b.Schema, exec: func(text string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}}
}

func (s *sets) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err, errors.Unwrap(err))
	}
}

// sealed is a batch with a callback and no members.
func (s *sets) sealed() domain.BatchID {
	s.Helper()
	n := domain.NewBatch{ID: ids.NewBatchID(), Callback: &domain.Template{Kind: "call", Queue: "calls", Args: []byte(`{}`)}}
	s.ok(s.CreateBatch(s.Context(), n))
	_, err := s.SealBatch(s.Context(), n.ID, "")
	s.ok(err)
	return n.ID
}

// TestCallbackRefused has batches finish without a callback that somebody broke or
// that the database does not take.
func TestCallbackRefused(t *testing.T) {
	s := openSets(t, 0)
	broken, fine, refused := s.sealed(), s.sealed(), s.sealed()
	s.exec("UPDATE rowlock_batches SET callback = '{' WHERE id = ?", broken[:])
	s.exec("CREATE TRIGGER no BEFORE INSERT ON rowlock_jobs WHEN new.queue = 'no' BEGIN SELECT raise(ABORT, 'no'); END")
	s.exec(`UPDATE rowlock_batches SET callback = replace(callback, '"calls"', '"no"') WHERE id = ?`, refused[:])
	got, err := s.FinishBatches(t.Context(), []domain.BatchID{broken, fine, refused})
	s.ok(err)
	if len(got) != 3 {
		t.Fatalf("finished %+v", got)
	}
	for _, f := range got {
		b, err := s.Batch(t.Context(), f.Batch.ID, "")
		s.ok(err)
		if f.Refused != (b.ID != fine) || b.CallbackJob.IsZero() != f.Refused || b.State() != domain.BatchFinished {
			t.Errorf("%+v of %+v", f, b)
		}
	}
	if n, _, err := s.Count(t.Context(), domain.Filter{}, 9); n != 1 || err != nil {
		t.Errorf("%d callbacks, %v", n, err)
	}
}

// schedule is one of every minute.
func schedule(name, kind string) domain.Schedule {
	return domain.Schedule{
		ScheduleKey: domain.ScheduleKey{Name: name}, Timing: domain.Timing{Every: time.Minute},
		Job: domain.Template{Kind: kind, Queue: "q", Args: []byte(`{}`)},
	}
}

// TestBrokenSchedules has rows that others broke by SQL show why, keep nobody, and
// come back when they are declared anew.
func TestBrokenSchedules(t *testing.T) {
	s := openSets(t, 0)
	ctx := t.Context()
	all := []domain.Schedule{schedule("a", "k"), schedule("b", "k"), schedule("c", "k"), schedule("fine", "k"), schedule("other", "l")}
	s.ok(s.DeclareSchedules(ctx, "app", all))
	s.exec("UPDATE rowlock_schedules SET job = '{' WHERE name = 'a'")
	s.exec("UPDATE rowlock_schedules SET missed = 77 WHERE name = 'b'")
	s.exec("UPDATE rowlock_schedules SET kind = 'k' WHERE name = 'other'")
	s.exec("UPDATE rowlock_schedules SET missed = -1 WHERE name = 'c'")
	broken := func() (names string) {
		list, err := s.ListSchedules(ctx, "", domain.ScheduleKey{}, 10)
		s.ok(err)
		if len(list) != len(all) {
			t.Fatalf("listed %+v", list)
		}
		for _, d := range list {
			if d.Broken != "" {
				names += d.Name + " "
			}
		}
		return names
	}
	if got := broken(); got != "a b c other " {
		t.Errorf("the list shows %q as broken", got)
	}
	for _, marked := range []int{4, 0} {
		got, err := s.DueSchedules(ctx, []string{"k", "l"}, 4) // as many as there are broken ones
		s.ok(err)
		if len(got.All) != 1 || got.All[0].Name != "fine" {
			t.Errorf("due are %+v", got.All)
		}
		if len(got.Broken) != marked || marked > 0 && got.Broken[0].Broken == "" {
			t.Errorf("marked are %+v", got.Broken)
		}
	}
	if got := broken(); got != "a b c other " {
		t.Errorf("the list shows %q as broken", got)
	}
	s.ok(s.DeclareSchedules(ctx, "app", all))
	if got := broken(); got != "" {
		t.Errorf("declared anew, %q are broken", got)
	}
}

// TestOlderSchema has a store on tables that have neither batches nor schedules say
// so by name, and do all else.
func TestOlderSchema(t *testing.T) {
	for _, step := range []int{1, 3, 4} {
		s := openSets(t, step)
		ctx := t.Context()
		calls := map[string]func() error{
			"declare schedules": func() error { return s.DeclareSchedules(ctx, "app", []domain.Schedule{schedule("a", "k")}) },
			"due schedules":     func() error { _, err := s.DueSchedules(ctx, []string{"k"}, 1); return err },
			"list schedules":    func() error { _, err := s.ListSchedules(ctx, "", domain.ScheduleKey{}, 1); return err },
		}
		member := jobs(1, "k")
		member[0].Batch = ids.NewBatchID()
		if step < 4 {
			calls["create batch"] = func() error { return s.CreateBatch(ctx, domain.NewBatch{ID: ids.NewBatchID()}) }
			calls["finish batches"] = func() error { _, err := s.FinishBatches(ctx, []domain.BatchID{ids.NewBatchID()}); return err }
			calls["list batches"] = func() error { _, err := s.ListBatches(ctx, domain.BatchFilter{}, domain.BatchPage{}); return err }
			calls["prune batches"] = func() error { _, err := s.PruneBatches(ctx, driven.PruneRequest{Limit: 1}); return err }
			calls["insert a member"] = func() error { _, err := s.Insert(ctx, member); return err }
		}
		for what, call := range calls {
			var f *domain.Fault
			table := "rowlock_batches"
			if strings.Contains(what, "schedules") {
				table = "rowlock_schedules"
			}
			if err := call(); !errors.As(err, &f) || f.Code != domain.Unsupported || !strings.Contains(f.Hint, table) || !strings.Contains(f.Hint, "rowlock migrate up") {
				t.Errorf("step %d, %s: %v", step, what, err)
			}
		}
		s.oldLife(step)
	}
}

// oldLife has a job that was once a member be retried and pruned.
func (s *sets) oldLife(step int) {
	s.Helper()
	ctx, in := s.Context(), jobs(2, "k")
	_, err := s.Insert(ctx, in)
	s.ok(err)
	s.exec("UPDATE rowlock_jobs SET state = 5, wake_at = 0, batch_id = ?", in[0].ID[:])
	edited, err := s.Retry(ctx, driven.EditRequest{IDs: []domain.JobID{in[0].ID}})
	s.ok(err)
	s.ok(edited[0].Err)
	s.exec("UPDATE rowlock_jobs SET wake_at = 1 WHERE state = 5")
	got, err := s.Prune(ctx, driven.PruneRequest{Limit: 5, Defer: time.Hour})
	s.ok(err)
	if got.Removed != 1 || got.More {
		s.Errorf("step %d: pruned %+v", step, got)
	}
}
