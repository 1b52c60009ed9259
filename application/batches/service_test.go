package batches_test

import (
	"strings"
	"testing"

	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/domain"
)

func TestAnOpenBatchIsSealedByItsID(t *testing.T) {
	k := newKit(t, nil)
	id, err := k.Create(t.Context(), batches.Options{Callback: sent{}})
	must(t, err)
	_, err = k.Add(t.Context(), id, mails(2)...)
	must(t, err)
	_, _, err = k.client.Enqueue(t.Context(), mail{}, enqueue.Batch(id), enqueue.Unique("u"))
	must(t, err)
	receipts, err := k.Add(t.Context(), id, enqueue.Item{Args: mail{}, Options: []enqueue.Option{enqueue.Unique("u")}})
	must(t, err)
	if receipts[0].Result != domain.Existing {
		t.Errorf("the holder of the key is %v", receipts[0].Result)
	}
	k.settleAll("mail", domain.Done)
	sealed, err := k.Seal(t.Context(), id)
	must(t, err)
	again, err := k.Seal(t.Context(), id)
	must(t, err)
	if sealed != (domain.Sealed{Total: 3}) || again != (domain.Sealed{Total: 3, Again: true}) || k.count(domain.Filter{Kind: "sent"}) != 1 {
		t.Errorf("sealed %+v, again %+v, %d callbacks", sealed, again, k.count(domain.Filter{Kind: "sent"}))
	}
	_, err = k.Add(t.Context(), id, mails(1)...)
	wantCode(t, err, domain.Conflict)
	_, err = k.Add(t.Context(), domain.BatchID{}, mails(1)...)
	wantCode(t, err, domain.Invalid)
	must(t, k.Forget(t.Context(), id))
	wantCode(t, k.Forget(t.Context(), id), domain.NotFound)
	if k.count(domain.Filter{Batch: id}) != 3 {
		t.Error("its jobs went with the batch")
	}
}

// TestALookThatFailsFailsNoSeal: it is written, and the sweep looks again.
func TestALookThatFailsFailsNoSeal(t *testing.T) {
	k := newKit(t, nil)
	k.store.fail["finish"] = &domain.Fault{Code: domain.Unavailable, Op: "finish"}
	id, err := k.Create(t.Context(), batches.Options{})
	must(t, err)
	_, err = k.Seal(t.Context(), id)
	must(t, err)
	if len(k.events) != 1 || k.events[0].Type != domain.EventError || k.events[0].Batch != id {
		t.Errorf("told %+v", k.events)
	}
}

func TestBatchesAreTheirMakersTenants(t *testing.T) {
	k := newKit(t, nil)
	acme, other := domain.WithTenant(t.Context(), "acme"), domain.WithTenant(t.Context(), "other")
	id, err := k.Create(acme, batches.Options{Callback: sent{}})
	must(t, err)
	_, err = k.Add(acme, id, mails(1)...)
	must(t, err)
	_, err = k.Add(other, id, mails(1)...)
	wantCode(t, err, domain.NotFound)
	_, err = k.Get(other, id)
	wantCode(t, err, domain.NotFound)
	_, err = k.Seal(other, id)
	wantCode(t, err, domain.NotFound)
	wantCode(t, k.Forget(other, id), domain.NotFound)
	for ctx, want := range map[string]int{"acme": 1, "other": 0, "": 1} {
		if all, err := k.List(domain.WithTenant(t.Context(), ctx), domain.AnyBatch, domain.BatchPage{}); err != nil || len(all) != want {
			t.Errorf("%q sees %d batches, %v", ctx, len(all), err)
		}
	}
	k.settleAll("mail", domain.Dead)
	_, err = k.Seal(acme, id)
	must(t, err)
	b, err := k.Get(acme, id)
	must(t, err)
	callback, err := k.store.Job(t.Context(), b.CallbackJob, "acme")
	must(t, err)
	if callback.Tenant != "acme" || b.Tenant != "acme" || b.Failed() != 1 {
		t.Errorf("the callback is %q's, the batch %+v", callback.Tenant, b)
	}
}

func TestATenantThatCannotBeIsRefused(t *testing.T) {
	k := newKit(t, nil)
	ctx := domain.WithTenant(t.Context(), strings.Repeat("x", domain.MaxTenant+1))
	id := domain.BatchID{6: 0x70, 8: 0x80, 15: 1}
	_, create := k.Create(ctx, batches.Options{})
	_, made := k.Make(ctx, batches.Options{}, batches.Of(mails(1)...))
	_, add := k.Add(ctx, id, mails(1)...)
	_, seal := k.Seal(ctx, id)
	_, get := k.Get(ctx, id)
	_, list := k.List(ctx, domain.AnyBatch, domain.BatchPage{})
	for i, err := range []error{create, made, add, seal, get, list, k.Forget(ctx, id)} {
		if domain.CodeOf(err) != domain.Invalid {
			t.Errorf("door %d: %v", i, err)
		}
	}
	if len(k.store.calls) != 0 {
		t.Errorf("called %v", k.store.calls)
	}
}

func TestPagesOfBatches(t *testing.T) {
	k := newKit(t, nil)
	var ids []domain.BatchID
	for range 5 {
		id, err := k.Create(t.Context(), batches.Options{})
		must(t, err)
		ids = append(ids, id)
	}
	first, err := k.List(t.Context(), domain.BatchOpen, domain.BatchPage{Size: 3})
	must(t, err)
	rest, err := k.List(t.Context(), domain.BatchOpen, domain.BatchPage{Size: 3, Before: first[2].ID})
	must(t, err)
	if len(first) != 3 || len(rest) != 2 || first[0].ID != ids[4] || rest[1].ID != ids[0] {
		t.Errorf("pages of %d and %d", len(first), len(rest))
	}
	for _, size := range []int{-1, domain.MaxPage + 1} {
		_, err := k.List(t.Context(), domain.AnyBatch, domain.BatchPage{Size: size})
		wantCode(t, err, domain.Invalid)
	}
}
