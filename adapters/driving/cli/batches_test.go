package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// fakeBatches answers what there is, and records what it is asked.
type fakeBatches struct {
	all    []domain.Batch
	sealed domain.Sealed
	err    error

	act    string
	id     domain.BatchID
	tenant string
	state  domain.BatchState
	page   domain.BatchPage
}

func (f *fakeBatches) note(ctx context.Context, act string, id domain.BatchID) {
	f.act, f.id, f.tenant = act, id, domain.TenantOf(ctx)
}

func (f *fakeBatches) Get(ctx context.Context, id domain.BatchID) (domain.Batch, error) {
	f.note(ctx, "get", id)
	if f.err != nil {
		return domain.Batch{}, f.err
	}
	return f.all[0], nil
}

func (f *fakeBatches) List(ctx context.Context, state domain.BatchState, p domain.BatchPage) ([]domain.Batch, error) {
	f.note(ctx, "list", p.Before)
	f.state, f.page = state, p
	return f.all, f.err
}

func (f *fakeBatches) Seal(ctx context.Context, id domain.BatchID) (domain.Sealed, error) {
	f.note(ctx, "seal", id)
	return f.sealed, f.err
}

func (f *fakeBatches) Forget(ctx context.Context, id domain.BatchID) error {
	f.note(ctx, "forget", id)
	return f.err
}

func someBatches() *fakeBatches {
	call := &domain.Template{Kind: "sent"}
	return &fakeBatches{
		all: []domain.Batch{
			{ID: domain.BatchID(id(3)), Name: "c", CreatedAt: now(), Pending: 2, Callback: call},
			{ID: domain.BatchID(id(2)), Name: "b\x1b[2J", CreatedAt: now(), SealedAt: now(), Total: 9, Pending: 1, Tenant: "acme"},
			{ID: domain.BatchID(id(1)), CreatedAt: now(), SealedAt: now(), FinishedAt: now(), Total: 9, Done: 7, Callback: call, CallbackJob: id(7), Keep: time.Hour},
		},
		sealed: domain.Sealed{Total: 9},
	}
}

func TestBatchesList(t *testing.T) {
	f := someBatches()
	got := runner{fake: &fake{batches: f}}.run(t, "batches", "list", "--json", "--tenant", "acme", "--state", "sealed", "--limit", "3", "--before", id(4).String())
	all := document[[]batchView](t, got)
	if f.state != domain.BatchSealed || f.page != (domain.BatchPage{Before: domain.BatchID(id(4)), Size: 3}) || f.tenant != "acme" {
		t.Errorf("asked for %v, %+v of %q", f.state, f.page, f.tenant)
	}
	if len(all) != 3 || all[0].State != "open" || all[0].Failed != 0 || all[1].State != "sealed" || all[1].Total != 9 || all[1].Failed != 0 || all[1].Tenant != "acme" {
		t.Errorf("batches %+v", all)
	}
	if last := all[2]; last.State != "finished" || last.Done != 7 || last.Failed != 2 || last.CallbackJob != id(7).String() || last.Callback != "sent" || last.Keep != "1h0m0s" {
		t.Errorf("the finished one is %+v", last)
	}
	got = runner{fake: &fake{batches: f}}.run(t, "batches", "list", "--limit", "3")
	for _, want := range []string{"finished", "2026-01-02 03:04:05Z", "sent"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not in\n%s", want, got.out)
		}
	}
	if strings.Contains(got.out, "\x1b") || !strings.Contains(got.err, "--before "+id(1).String()) || f.state != domain.AnyBatch {
		t.Errorf("printed %+v", got)
	}
}

func TestBatchesShow(t *testing.T) {
	f := someBatches()
	v := document[wholeBatch](t, runner{fake: &fake{batches: f}}.run(t, "batches", "show", id(3).String(), "--json"))
	if v.Pending != 2 || v.State != "open" || f.id != domain.BatchID(id(3)) {
		t.Errorf("showed %+v of %v", v, f.id)
	}
	got := runner{fake: &fake{batches: f}}.run(t, "batches", "show", id(3).String())
	if !strings.Contains(got.out, "pending      2") || strings.Contains(got.out, "total") {
		t.Errorf("an open one: %s", got.out)
	}
	f.all = f.all[2:]
	got = runner{fake: &fake{batches: f}}.run(t, "batches", "show", id(1).String())
	if !strings.Contains(got.out, "failed       2") || strings.Contains(got.out, "pending") || !strings.Contains(got.out, id(7).String()) {
		t.Errorf("a finished one: %s", got.out)
	}
}

