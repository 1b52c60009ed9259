package upkeep_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a memory store whose calls can be made to fail and are noted.
type store struct {
	driven.Store
	mu       sync.Mutex
	down     bool
	start    time.Time
	recovers []time.Duration // when Recover was called, since start
	prunes   []time.Duration
	held     []driven.Claimed // what the test claimed
	looks    []int            // batches of each FinishBatches
	broken   error            // what batches answer
	slow     time.Duration    // how long a pass of a prune takes
}

func (s *store) FinishBatches(ctx context.Context, ids []domain.BatchID) ([]driven.Finished, error) {
	s.mu.Lock()
	s.looks = append(s.looks, len(ids))
	broken := s.broken
	s.mu.Unlock()
	if broken != nil {
		return nil, broken
	}
	return s.Store.FinishBatches(ctx, ids)
}

func (s *store) OpenBatches(ctx context.Context, after domain.BatchID, limit int) ([]domain.BatchID, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	return s.Store.OpenBatches(ctx, after, limit)
}

func (s *store) PruneBatches(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
	if s.broken != nil {
		return driven.Pruned{}, s.broken
	}
	return s.Store.PruneBatches(ctx, r)
}

func (s *store) note(list *[]time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list != nil {
		*list = append(*list, time.Since(s.start))
	}
	if s.down {
		return &domain.Fault{Code: domain.Unavailable, Op: "test"}
	}
	return nil
}

func (s *store) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *store) calls(list *[]time.Duration) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Duration(nil), *list...)
}

func (s *store) Recover(ctx context.Context, req driven.RecoverRequest) (driven.Recovered, error) {
	if err := s.note(&s.recovers); err != nil {
		return driven.Recovered{}, err
	}
	return s.Store.Recover(ctx, req)
}

func (s *store) Renew(ctx context.Context, req driven.RenewRequest) (driven.Renewed, error) {
	if err := s.note(nil); err != nil {
		return driven.Renewed{}, err
	}
	return s.Store.Renew(ctx, req)
}

type ear struct {
	mu     sync.Mutex
	events []domain.Event
	woken  []string
}

func (e *ear) Observe(ev domain.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, ev)
}

func (e *ear) Notify(queues ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.woken = append(e.woken, queues...)
}
func (e *ear) Listen(ctx context.Context, _ func(string)) error { <-ctx.Done(); return nil }

func (e *ear) count(what domain.EventType) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.events {
		if ev.Type == what {
			n++
		}
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *store {
	t.Helper()
	b, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	must(t, err)
	return &store{Store: b.Store, start: time.Now()}
}

// claimed writes n jobs and claims them for a runner with a lease.
func claimed(t *testing.T, s *store, runner string, n int, lease time.Duration) []domain.JobID {
	t.Helper()
	ids := system.IDs()
	rows := make([]domain.NewJob, n)
	made := make([]domain.JobID, n)
	for i := range rows {
		made[i] = ids.NewJobID()
		rows[i] = domain.NewJob{ID: made[i], Kind: "k", Queue: "q-" + runner, Args: []byte("{}")}
	}
	_, err := s.Insert(t.Context(), rows)
	must(t, err)
	s.held = append(s.held, claim(t, s, runner, n, lease)...)
	return made
}

func claim(t *testing.T, s *store, runner string, n int, lease time.Duration) []driven.Claimed {
	t.Helper()
	got, err := s.Claim(t.Context(), driven.ClaimRequest{
		Token: system.IDs().NewToken(), Runner: runner, Lease: lease, Queue: "q-" + runner, Kinds: []string{"k"}, N: n,
	})
	must(t, err)
	if len(got.Jobs) != n {
		t.Fatalf("claimed %d of %d", len(got.Jobs), n)
	}
	return got.Jobs
}

func job(t *testing.T, s *store, id domain.JobID) domain.Job {
	t.Helper()
	j, err := s.Job(t.Context(), id, "")
	must(t, err)
	return j
}

func service(t *testing.T, cfg upkeep.Config, s *store, e *ear) *upkeep.Service {
	t.Helper()
	u, err := upkeep.New(cfg, upkeep.Deps{Store: s, Runner: "mine", Observer: e, Wake: e, Clock: system.Clock()})
	must(t, err)
	return u
}
