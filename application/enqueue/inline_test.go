package enqueue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
)

func TestInline(t *testing.T) {
	f, r := &fake{}, work.NewRegistry()
	boom := errors.New("boom")
	var got work.Job[hello]
	var tenant string
	must(t, work.Handle(r, func(ctx context.Context, j work.Job[hello]) error {
		got, tenant = j, domain.TenantOf(ctx)
		if j.Args.Name == "slow" {
			<-ctx.Done()
			return nil
		}
		if err := work.SetResult(ctx, 1); err != nil {
			return err
		}
		return boom
	}, work.MaxAttempts(7)))
	c := client(f, r)
	if err := c.Inline(t.Context(), hello{Name: "x"}, enqueue.Tenant("acme"), enqueue.Queue("q")); !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	if !got.Inline || got.Attempt != 1 || got.MaxAttempts != 7 || got.Args.Name != "x" || got.Queue != "q" || tenant != "acme" || f.calls != 0 {
		t.Fatalf("job %+v, tenant %q, %d writes", got, tenant, f.calls)
	}
	if err := c.Inline(t.Context(), hello{Name: "slow"}, enqueue.Timeout(time.Millisecond)); !errors.Is(err, work.ErrTimeout) {
		t.Fatalf("nil after the timeout is %v", err)
	}
	wantCode(t, c.Inline(t.Context(), choosy{}), domain.Invalid)
	wantCode(t, client(f, nil).Inline(t.Context(), hello{}), domain.Unsupported)
}
