package runner_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// kit is a store, a registry and what was seen of a runner over them.
type kit struct {
	t     *testing.T
	store *store
	bell  *system.Bell
	ids   driven.IDs
	reg   *work.Registry
	start time.Time

	mu     sync.Mutex
	events []domain.Event
}

// store is a memory store with doors: each may fail or delay a call.
type store struct {
	driven.Store
	claim   atomic.Pointer[func(driven.ClaimRequest) error]
	settle  atomic.Pointer[func([]driven.Outcome) error]
	renew   atomic.Pointer[func(context.Context) error]
	taken   atomic.Bool // Renew answers that every claim is lost
	claims  atomic.Int64
	renews  atomic.Int64
	most    atomic.Int64 // the largest N that was asked for
	bound   atomic.Pointer[func(op string) error]
	bounds  atomic.Int64 // calls that have to do with bounds
	unheard atomic.Int64 // admissions whose answer is still to be lost

	finish   atomic.Pointer[func() error]
	finishes atomic.Int64                 // looks at batches
	refuse   atomic.Bool                  // failure jobs are refused
	mute     atomic.Pointer[domain.Fault] // what is paused cannot be told
}

func (s *store) FinishBatches(ctx context.Context, ids []domain.BatchID) ([]driven.Finished, error) {
	s.finishes.Add(1)
	if door := s.finish.Load(); door != nil {
		if err := (*door)(); err != nil {
			return nil, err
		}
	}
	return s.Store.FinishBatches(ctx, ids)
}

// door is how a call that has to do with bounds may fail.
func (s *store) door(op string) error {
	s.bounds.Add(1)
	if door := s.bound.Load(); door != nil {
		return (*door)(op)
	}
	return nil
}

func (s *store) Admit(ctx context.Context, req driven.AdmitRequest) (driven.Admission, error) {
	if err := s.door("admit"); err != nil {
		return driven.Admission{}, err
	}
	answer, err := s.Store.Admit(ctx, req)
	if err == nil && s.unheard.Add(-1) >= 0 {
		return driven.Admission{}, down("admit")
	}
	return answer, err
}

func (s *store) Hold(ctx context.Context, all []driven.Holding) error {
	if err := s.door("hold"); err != nil {
		return err
	}
	return s.Store.Hold(ctx, all)
}

func (s *store) Wake(ctx context.Context, keys []string) (driven.Woken, error) {
	if err := s.door("wake"); err != nil {
		return driven.Woken{}, err
	}
	return s.Store.Wake(ctx, keys)
}

func (s *store) Expire(ctx context.Context, limit int) (driven.Expired, error) {
	if err := s.door("expire"); err != nil {
		return driven.Expired{}, err
	}
	return s.Store.Expire(ctx, limit)
}

func (s *store) Declare(ctx context.Context, kinds []string, all []domain.Declaration) error {
	if err := s.door("declare"); err != nil {
		return err
	}
	return s.Store.Declare(ctx, kinds, all)
}

func (s *store) Claim(ctx context.Context, req driven.ClaimRequest) (driven.Claims, error) {
	s.claims.Add(1)
	s.most.Store(max(s.most.Load(), int64(req.N)))
	if door := s.claim.Load(); door != nil {
		if err := (*door)(req); err != nil {
			return driven.Claims{}, err
		}
	}
	return s.Store.Claim(ctx, req)
}

func (s *store) Settle(ctx context.Context, out []driven.Outcome) (driven.Settled, error) {
	if door := s.settle.Load(); door != nil {
		if err := (*door)(out); err != nil {
			return driven.Settled{}, err
		}
	}
	var refused []domain.JobID
	if s.refuse.Load() {
		for i := range out {
			if out[i].Failure != nil {
				refused, out[i].Failure = append(refused, out[i].Ticket.ID), nil
			}
		}
	}
	answer, err := s.Store.Settle(ctx, out)
	answer.Refused = append(answer.Refused, refused...)
	return answer, err
}

func (s *store) Renew(ctx context.Context, req driven.RenewRequest) (driven.Renewed, error) {
	s.renews.Add(1)
	if door := s.renew.Load(); door != nil {
		if err := (*door)(ctx); err != nil {
			return driven.Renewed{}, err
		}
	}
	if s.taken.Load() {
		var answer driven.Renewed
		for _, t := range req.Tickets {
			answer.Lost = append(answer.Lost, t.Ticket.ID)
		}
		return answer, nil
	}
	return s.Store.Renew(ctx, req)
}

