package batches_test

import (
	"context"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// kit is a memory store, the services over it, and what was seen of them.
type kit struct {
	*batches.Service
	t      *testing.T
	store  *store
	client *enqueue.Client
	back   driven.Backend

	mu     sync.Mutex
	events []domain.Event
	woken  []string
}

// store counts calls; each may fail.
type store struct {
	driven.Store
	calls []string
	fail  map[string]error
}

func (s *store) call(name string) error {
	s.calls = append(s.calls, name)
	return s.fail[name]
}

func (s *store) Insert(ctx context.Context, rows []domain.NewJob) ([]driven.Inserted, error) {
	if err := s.call("insert"); err != nil {
		return nil, err
	}
	return s.Store.Insert(ctx, rows)
}

func (s *store) CreateBatch(ctx context.Context, n domain.NewBatch) error {
	if err := s.call("create"); err != nil {
		return err
	}
	return s.Store.CreateBatch(ctx, n)
}

func (s *store) SealBatch(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error) {
	if err := s.call("seal"); err != nil {
		return domain.Sealed{}, err
	}
	return s.Store.SealBatch(ctx, id, tenant)
}

func (s *store) FinishBatches(ctx context.Context, ids []domain.BatchID) ([]driven.Finished, error) {
	if err := s.call("finish"); err != nil {
		return nil, err
	}
	return s.Store.FinishBatches(ctx, ids)
}

func (s *store) ForgetBatch(ctx context.Context, id domain.BatchID, tenant string) error {
	if err := s.call("forget"); err != nil {
		return err
	}
	return s.Store.ForgetBatch(ctx, id, tenant)
}

func newKit(t *testing.T, registry *work.Registry) *kit {
	t.Helper()
	b, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	must(t, err)
	k := &kit{t: t, store: &store{Store: b.Store, fail: map[string]error{}}, back: b}
	k.client = enqueue.New(enqueue.Config{Store: k.store, Tx: b.Tx, IDs: system.IDs(), Clock: system.Clock(), Registry: registry})
	k.Service = batches.New(batches.Deps{Store: k.store, Client: k.client, IDs: system.IDs(), Observer: k, Wake: k})
	return k
}

func (k *kit) Observe(e domain.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
}

func (k *kit) Notify(queues ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.woken = append(k.woken, queues...)
}
func (k *kit) Listen(ctx context.Context, _ func(string)) error { <-ctx.Done(); return nil }

// settleAll claims every ready job of the kind and ends it.
func (k *kit) settleAll(kind string, to domain.State) {
	k.t.Helper()
	got, err := k.store.Claim(k.t.Context(), driven.ClaimRequest{
		Token: system.IDs().NewToken(), Runner: "r", Lease: 60e9, Queue: "default", Kinds: []string{kind}, N: 20_000,
	})
	must(k.t, err)
	out := make([]driven.Outcome, len(got.Jobs))
	for i := range got.Jobs {
		out[i] = driven.Outcome{Ticket: got.Jobs[i].Ticket(), To: to, Counts: true, Keep: domain.KeepForever}
	}
	_, err = k.store.Settle(k.t.Context(), out)
	must(k.t, err)
}

func (k *kit) count(f domain.Filter) int {
	k.t.Helper()
	n, _, err := k.store.Count(k.t.Context(), f, 100_000)
	must(k.t, err)
	return n
}

// mail is a member, sent the callback.
type mail struct {
	N int `json:"n"`
}

func (mail) Kind() string { return "mail" }

type sent struct {
	Issue int              `json:"issue"`
	Batch work.BatchReport `json:"batch,omitzero"`
}

func (sent) Kind() string { return "sent" }

func mails(n int) []enqueue.Item {
	items := make([]enqueue.Item, n)
	for i := range items {
		items[i].Args = mail{i}
	}
	return items
}

func must(t *testing.T, err error) {
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
