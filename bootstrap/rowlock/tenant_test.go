package rowlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// estate is what a tenant has: a dead job, a waiting one, and an open batch.
type estate struct {
	dead, waiting domain.JobID
	batch         domain.BatchID
}

func (e estate) ids() []domain.JobID { return []domain.JobID{e.dead, e.waiting} }

// settle gives a tenant its estate.
func settle(t *testing.T, q *rowlock.Queue, tenant string) (e estate) {
	t.Helper()
	ctx := domain.WithTenant(t.Context(), tenant)
	put := func(opts ...enqueue.Option) domain.JobID {
		t.Helper()
		job, _, err := q.Enqueue(ctx, welcome{1}, append(opts, enqueue.Unique("the same"))...)
		if err != nil {
			t.Fatal(err)
		}
		return job.ID
	}
	var err error
	if e.batch, err = q.Batches().Create(ctx, batches.Options{Name: tenant}); err != nil {
		t.Fatal(err)
	}
	e.dead = put()
	if got, err := q.Drain(t.Context(), rowlock.DrainOptions{Limit: time.Minute}); err != nil || got.Dead != 1 {
		t.Fatalf("drained %+v, %v", got, err)
	}
	e.waiting = put(enqueue.After(time.Hour))
	return e
}

// doors are all ways to another tenant's jobs. Each answers what it saw or touched
// of the estate.
func doors(q *rowlock.Queue, e estate) map[string]func(context.Context) (int, error) {
	all := driving.Bulk{All: true}
	edits := func(edited []domain.Edited, err error) (n int, _ error) {
		for _, one := range edited {
			if domain.CodeOf(one.Err) != domain.NotFound {
				n++
			}
		}
		return n, err
	}
	bulk := func(r driving.BulkResult, err error) (int, error) { return r.Done + r.Refused, err }
	there := func(err error) (int, error) {
		if domain.CodeOf(err) == domain.NotFound {
			return 0, nil
		}
		return 1, err
	}
	return map[string]func(context.Context) (int, error){
		"get": func(ctx context.Context) (int, error) { _, err := q.Inspect().Get(ctx, e.dead); return there(err) },
		"list": func(ctx context.Context) (int, error) {
			jobs, err := q.Inspect().List(ctx, domain.Filter{}, domain.Page{})
			return len(jobs), err
		},
		"count": func(ctx context.Context) (int, error) {
			count, err := q.Inspect().Count(ctx, domain.Filter{})
			return count.N, err
		},
		"stats": func(ctx context.Context) (int, error) {
			stats, err := q.Inspect().Stats(ctx)
			return len(stats.Lines), err
		},
		"retry":  func(ctx context.Context) (int, error) { return edits(q.Operate().Retry(ctx, e.ids(), domain.Due{})) },
		"cancel": func(ctx context.Context) (int, error) { return edits(q.Operate().Cancel(ctx, e.ids())) },
		"reschedule": func(ctx context.Context) (int, error) {
			return edits(q.Operate().Reschedule(ctx, e.ids(), domain.Due{}))
		},
		"delete":     func(ctx context.Context) (int, error) { return edits(q.Operate().Delete(ctx, e.ids())) },
		"retry all":  func(ctx context.Context) (int, error) { return bulk(q.Operate().RetryAll(ctx, all, domain.Due{})) },
		"cancel all": func(ctx context.Context) (int, error) { return bulk(q.Operate().CancelAll(ctx, all)) },
		"delete all": func(ctx context.Context) (int, error) { return bulk(q.Operate().DeleteAll(ctx, all)) },
		"prune":      func(ctx context.Context) (int, error) { return q.Prune(ctx, nil) },
		"batches list": func(ctx context.Context) (int, error) {
			found, err := q.Batches().List(ctx, domain.AnyBatch, domain.BatchPage{})
			return len(found), err
		},
		"batches get": func(ctx context.Context) (int, error) { _, err := q.Batches().Get(ctx, e.batch); return there(err) },
		"batches add": func(ctx context.Context) (int, error) {
			_, err := q.Batches().Add(ctx, e.batch, welcomes(1)...)
			return there(err)
		},
		"batches seal":   func(ctx context.Context) (int, error) { _, err := q.Batches().Seal(ctx, e.batch); return there(err) },
		"batches forget": func(ctx context.Context) (int, error) { return there(q.Batches().Forget(ctx, e.batch)) },
	}
}

