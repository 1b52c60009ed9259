package operate_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/application/operate"
	"github.com/rowlock/rowlock/domain"
)

// told notes whom a hint was for.
type told struct{ queues []string }

func (n *told) Notify(queues ...string)                          { n.queues = append(n.queues, queues...) }
func (n *told) Listen(ctx context.Context, _ func(string)) error { <-ctx.Done(); return nil }

func TestSwitches(t *testing.T) {
	b, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	if err != nil {
		t.Fatal(err)
	}
	var n told
	s := operate.NewSwitches(b.Store, &n)
	queue, kind := domain.Switch{Sort: domain.SwitchQueue, Name: "mail"}, domain.Switch{Sort: domain.SwitchKind, Name: "mail"}
	for _, x := range []domain.Switch{kind, queue, queue} {
		if err := s.Pause(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	paused, err := s.Paused(t.Context())
	if err != nil || len(paused) != 2 || paused[0].Switch != queue || paused[1].Switch != kind {
		t.Fatalf("paused are %+v, %v", paused, err)
	}
	for _, x := range []domain.Switch{queue, kind} {
		if err := s.Resume(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if paused, err = s.Paused(t.Context()); err != nil || len(paused) != 0 {
		t.Errorf("paused are %+v, %v", paused, err)
	}
	if !slices.Equal(n.queues, []string{"mail", ""}) {
		t.Errorf("woke %q", n.queues)
	}
	for name, x := range map[string]domain.Switch{
		"no name": {}, "long": {Name: string(make([]byte, 121))}, "NUL": {Name: "a\x00"}, "sort": {Sort: 7, Name: "a"},
	} {
		if err := s.Pause(t.Context(), x); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
	tenant := domain.WithTenant(t.Context(), "acme")
	if err := s.Pause(tenant, queue); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a tenant paused everybody's queue: %v", err)
	}
	if err := s.Resume(tenant, queue); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a tenant resumed everybody's queue: %v", err)
	}
}
