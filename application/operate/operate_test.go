package operate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/operate"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestNamedIDsGoInChunksAndAnswerInOrder(t *testing.T) {
	store := newFake(1_201, 0)
	store.add(700, domain.Running)
	var ids []domain.JobID
	for n := range 1_202 { // the last is not there
		ids = append(ids, id(n+1))
	}
	edited, err := operate.New(operate.Deps{Store: store}).Retry(t.Context(), ids, domain.Due{})
	if err != nil || len(edited) != len(ids) {
		t.Fatalf("%d answers, %v", len(edited), err)
	}
	for i, e := range edited {
		want := domain.Code("")
		switch i + 1 {
		case 700:
			want = domain.Conflict
		case 1_202:
			want = domain.NotFound
		}
		if e.ID != ids[i] || domain.CodeOf(e.Err) != want {
			t.Fatalf("answer %d is %v, want id %v and %q", i, e, ids[i], want)
		}
	}
	if sizes := chunks(store); len(sizes) != 3 || sizes[0] != 500 || sizes[1] != 500 || sizes[2] != 202 {
		t.Errorf("the store was asked for %v ids at once", sizes)
	}
}

func chunks(f *fake) (sizes []int) {
	for _, req := range f.requests {
		sizes = append(sizes, len(req.IDs))
	}
	return sizes
}

func TestRequestsCarryTenantDueAndRetention(t *testing.T) {
	ctx, ids := domain.WithTenant(t.Context(), "acme"), []domain.JobID{id(1)}
	store := newFake(1, 0)
	due := domain.Due{After: time.Minute}
	keep := domain.Retention{Cancelled: time.Hour}
	service := operate.New(operate.Deps{Store: store, Keep: keep})
	calls := []func() ([]domain.Edited, error){
		func() ([]domain.Edited, error) { return service.Retry(ctx, ids, due) },
		func() ([]domain.Edited, error) { return service.Reschedule(ctx, ids, due) },
		func() ([]domain.Edited, error) { return service.Cancel(ctx, ids) },
		func() ([]domain.Edited, error) { return service.Delete(ctx, ids) },
	}
	wants := []driven.EditRequest{
		{Tenant: "acme", Due: due},
		{Tenant: "acme", Due: due},
		{Tenant: "acme", Keep: time.Hour},
		{Tenant: "acme"},
	}
	for i, call := range calls {
		if edited, err := call(); err != nil || edited[0].Err != nil {
			t.Fatalf("call %d: %v, %v", i, edited, err)
		}
		got := store.requests[i]
		if got.Tenant != wants[i].Tenant || got.Due != wants[i].Due || got.Keep != wants[i].Keep {
			t.Errorf("call %d asked %+v, want %+v", i, got, wants[i])
		}
	}
}

func TestCancelledJobsStayADayByDefault(t *testing.T) {
	store := newFake(0, 1)
	if _, err := operate.New(operate.Deps{Store: store}).Cancel(t.Context(), []domain.JobID{id(1)}); err != nil {
		t.Fatal(err)
	}
	if keep := store.requests[0].Keep; keep != 24*time.Hour {
		t.Errorf("kept %v", keep)
	}
}

func TestBadDueTimesReachNoStore(t *testing.T) {
	store := newFake(1, 0)
	service := operate.New(operate.Deps{Store: store})
	bad := domain.Due{After: -time.Second}
	_, retry := service.Retry(t.Context(), []domain.JobID{id(1)}, bad)
	_, reschedule := service.Reschedule(t.Context(), []domain.JobID{id(1)}, bad)
	_, bulk := service.RetryAll(t.Context(), all, bad)
	for _, err := range []error{retry, reschedule, bulk} {
		if domain.CodeOf(err) != domain.Invalid {
			t.Errorf("got %v, want Invalid", err)
		}
	}
	if len(store.requests)+len(store.filters) != 0 {
		t.Errorf("the store was asked: %v %v", store.requests, store.filters)
	}
}

func TestAnErrorComesWithTheAnswersBeforeIt(t *testing.T) {
	store := newFake(1_200, 0)
	store.err, store.failAt = errors.New("down"), 3
	var ids []domain.JobID
	for n := range 1_200 {
		ids = append(ids, id(n+1))
	}
	edited, err := operate.New(operate.Deps{Store: store}).Delete(t.Context(), ids)
	if !errors.Is(err, store.err) || len(edited) != 1_000 || len(store.jobs) != 200 {
		t.Errorf("%d answers, %d left, %v", len(edited), len(store.jobs), err)
	}
}

func TestAnEndedContextStopsBetweenChunks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store := newFake(1_200, 0)
	store.onEdit = func(*fake) { cancel() }
	result, err := operate.New(operate.Deps{Store: store}).DeleteAll(ctx, all)
	if domain.CodeOf(err) != domain.Canceled || result.Done != 500 || len(store.jobs) != 700 {
		t.Errorf("%+v, %d left, %v", result, len(store.jobs), err)
	}
}

// short answers fewer than it was asked for.
type short struct{ *fake }

func (s short) Delete(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	edited, err := s.fake.Delete(ctx, req)
	return edited[1:], err
}

func TestAStoreThatForgetsAnAnswerIsFoundOut(t *testing.T) {
	_, err := operate.New(operate.Deps{Store: short{newFake(2, 0)}}).Delete(t.Context(), []domain.JobID{id(1), id(2)})
	if domain.CodeOf(err) != domain.Internal {
		t.Errorf("got %v, want Internal", err)
	}
}
