package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func of(tenant string) func(*domain.NewJob) { return func(j *domain.NewJob) { j.Tenant = tenant } }

// A tenant that comes late does not wait behind all that another has enqueued.
func TestFairQueuesServeTenantsInTurn(t *testing.T) {
	for _, workers := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			k.handle("k", func(context.Context, driven.Task) error { time.Sleep(time.Second); return nil })
			k.put("k", 2000, of("big"))
			k.started(runner.Config{Queues: runner.Queues{"default": workers}, Fair: []string{"default"}})
			time.Sleep(10*time.Second + 500*time.Millisecond) // while all of them run
			late := append(k.put("k", 1, of("small")), k.put("k", 1)...)
			before := k.store.claims.Load()
			for k.job(late[0]).State == domain.Ready || k.job(late[1]).State == domain.Ready {
				time.Sleep(100 * time.Millisecond)
			}
			if n := k.store.claims.Load() - before; n > 4 {
				t.Errorf("%d workers: it took %d claims", workers, n)
			}
			more := k.put("k", 20, of("small"))
			time.Sleep(time.Minute)
			k.wantState(domain.Done, append(more, late...)...)
		})
	}
}
