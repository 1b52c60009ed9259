package batches_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
)

func TestAListIsAHandfulOfRoundTrips(t *testing.T) {
	k := newKit(t, nil)
	made, err := k.Make(t.Context(), batches.Options{Name: "news", Callback: sent{Issue: 7}}, batches.Of(mails(10_000)...))
	must(t, err)
	if got := strings.Join(k.store.calls, " "); got != "create insert seal finish" {
		t.Errorf("it called %q", got)
	}
	if made.Total != 10_000 || len(made.Receipts) != 10_000 || made.Receipts[9].Job.Kind != "mail" || k.count(domain.Filter{Batch: made.ID}) != 10_000 {
		t.Errorf("made %d members, %d receipts", made.Total, len(made.Receipts))
	}
	b, err := k.Get(t.Context(), made.ID)
	must(t, err)
	if b.State() != domain.BatchSealed || b.Name != "news" || b.Callback.Kind != "sent" || b.Total != 10_000 || b.Pending != 10_000 {
		t.Errorf("it is %+v", b)
	}
}

func TestAnEmptyBatchIsFinishedAtOnce(t *testing.T) {
	for name, form := range map[string]batches.Form{
		"list":    batches.Of(),
		"builder": batches.Build(func(context.Context, batches.Add) error { return nil }),
	} {
		k := newKit(t, nil)
		made, err := k.Make(t.Context(), batches.Options{Callback: sent{Issue: 7}, With: []enqueue.Option{enqueue.Queue("later")}}, form)
		must(t, err)
		b, err := k.Get(t.Context(), made.ID)
		must(t, err)
		if b.State() != domain.BatchFinished || k.count(domain.Filter{Kind: "sent"}) != 1 {
			t.Errorf("%s: it is %v, %d callbacks", name, b.State(), k.count(domain.Filter{Kind: "sent"}))
		}
		if len(k.events) != 1 || k.events[0].Type != domain.EventBatchFinished || k.events[0].Job != b.CallbackJob || strings.Join(k.woken, " ") != "later" {
			t.Errorf("%s: told %+v, woke %v", name, k.events, k.woken)
		}
		job, err := k.store.Job(t.Context(), b.CallbackJob, "")
		must(t, err)
		var args sent
		must(t, json.Unmarshal(job.Args, &args))
		if args.Issue != 7 || args.Batch.ID != made.ID || !args.Batch.Succeeded || args.Batch.Total != 0 {
			t.Errorf("%s: the callback is told %s", name, job.Args)
		}
	}
}

func TestABuilderAddsInParts(t *testing.T) {
	k := newKit(t, nil)
	var during domain.BatchState
	made, err := k.Make(t.Context(), batches.Options{Callback: sent{}}, batches.Build(func(ctx context.Context, add batches.Add) error {
		for range 3 {
			receipts, err := add(ctx, mails(4)...)
			if err != nil || len(receipts) != 4 {
				return fmt.Errorf("%d receipts: %w", len(receipts), err)
			}
			k.settleAll("mail", domain.Done) // they run as soon as they are there
		}
		open, err := k.List(ctx, domain.BatchOpen, domain.BatchPage{})
		during = open[0].State()
		return err
	}))
	must(t, err)
	b, err := k.Get(t.Context(), made.ID)
	must(t, err)
	if made.Total != 12 || during != domain.BatchOpen || b.State() != domain.BatchFinished || b.Done != 12 {
		t.Errorf("%d members, open while it was built: %v, now %+v", made.Total, during, b)
	}
}

func TestABuilderThatFailsLeavesItUnsealedAndSaysSo(t *testing.T) {
	k := newKit(t, nil)
	cause := errors.New("the list is gone")
	made, err := k.Make(t.Context(), batches.Options{Callback: sent{}}, batches.Build(func(ctx context.Context, add batches.Add) error {
		if _, err := add(ctx, mails(3)...); err != nil {
			return err
		}
		return cause
	}))
	if !errors.Is(err, cause) || made.ID.IsZero() || !strings.Contains(err.Error(), made.ID.String()) || !strings.Contains(err.Error(), "not sealed") {
		t.Fatalf("made %v: %v", made.ID, err)
	}
	k.settleAll("mail", domain.Done)
	if done, err := k.store.FinishBatches(t.Context(), []domain.BatchID{made.ID}); err != nil || len(done) != 0 {
		t.Errorf("it finished unsealed: %v, %v", done, err)
	}
	sealed, err := k.Seal(t.Context(), made.ID) // an operator may
	must(t, err)
	if sealed.Total != 3 || k.count(domain.Filter{Kind: "sent"}) != 1 {
		t.Errorf("sealed %+v, %d callbacks", sealed, k.count(domain.Filter{Kind: "sent"}))
	}
}

func TestFormsAreRefused(t *testing.T) {
	nothing := batches.Build(func(context.Context, batches.Add) error { return nil })
	for name, forms := range map[string][]batches.Form{
		"both": {batches.Of(mails(1)...), nothing}, "two builders": {nothing, nothing}, "no function": {batches.Build(nil)}, "none": {},
	} {
		k := newKit(t, nil)
		_, err := k.Make(t.Context(), batches.Options{}, forms...)
		if domain.CodeOf(err) != domain.Invalid || len(k.store.calls) != 0 {
			t.Errorf("%s: %v, called %v", name, err, k.store.calls)
		}
	}
}