// TestEveryDoorIsTheTenantsOwn: another tenant finds nothing behind it and changes
// nothing, the tenant itself does.
func TestEveryDoorIsTheTenantsOwn(t *testing.T) {
	for store, dsn := range stores(t) {
		t.Run(store, func(t *testing.T) {
			q := open(t, dsn, rowlock.Migrate(), rowlock.Retention(domain.Retention{Dead: time.Millisecond}))
			rowlock.Handle(q, func(context.Context, work.Job[welcome]) error { return work.Bury(fmt.Errorf("no")) })
			acme := settle(t, q, "acme")
			other, long := domain.WithTenant(t.Context(), "other"), domain.WithTenant(t.Context(), strings.Repeat("x", 191))
			before := stateOf(t, q, acme)
			for name, door := range doors(q, acme) {
				if n, err := door(other); n != 0 || err != nil {
					t.Errorf("%s: another tenant met %d, %v", name, n, err)
				}
				if n, err := door(long); domain.CodeOf(err) != domain.Invalid {
					t.Errorf("%s: a tenant of 191 bytes met %d, %v", name, n, err)
				}
			}
			if after := stateOf(t, q, acme); after != before {
				t.Errorf("another tenant made of\n%s\nthis\n%s", before, after)
			}
		})
	}
}

// TestEveryDoorOpensForTheTenantItself, each on a store of its own: they leave little
// for one another.
func TestEveryDoorOpensForTheTenantItself(t *testing.T) {
	for name := range doors(nil, estate{}) {
		b, err := memstore.Open(memstore.Config{Now: ticking()})
		if err != nil {
			t.Fatal(err)
		}
		q := opened(t, b, rowlock.Retention(domain.Retention{Dead: time.Millisecond}))
		rowlock.Handle(q, func(context.Context, work.Job[welcome]) error { return work.Bury(fmt.Errorf("no")) })
		own := settle(t, q, "acme")
		if n, err := doors(q, own)[name](domain.WithTenant(t.Context(), "acme")); n == 0 || err != nil {
			t.Errorf("%s: the tenant itself met %d, %v", name, n, err)
		}
	}
}

// ticking is a clock that moves with each look.
func ticking() func() time.Time {
	var mu sync.Mutex
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(2 * time.Millisecond)
		return now
	}
}

// stateOf is all of the estate, in words.
func stateOf(t *testing.T, q *rowlock.Queue, e estate) string {
	t.Helper()
	jobs, err := q.Inspect().List(t.Context(), domain.Filter{}, domain.Page{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := q.Batches().Get(t.Context(), e.batch)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%+v\n%+v", jobs, batch)
}

func TestWritingIntoAnotherTenantIsRefused(t *testing.T) {
	q := open(t, "memory:")
	acme := domain.WithTenant(t.Context(), "acme")
	_, _, one := q.Enqueue(acme, welcome{1}, enqueue.Tenant("other"))
	_, raw := q.Add(acme, []domain.NewJob{{Kind: "k", Tenant: "other", Args: []byte("1")}})
	_, callback := q.Batch(acme, batches.Options{Callback: finished{}, With: []enqueue.Option{enqueue.Tenant("other")}}, batches.Of())
	for name, err := range map[string]error{"enqueue": one, "add": raw, "callback": callback} {
		if domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), "tenant_cross_write") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := q.Inspect().List(acme, domain.Filter{Tenant: "other"}, domain.Page{})
	if domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a filter that names another tenant: %v", err)
	}
}

// TestAHandlerIsInItsJobsTenant: none where the row has none, whatever the runner was
// started in; what it enqueues is that tenant's.
func TestAHandlerIsInItsJobsTenant(t *testing.T) {
	q := open(t, "memory:")
	var mu sync.Mutex
	in := map[int64]string{}
	rowlock.Handle(q, func(ctx context.Context, j work.Job[welcome]) error {
		mu.Lock()
		in[j.Args.UserID] = domain.TenantOf(ctx)
		mu.Unlock()
		_, _, err := q.Enqueue(ctx, followUp{})
		return err
	})
	rowlock.Handle(q, ignore[followUp])
	for user, tenant := range map[int64]string{1: "acme", 2: ""} {
		if _, _, err := q.Enqueue(domain.WithTenant(t.Context(), tenant), welcome{user}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Drain(domain.WithTenant(t.Context(), "host"), rowlock.DrainOptions{Limit: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if in[1] != "acme" || in[2] != "" {
		t.Errorf("the handlers ran in %v", in)
	}
	for tenant, want := range map[string]int{"acme": 1, "host": 0, "": 2} {
		count, err := q.Inspect().Count(domain.WithTenant(t.Context(), tenant), domain.Filter{Kind: "mail/follow-up"})
		if err != nil || count.N != want {
			t.Errorf("%q has %d follow-ups, %v", tenant, count.N, err)
		}
	}
}
