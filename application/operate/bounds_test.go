package operate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/operate"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// ear hears hints and events.
type ear struct {
	queues []string
	events []domain.Event
}

func (e *ear) Notify(queues ...string)                          { e.queues = append(e.queues, queues...) }
func (e *ear) Listen(ctx context.Context, _ func(string)) error { <-ctx.Done(); return nil }
func (e *ear) Observe(ev domain.Event)                          { e.events = append(e.events, ev) }

func TestEveryEditWakesWhoseTurnItMayBe(t *testing.T) {
	for name, edit := range map[string]func(context.Context, *operate.Service, []domain.JobID) error{
		"retry": func(ctx context.Context, s *operate.Service, ids []domain.JobID) error {
			_, err := s.Retry(ctx, ids, domain.Due{})
			return err
		},
		"cancel": func(ctx context.Context, s *operate.Service, ids []domain.JobID) error {
			_, err := s.Cancel(ctx, ids)
			return err
		},
		"delete": func(ctx context.Context, s *operate.Service, ids []domain.JobID) error {
			_, err := s.Delete(ctx, ids)
			return err
		},
		"reschedule": func(ctx context.Context, s *operate.Service, ids []domain.JobID) error {
			_, err := s.Reschedule(ctx, ids, domain.Due{After: time.Hour})
			return err
		},
		"delete all": func(ctx context.Context, s *operate.Service, _ []domain.JobID) error {
			_, err := s.DeleteAll(ctx, driving.Bulk{All: true})
			return err
		},
		"cancel all": func(ctx context.Context, s *operate.Service, _ []domain.JobID) error {
			_, err := s.CancelAll(ctx, driving.Bulk{All: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, e := newFake(3, 0), &ear{}
			f.add(4, domain.Running)
			f.keys = map[domain.JobID][]string{id(1): {"m0:b", "m0:a"}, id(2): {"m0:a"}, id(4): {"m0:c"}}
			ids := []domain.JobID{id(1), id(2), id(3), id(4)}
			s := operate.New(operate.Deps{Store: f, Wake: e, Observer: e})
			if err := edit(t.Context(), s, ids); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(f.woken, []string{"m0:a", "m0:b"}) || !slices.Contains(e.queues, "q") {
				t.Errorf("woken %q, hinted at %q", f.woken, e.queues)
			}
			f.wakeErr = &domain.Fault{Code: domain.Unavailable}
			if err := edit(t.Context(), s, []domain.JobID{id(1)}); err != nil {
				t.Errorf("a wake-up that failed failed the edit: %v", err)
			}
		})
	}
}

// scene has two kinds with bounds, a chain of each of two tenants with a dead job,
// and who waits.
func scene(t *testing.T) (*operate.Bounds, driven.Store, *ear) {
	t.Helper()
	b, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	must(t, err)
	must(t, b.Store.Declare(t.Context(), []string{"k"}, []domain.Declaration{{Kind: "k", Sort: domain.BoundLimit, Group: "k", N: 2}}))
	made := system.IDs()
	var rows []domain.NewJob
	for i := range 8 {
		row := domain.NewJob{ID: made.NewJobID(), Kind: "k", Queue: "q", Args: []byte("{}"), Tenant: []string{"a", "b"}[i%2]}
		if i >= 4 {
			row.Turn, row.Keys, row.OnDead, row.Kind = domain.TurnChain, []string{"chain"}, domain.Block, "c"
		}
		rows = append(rows, row)
	}
	_, err = b.Store.Insert(t.Context(), rows)
	must(t, err)
	for {
		claims, err := b.Store.Claim(t.Context(), driven.ClaimRequest{Token: made.NewToken(), Runner: "r", Lease: time.Minute, Queue: "q", Kinds: []string{"k", "c"}, N: 10})
		must(t, err)
		if len(claims.Jobs) == 0 {
			break
		}
		var wants []driven.Want
		for _, c := range claims.Jobs {
			wants = append(wants, driven.Want{Ticket: c.Ticket(), Kind: c.Job.Kind, Limit: c.Job.Kind == "k", Turn: c.Job.Kind == "c"})
		}
		got, err := b.Store.Admit(t.Context(), driven.AdmitRequest{Wants: wants})
		must(t, err)
		for _, a := range got.Admitted {
			if i := slices.IndexFunc(claims.Jobs, func(c driven.Claimed) bool { return c.Job.ID == a.ID }); claims.Jobs[i].Job.Kind == "c" {
				_, err := b.Store.Settle(t.Context(), []driven.Outcome{{
					Ticket: claims.Jobs[i].Ticket(), To: domain.Dead, Counts: true, Keep: -1, Turn: true, Slots: []domain.SlotEnd{{Slot: a.Slots[0].Slot}},
				}})
				must(t, err)
			}
		}
	}
	e := &ear{}
	return operate.NewBounds(operate.Deps{Store: b.Store, Wake: e, Observer: e}), b.Store, e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func counted(all []driving.Waiting) string {
	parts := make([]string, len(all))
	for i, w := range all {
		parts[i] = fmt.Sprint(w.Key, " ", w.N, " ", w.Exact)
	}
	return strings.Join(parts, ", ")
}

func TestBoundsAreListed(t *testing.T) {
	b, _, _ := scene(t)
	declared, err := b.Declared(t.Context(), "", 0)
	must(t, err)
	held, err := b.Held(t.Context(), domain.Slot{}, 0)
	must(t, err)
	waiting, err := b.Waiting(t.Context(), "", 0)
	must(t, err)
	chains, err := b.Chains(t.Context(), "", 0)
	must(t, err)
	if len(declared) != 1 || declared[0].N != 2 || len(held) != 2 || held[0].Runner != "r" || held[0].Since.IsZero() || len(chains) != 2 {
		t.Errorf("%+v, %+v, %+v", declared, held, chains)
	}
	if got := counted(waiting); got != "c1:achain 1 true, c1:bchain 1 true, l:k: 2 true" {
		t.Error(got)
	}
	if waiting[0].Turn != chains[0].Job || waiting[1].Turn != chains[1].Job || !waiting[2].Turn.IsZero() {
		t.Errorf("whose turn it is: %+v beside %+v", waiting, chains)
	}
	page, err := b.Waiting(t.Context(), waiting[0].Key, 1)
	must(t, err)
	if counted(page) != "c1:bchain 1 true" {
		t.Error(page)
	}
	if _, err := b.Held(t.Context(), domain.Slot{}, -1); domain.CodeOf(err) != domain.Invalid {
		t.Error(err)
	}
}

// A tenant sees its own turns and how many of its jobs wait.
func TestBoundsOfATenant(t *testing.T) {
	b, _, _ := scene(t)
	ctx := domain.WithTenant(t.Context(), "b")
	held, err := b.Held(ctx, domain.Slot{}, 0)
	must(t, err)
	waiting, err := b.Waiting(ctx, "", 0)
	must(t, err)
	chains, err := b.Chains(ctx, "", 0)
	must(t, err)
	if len(held) != 0 || len(chains) != 1 || chains[0].Key != "c1:bchain" || counted(waiting) != "c1:bchain 1 true, l:k: 1 true" {
		t.Errorf("%+v %+v %+v", held, waiting, chains)
	}
	if _, err := b.Release(ctx, "c1:achain"); domain.CodeOf(err) != domain.NotFound {
		t.Errorf("another tenant's chain was released: %v", err)
	}
}

func TestAChainIsReleased(t *testing.T) {
	b, store, e := scene(t)
	got, err := b.Release(t.Context(), "c1:achain")
	must(t, err)
	if got != (driving.Released{Dead: 1, Woken: 1}) || !slices.Equal(e.queues, []string{"q"}) {
		t.Errorf("%+v, hinted at %q", got, e.queues)
	}
	n, _, err := store.Count(t.Context(), domain.Filter{States: []domain.State{domain.Ready}, Kind: "c"}, 10)
	must(t, err)
	if n != 1 {
		t.Errorf("%d are ready", n)
	}
	for key, code := range map[string]domain.Code{"c1:achain": domain.NotFound, "chain": domain.Invalid, "m1:akey": domain.Invalid, "": domain.Invalid} {
		if _, err := b.Release(t.Context(), key); domain.CodeOf(err) != code {
			t.Errorf("%q: %v", key, err)
		}
	}
}
