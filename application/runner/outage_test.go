package runner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// A job that ran here under a claim that was lost, and again here under another one,
// has two outcomes on their way. They are told apart: one is dropped, one stands.
func TestTwoOutcomesOfOneJobAreToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		var runs atomic.Int64
		k.handle("k", func(context.Context, driven.Task) error { runs.Add(1); return nil })
		away := func([]driven.Outcome) error { return down("settle") }
		k.store.settle.Store(&away)
		unheard := func(context.Context) error { return down("renew") }
		k.store.renew.Store(&unheard)
		r := k.started(lease(time.Minute))
		id := k.put("k", 1)[0]
		time.Sleep(61 * time.Second)
		if got, err := k.store.Recover(t.Context(), driven.RecoverRequest{Limit: 10, Stalls: domain.DefaultStalls()}); err != nil || len(got.Jobs) != 1 {
			t.Fatalf("put back: %+v, %v", got, err)
		}
		time.Sleep(40 * time.Second)
		if runs.Load() != 2 {
			t.Fatalf("it ran %d times", runs.Load())
		}
		there := func([]driven.Outcome) error { return nil }
		k.store.settle.Store(&there)
		time.Sleep(5 * time.Second)
		k.stop(r)
		k.wantState(domain.Done, id)
		if k.count(domain.EventCompleted) != 1 || k.count(domain.EventOutcomeDropped) != 1 {
			t.Errorf("%d completed, %d dropped", k.count(domain.EventCompleted), k.count(domain.EventOutcomeDropped))
		}
	})
}

// silent is a store whose connections die without a word: a call ends with its
// context, if that ever ends. It notes for how long.
type silent struct {
	*store
	dead    atomic.Bool
	longest atomic.Int64
	eternal atomic.Int64
}

func (s *silent) call(ctx context.Context) error {
	if !s.dead.Load() {
		return nil
	}
	until, ok := ctx.Deadline()
	if !ok {
		s.eternal.Add(1)
	}
	s.longest.Store(max(s.longest.Load(), int64(time.Until(until))))
	<-ctx.Done()
	return &domain.Fault{Code: domain.Canceled, Op: "x", Err: ctx.Err()}
}

func (s *silent) Claim(ctx context.Context, req driven.ClaimRequest) (driven.Claims, error) {
	if err := s.call(ctx); err != nil {
		return driven.Claims{}, err
	}
	return s.store.Claim(ctx, req)
}

func (s *silent) Queues(ctx context.Context, after string, most int) ([]string, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	return s.store.Queues(ctx, after, most)
}

func (s *silent) Paused(ctx context.Context, most int) ([]domain.Paused, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	return s.store.Paused(ctx, most)
}

func (s *silent) Renew(ctx context.Context, req driven.RenewRequest) (driven.Renewed, error) {
	if err := s.call(ctx); err != nil {
		return driven.Renewed{}, err
	}
	return s.store.Renew(ctx, req)
}

func (s *silent) Settle(ctx context.Context, out []driven.Outcome) (driven.Settled, error) {
	if err := s.call(ctx); err != nil {
		return driven.Settled{}, err
	}
	return s.store.Settle(ctx, out)
}

func (s *silent) Beat(ctx context.Context, info domain.RunnerInfo, forgetAfter time.Duration) error {
	if err := s.call(ctx); err != nil {
		return err
	}
	return s.store.Beat(ctx, info, forgetAfter)
}

// No call waits for a server that says nothing longer than a few seconds, and work
// goes on as soon as those are over.
func TestSilenceCostsSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		s := &silent{store: k.store}
		var runs atomic.Int64
		k.handle("k", func(context.Context, driven.Task) error { runs.Add(1); return nil })
		k.handle("long", func(ctx context.Context, _ driven.Task) error { time.Sleep(40 * time.Second); return ctx.Err() })
		r, err := runner.New(runner.Config{}, runner.Deps{Store: s, Registry: k.reg, IDs: k.ids, Clock: system.Clock(), Observer: k, Wake: k.bell})
		must(t, err)
		must(t, r.Start(t.Context()))
		long := k.put("long", 1)[0]
		time.Sleep(18 * time.Second) // a renewal falls into the silence
		s.dead.Store(true)
		k.put("k", 1)
		time.Sleep(3 * time.Second)
		s.dead.Store(false)
		time.Sleep(9 * time.Second)
		if runs.Load() != 1 {
			t.Error("nine seconds after the silence nothing had run")
		}
		time.Sleep(30 * time.Second)
		k.stop(r)
		k.wantState(domain.Done, long)
		if d := time.Duration(s.longest.Load()); s.eternal.Load() > 0 || d > 6*time.Second || d == 0 {
			t.Errorf("%d calls without a limit, the others waited for %v", s.eternal.Load(), d)
		}
		if k.count(domain.EventLeaseLost) > 0 {
			t.Error("a lease was lost")
		}
	})
}