func down(op string) error { return &domain.Fault{Code: domain.Unavailable, Op: op} }

func newKit(t *testing.T) *kit {
	t.Helper()
	b, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	must(t, err)
	return &kit{t: t, store: &store{Store: b.Store}, bell: system.NewBell(), ids: system.IDs(), reg: work.NewRegistry(), start: time.Now()}
}

func (k *kit) Observe(e domain.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
}

func (k *kit) count(what domain.EventType) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.events {
		if e.Type == what {
			n++
		}
	}
	return n
}

// handler is a built-in kind made of a function.
type handler struct {
	kind string
	run  func(context.Context, driven.Task) error
}

func (h handler) Kind() string                                 { return h.kind }
func (h handler) Run(ctx context.Context, t driven.Task) error { return h.run(ctx, t) }

func (k *kit) handle(kind string, run func(context.Context, driven.Task) error, opts ...work.Option) {
	k.t.Helper()
	must(k.t, k.reg.AddBuiltin(handler{kind, run}, opts...))
}

func (k *kit) runner(cfg runner.Config) *runner.Runner {
	k.t.Helper()
	r, err := runner.New(cfg, runner.Deps{
		Store: k.store, Registry: k.reg, IDs: k.ids, Clock: system.Clock(), Observer: k, Wake: k.bell,
	})
	must(k.t, err)
	return r
}

// started makes and starts a runner, which by then looked once and listens, and
// which is stopped when the test ends. It is for tests in simulated time.
func (k *kit) started(cfg runner.Config) *runner.Runner {
	k.t.Helper()
	r := k.running(cfg)
	synctest.Wait()
	return r
}

// running is started, for any test.
func (k *kit) running(cfg runner.Config) *runner.Runner {
	k.t.Helper()
	r := k.runner(cfg)
	must(k.t, r.Start(k.t.Context()))
	k.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(k.t.Context()), time.Minute)
		defer cancel()
		_ = r.Stop(ctx) // a test that wants to know stops it itself
	})
	return r
}

func (k *kit) stop(r *runner.Runner) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.t.Context()), time.Hour)
	defer cancel()
	must(k.t, r.Stop(ctx))
}

// put enqueues n jobs of a kind; edit may change each.
func (k *kit) put(kind string, n int, edit ...func(*domain.NewJob)) []domain.JobID {
	k.t.Helper()
	rows := make([]domain.NewJob, n)
	ids := make([]domain.JobID, n)
	for i := range rows {
		ids[i] = k.ids.NewJobID()
		rows[i] = domain.NewJob{ID: ids[i], Kind: kind, Queue: "default", Args: fmt.Appendf(nil, `{"n":%d}`, i)}
		for _, e := range edit {
			e(&rows[i])
		}
	}
	_, err := k.store.Insert(k.t.Context(), rows)
	must(k.t, err)
	var queues []string
	for _, row := range rows {
		if !slices.Contains(queues, row.Queue) {
			queues = append(queues, row.Queue)
		}
	}
	k.bell.Notify(queues...)
	return ids
}

func (k *kit) job(id domain.JobID) domain.Job {
	k.t.Helper()
	j, err := k.store.Job(context.WithoutCancel(k.t.Context()), id, "")
	must(k.t, err)
	return j
}

// wantState checks every job.
func (k *kit) wantState(state domain.State, ids ...domain.JobID) {
	k.t.Helper()
	for _, id := range ids {
		if j := k.job(id); j.State != state {
			k.t.Fatalf("job is %v, want %v: attempts %d, error %q", j.State, state, j.Attempts, j.Error)
		}
	}
}

func (k *kit) since() time.Duration { return time.Since(k.start) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code domain.Code) {
	t.Helper()
	if domain.CodeOf(err) != code {
		t.Fatalf("code %q, want %q: %v", domain.CodeOf(err), code, err)
	}
}

func lease(d time.Duration) runner.Config {
	return runner.Config{Queues: runner.Queues{"default": 4}, Lease: d}
}