func TestBatchesSealAndForget(t *testing.T) {
	f := someBatches()
	if got := (runner{fake: &fake{batches: f}}).run(t, "batches", "seal", id(1).String()); got.out != "sealed: 9 jobs\n" || f.act != "seal" {
		t.Errorf("%+v", got)
	}
	f.sealed = domain.Sealed{Total: 1, Again: true}
	if got := (runner{fake: &fake{batches: f}}).run(t, "batches", "seal", id(1).String()); got.out != "was sealed before: 1 job\n" {
		t.Errorf("%+v", got)
	}
	got := runner{fake: &fake{batches: f}}.run(t, "batches", "seal", id(1).String(), "--json")
	if got.out != `{"id":"`+id(1).String()+`","total":1,"again":true}`+"\n" {
		t.Errorf("%+v", got)
	}
	got = runner{fake: &fake{batches: f}}.run(t, "batches", "forget", id(1).String(), "--json", "--tenant", "acme")
	if got.out != `{"id":"`+id(1).String()+`","forgotten":true}`+"\n" || f.act != "forget" || f.tenant != "acme" {
		t.Errorf("%+v, asked %+v", got, f)
	}
}

func TestBatchesExitCodes(t *testing.T) {
	for code, want := range map[domain.Code]int{domain.NotFound: 3, domain.Unsupported: 6, domain.Unavailable: 7} {
		f := &fakeBatches{err: &domain.Fault{Code: code, Op: "batches", Hint: "do this"}}
		for _, args := range [][]string{{"list"}, {"show", id(1).String()}, {"seal", id(1).String()}, {"forget", id(1).String()}} {
			got := runner{fake: &fake{batches: f}}.run(t, append(append([]string{"batches"}, args...), "--json")...)
			if v := document[errorView](t, got); got.code != want || v.Error.Hint != "do this" {
				t.Errorf("%v: exit %d, %+v", args, got.code, v)
			}
		}
	}
	for _, args := range [][]string{
		{"list", "--state", "odd"}, {"list", "--limit", "0", "x"}, {"list", "--limit", "501"}, {"list", "--before", "x"},
		{"show"}, {"show", "x"}, {"seal"}, {"forget", "x"}, {"forget", id(1).String(), id(2).String()},
	} {
		if got := (runner{fake: &fake{batches: someBatches()}}).run(t, append([]string{"batches"}, args...)...); got.code != 2 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestJobsOfABatch(t *testing.T) {
	f := &fake{jobs: []domain.Job{{ID: id(1), Batch: domain.BatchID(id(9)), FailureKind: "told"}}}
	got := runner{fake: f}.run(t, "jobs", "list", "--batch", id(9).String(), "--json")
	type seen struct {
		Batch   string
		Failure string `json:"failure_kind"`
	}
	if all := document[[]seen](t, got); f.filter.Batch != domain.BatchID(id(9)) || all[0].Batch != id(9).String() {
		t.Errorf("chose %+v, showed %+v", f.filter, all)
	}
	if v := document[seen](t, runner{fake: f}.run(t, "jobs", "show", id(1).String(), "--json")); v.Failure != "told" {
		t.Errorf("showed %+v", v)
	}
	if got := (runner{fake: f}).run(t, "jobs", "list", "--batch", "x"); got.code != 2 {
		t.Errorf("%+v", got)
	}
	got = runner{fake: f}.run(t, "jobs", "cancel", "--batch", id(9).String())
	if got.code != 0 || f.act != "cancel all" || f.bulk.Filter.Batch != domain.BatchID(id(9)) {
		t.Errorf("%+v, %s of %+v", got, f.act, f.bulk)
	}
}
