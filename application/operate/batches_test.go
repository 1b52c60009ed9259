package operate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/application/operate"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

func batch(n byte) domain.BatchID { return domain.BatchID{6: 0x70, 8: 0x80, 15: n} }

// witness hears events and hints.
type witness struct {
	events []domain.Event
	woken  []string
}

func (w *witness) Observe(e domain.Event)                           { w.events = append(w.events, e) }
func (w *witness) Notify(queues ...string)                          { w.woken = append(w.woken, queues...) }
func (w *witness) Listen(ctx context.Context, _ func(string)) error { <-ctx.Done(); return nil }

// members is a store of so many jobs, of two batches in turn.
func members(state domain.State, n int) *fake {
	f := newFake(0, 0)
	f.batches = map[domain.JobID]domain.BatchID{}
	for i := range n {
		f.add(i+1, state)
		f.batches[id(i+1)] = batch(byte(i%2 + 1))
	}
	return f
}

// TestABatchIsLookedAtWhenAnEditTookItsMembers: each batch once for each
// transaction, after it.
func TestABatchIsLookedAtWhenAnEditTookItsMembers(t *testing.T) {
	ids := []domain.JobID{id(1), id(2), id(3)}
	for name, do := range map[string]func(*operate.Service) error{
		"cancel": func(s *operate.Service) error { return second(s.Cancel(t.Context(), ids)) },
		"delete": func(s *operate.Service) error { return second(s.Delete(t.Context(), ids)) },
		"cancel all": func(s *operate.Service) error {
			return last(s.CancelAll(t.Context(), driving.Bulk{All: true}))
		},
		"delete all": func(s *operate.Service) error {
			return last(s.DeleteAll(t.Context(), driving.Bulk{All: true}))
		},
	} {
		f, w := members(domain.Ready, 3), &witness{}
		f.onEdit = func(f *fake) {
			if len(f.looked) > 0 {
				t.Errorf("%s: it looked before the write", name)
			}
		}
		if err := do(operate.New(operate.Deps{Store: f, Wake: w, Observer: w})); err != nil {
			t.Fatal(err)
		}
		if len(f.looked) != 1 || !slices.Equal(f.looked[0], []domain.BatchID{batch(1), batch(2)}) {
			t.Errorf("%s: looked at %v", name, f.looked)
		}
		if len(w.events) != 2 || w.events[0].Type != domain.EventBatchFinished || w.events[1].Batch != batch(2) || strings.Join(w.woken, " ") != "callbacks callbacks" {
			t.Errorf("%s: told %+v, woke %v", name, w.events, w.woken)
		}
	}
}

func second(_ []domain.Edited, err error) error  { return err }
func last(_ driving.BulkResult, err error) error { return err }

func TestARetryLooksAtNoBatch(t *testing.T) {
	f := members(domain.Dead, 1)
	if err := second(operate.New(operate.Deps{Store: f}).Retry(t.Context(), []domain.JobID{id(1)}, domain.Due{})); err != nil || len(f.looked) != 0 {
		t.Errorf("looked at %v, %v", f.looked, err)
	}
}

func TestALookThatFailsFailsNoEdit(t *testing.T) {
	f, w := members(domain.Ready, 1), &witness{}
	f.finishErr = errors.New("down")
	edited, err := operate.New(operate.Deps{Store: f, Observer: w}).Cancel(t.Context(), []domain.JobID{id(1)})
	if err != nil || edited[0].Err != nil || len(w.events) != 1 || w.events[0].Operation != "finish batches" {
		t.Errorf("%v, %v, told %+v", edited, err, w.events)
	}
}

func TestATenantThatCannotBeIsRefusedByEveryEdit(t *testing.T) {
	ctx := domain.WithTenant(t.Context(), strings.Repeat("x", domain.MaxTenant+1))
	f := newFake(1, 1)
	s := operate.New(operate.Deps{Store: f})
	ids := []domain.JobID{id(1)}
	for name, err := range map[string]error{
		"retry":      second(s.Retry(ctx, ids, domain.Due{})),
		"cancel":     second(s.Cancel(ctx, ids)),
		"delete":     second(s.Delete(ctx, ids)),
		"reschedule": second(s.Reschedule(ctx, ids, domain.Due{})),
		"retry all":  last(s.RetryAll(ctx, driving.Bulk{All: true}, domain.Due{})),
		"cancel all": last(s.CancelAll(ctx, driving.Bulk{IDs: ids})),
		"delete all": last(s.DeleteAll(ctx, driving.Bulk{})),
	} {
		if domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := operate.NewBounds(operate.Deps{Store: f})
	_, declared := b.Declared(ctx, "", 0)
	_, held := b.Held(ctx, domain.Slot{}, 0)
	_, waiting := b.Waiting(ctx, "", 0)
	_, chains := b.Chains(ctx, "", 0)
	_, release := b.Release(ctx, "c0:k")
	for i, err := range []error{declared, held, waiting, chains, release} {
		if domain.CodeOf(err) != domain.Invalid {
			t.Errorf("bounds %d: %v", i, err)
		}
	}
	if len(f.requests)+len(f.filters) != 0 {
		t.Errorf("the store was asked: %v %v", f.requests, f.filters)
	}
}
