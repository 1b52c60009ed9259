package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// finished is a callback.
type finished struct {
	Issue int              `json:"issue"`
	Batch work.BatchReport `json:"batch,omitzero"`
}

func (finished) Kind() string { return "mail/finished" }

// bounced is a failure job.
type bounced struct{ work.FailedJob }

func (bounced) Kind() string { return "mail/bounced" }

// hosts are what a callback and a failure job saw.
type seen struct {
	report domain.BatchReport
	issue  int
	tenant string
	failed work.FailedJob
}

// post registers mail that fails for odd users, its failure job and the callback.
func post(q *rowlock.Queue) (callbacks, failures chan seen) {
	callbacks, failures = make(chan seen, 100), make(chan seen, 100)
	rowlock.Handle(q, func(_ context.Context, j work.Job[welcome]) error {
		if j.Args.UserID%2 == 1 {
			return work.Bury(errors.New("it bounced"))
		}
		return nil
	}, work.OnDeath(bounced{}.Kind()))
	rowlock.Handle(q, func(ctx context.Context, j work.Job[bounced]) error {
		failures <- seen{failed: j.Args.FailedJob, tenant: domain.TenantOf(ctx)}
		return nil
	})
	rowlock.Handle(q, func(ctx context.Context, j work.Job[finished]) error {
		callbacks <- seen{report: j.Args.Batch, issue: j.Args.Issue, tenant: domain.TenantOf(ctx)}
		return nil
	})
	return callbacks, failures
}

func welcomes(n int) []enqueue.Item {
	items := make([]enqueue.Item, n)
	for i := range items {
		items[i].Args = welcome{int64(i)}
	}
	return items
}

// TestABatchFromItsMakingToItsCallback on every store, in a tenant.
func TestABatchFromItsMakingToItsCallback(t *testing.T) {
	for name, dsn := range stores(t) {
		t.Run(name, func(t *testing.T) {
			q := open(t, dsn, rowlock.Migrate())
			callbacks, failures := post(q)
			acme := domain.WithTenant(t.Context(), "acme")
			made, err := q.Batch(acme, batches.Options{Name: "news", Callback: finished{Issue: 7}}, batches.Of(welcomes(10)...))
			if err != nil || made.Total != 10 {
				t.Fatalf("made %+v, %v", made, err)
			}
			got, err := q.Drain(t.Context(), rowlock.DrainOptions{Limit: time.Minute})
			if err != nil || got.Completed != 5+5+1 || got.Dead != 5 {
				t.Fatalf("drained %+v, %v", got, err)
			}
			want := seen{report: domain.BatchReport{ID: made.ID, Name: "news", Total: 10, Done: 5, Failed: 5}, issue: 7, tenant: "acme"}
			if got := within(t, callbacks, "the callback"); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the callback saw %+v, want %+v", got, want)
			}
			if f := within(t, failures, "a failure job"); f.tenant != "acme" || f.failed.Job.Kind != "mail/welcome" || f.failed.Error != "it bounced" {
				t.Errorf("the failure job saw %+v", f)
			}
			if len(callbacks) != 0 || len(failures) != 4 {
				t.Errorf("%d more callbacks, %d more failure jobs", len(callbacks), len(failures))
			}
			b, err := q.Batches().Get(acme, made.ID)
			if err != nil || b.State() != domain.BatchFinished || b.Done != 5 || b.Failed() != 5 {
				t.Errorf("it is %+v, %v", b, err)
			}
		})
	}
}

// TestAnOpenBatchOverTwoQueues: one process makes it, another adds and seals.
func TestAnOpenBatchOverTwoQueues(t *testing.T) {
	dsn := stores(t)["sqlite"]
	maker, other := open(t, dsn, rowlock.Migrate()), open(t, dsn)
	id, err := maker.Batches().Create(t.Context(), batches.Options{Callback: finished{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Batches().Add(t.Context(), id, welcomes(2)...); err != nil {
		t.Fatal(err)
	}
	callbacks, _ := post(other)
	if _, err := other.Drain(t.Context(), rowlock.DrainOptions{Limit: time.Minute}); err != nil || len(callbacks) != 0 {
		t.Fatalf("%d callbacks of an open batch, %v", len(callbacks), err)
	}
	if sealed, err := other.Batches().Seal(t.Context(), id); err != nil || sealed.Total != 2 {
		t.Fatalf("sealed %+v, %v", sealed, err)
	}
	if _, err := maker.Batches().Add(t.Context(), id, welcomes(1)...); domain.CodeOf(err) != domain.Conflict {
		t.Errorf("the maker added after the seal: %v", err)
	}
	if _, err := other.Drain(t.Context(), rowlock.DrainOptions{Limit: time.Minute}); err != nil || len(callbacks) != 1 {
		t.Errorf("%d callbacks, %v", len(callbacks), err)
	}
}

// TestTheBatchTable: what becomes of a batch, one line for each way.
func TestTheBatchTable(t *testing.T) {
	type scene struct {
		q    *rowlock.Queue
		made batches.Made
		t    *testing.T
	}
	id := func(s scene, i int) []domain.JobID { return []domain.JobID{s.made.Receipts[i].Job.ID} }
	edited := func(s scene, e []domain.Edited, err error) {
		s.t.Helper()
		if err != nil || e[0].Err != nil {
			s.t.Fatalf("%v, %v", e, err)
		}
	}
	drain := func(s scene) {
		s.t.Helper()
		if _, err := s.q.Drain(s.t.Context(), rowlock.DrainOptions{Limit: time.Minute}); err != nil {
			s.t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		play       func(scene)
		done, lost int64
	}{
		"all run": {play: drain, done: 1, lost: 1},
		"a member deleted": {play: func(s scene) {
			e, err := s.q.Operate().Delete(s.t.Context(), id(s, 1))
			edited(s, e, err)
			drain(s)
		}, done: 1, lost: 1},
		"all cancelled": {play: func(s scene) {
			for i := range 2 {
				e, err := s.q.Operate().Cancel(s.t.Context(), id(s, i))
				edited(s, e, err)
			}
			drain(s)
		}, lost: 2},
		"retried when it was finished": {play: func(s scene) {
			drain(s)
			e, err := s.q.Operate().Retry(s.t.Context(), id(s, 1), domain.Due{})
			edited(s, e, err)
			drain(s)
		}, done: 1, lost: 1},
	} {
		for store, dsn := range stores(t) {
			t.Run(name+"/"+store, func(t *testing.T) {
				q := open(t, dsn, rowlock.Migrate())
				callbacks, _ := post(q)
				made, err := q.Batch(t.Context(), batches.Options{Callback: finished{}}, batches.Of(welcomes(2)...))
				if err != nil {
					t.Fatal(err)
				}
				c.play(scene{q, made, t})
				if len(callbacks) != 1 {
					t.Fatalf("%d callbacks", len(callbacks))
				}
				if r := (<-callbacks).report; r.Total != 2 || r.Done != c.done || r.Failed != c.lost || r.Succeeded {
					t.Errorf("the callback saw %+v", r)
				}
			})
		}
	}
}