func TestWhatIsRefusedLeavesNothing(t *testing.T) {
	registry := work.NewRegistry()
	must(t, work.Handle(registry, func(context.Context, work.Job[mail]) error { return nil }))
	other := domain.BatchID{6: 0x70, 8: 0x80, 15: 9}
	for name, c := range map[string]struct {
		o     batches.Options
		items []enqueue.Item
	}{
		"an unknown callback": {o: batches.Options{Callback: sent{}}},
		"options of none":     {o: batches.Options{With: []enqueue.Option{enqueue.Queue("q")}}},
		"a long name":         {o: batches.Options{Name: strings.Repeat("x", domain.MaxBatch+1)}},
		"a late callback":     {o: batches.Options{Callback: mail{}, With: []enqueue.Option{enqueue.After(1)}}},
		"an unknown member":   {items: []enqueue.Item{{Args: mail{}}, {Args: sent{}}}},
		"another batch's":     {items: []enqueue.Item{{Args: mail{}, Options: []enqueue.Option{enqueue.Batch(other)}}}},
		"a list as callback":  {o: batches.Options{Callback: listed{}}},
		"a callback's batch":  {o: batches.Options{Callback: batched{}}},
	} {
		k := newKit(t, registry)
		if name == "a list as callback" || name == "a callback's batch" {
			k = newKit(t, nil)
		}
		_, err := k.Make(t.Context(), c.o, batches.Of(c.items...))
		if domain.CodeOf(err) != domain.Invalid || len(k.store.calls) != 0 {
			t.Errorf("%s: %v, called %v", name, err, k.store.calls)
		}
	}
}

type listed []int

func (listed) Kind() string { return "listed" }

type batched struct {
	Batch int `json:"batch"`
}

func (batched) Kind() string { return "batched" }

func TestAHostsTransactionIsRefused(t *testing.T) {
	k := newKit(t, nil)
	tx, err := memstore.Begin(k.back)
	must(t, err)
	defer func() { must(t, tx.Rollback()) }()
	item := enqueue.Item{Args: mail{}, Options: []enqueue.Option{enqueue.In(tx)}}
	_, err = k.Make(t.Context(), batches.Options{}, batches.Of(item))
	wantCode(t, err, domain.Unsupported)
	if len(k.store.calls) != 0 {
		t.Errorf("called %v", k.store.calls)
	}
	_, err = k.Make(t.Context(), batches.Options{}, batches.Build(func(ctx context.Context, add batches.Add) error {
		_, err := add(ctx, item)
		return err
	}))
	wantCode(t, err, domain.Unsupported)
}

// TestMembersInAHostsTransaction join an open batch, which cannot be sealed before
// that has ended.
func TestMembersInAHostsTransaction(t *testing.T) {
	k := newKit(t, nil)
	id, err := k.Create(t.Context(), batches.Options{Callback: sent{}})
	must(t, err)
	tx, err := memstore.Begin(k.back)
	must(t, err)
	_, err = k.Add(t.Context(), id, enqueue.Item{Args: mail{}, Options: []enqueue.Option{enqueue.In(tx)}})
	must(t, err)
	_, err = k.Seal(t.Context(), id)
	wantCode(t, err, domain.Contended)
	must(t, tx.Commit())
	sealed, err := k.Seal(t.Context(), id)
	must(t, err)
	if sealed.Total != 1 {
		t.Errorf("sealed %+v", sealed)
	}
}

func TestMembersThatTheStoreRefusesLeaveNoBatch(t *testing.T) {
	k := newKit(t, nil)
	_, _, err := k.client.Enqueue(t.Context(), mail{}, enqueue.Unique("k"))
	must(t, err)
	_, err = k.Make(t.Context(), batches.Options{Callback: sent{}},
		batches.Of(enqueue.Item{Args: mail{}, Options: []enqueue.Option{enqueue.Unique("k"), enqueue.OnConflict(domain.Error)}}))
	wantCode(t, err, domain.Conflict)
	if all, err := k.List(t.Context(), domain.AnyBatch, domain.BatchPage{}); err != nil || len(all) != 0 {
		t.Errorf("left %v, %v", all, err)
	}
}

// TestWhatIsInDoubtStays: the jobs may be there, so their batch must be.
func TestWhatIsInDoubtStays(t *testing.T) {
	for _, broken := range []string{"insert", "seal"} {
		k := newKit(t, nil)
		k.store.fail[broken] = &domain.Fault{Code: domain.Unavailable, Op: broken}
		made, err := k.Make(t.Context(), batches.Options{Callback: sent{}}, batches.Of(mails(2)...))
		wantCode(t, err, domain.Unavailable)
		if made.ID.IsZero() || !strings.Contains(err.Error(), made.ID.String()) {
			t.Errorf("%s: it does not name the batch: %v", broken, err)
		}
		if b, err := k.Get(t.Context(), made.ID); err != nil || b.State() != domain.BatchOpen {
			t.Errorf("%s: %+v, %v", broken, b, err)
		}
	}
}
