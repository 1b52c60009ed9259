package work

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

type mourned struct{}

func (mourned) Kind() string { return "mourned" }

type obituary struct {
	FailedJob
	Own string `json:"own"`
}

func (obituary) Kind() string { return "obituary" }

func TestFailuresNameTheKindsThatDeclareOne(t *testing.T) {
	r := NewRegistry()
	idle := func(context.Context, Job[mourned]) error { return nil }
	if err := Handle(r, idle, OnDeath("obituary"), ForgetArgs()); err != nil {
		t.Fatal(err)
	}
	_, err := r.Failures()
	if domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), "mourned") || !strings.Contains(err.Error(), `"obituary"`) {
		t.Errorf("a failure kind without a handler: %v", err)
	}
	if err := Handle(r, func(context.Context, Job[obituary]) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if all, err := r.Failures(); err != nil || len(all) != 1 || all["mourned"] != "obituary" {
		t.Errorf("failures %v, %v", all, err)
	}
	if e, _ := r.Find("mourned"); !e.ForgetArgs || e.Failure != "obituary" {
		t.Errorf("the entry is %+v", e)
	}
}

func TestFailureKindsAreJudgedAtRegistration(t *testing.T) {
	for _, kind := range []string{"", "mourned", strings.Repeat("x", domain.MaxKind+1)} {
		err := Handle(NewRegistry(), func(context.Context, Job[mourned]) error { return nil }, OnDeath(kind))
		if domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

// TestWhatRowlockWritesIsRead: the args of a failure job and of a callback, by the
// types that are meant for them.
func TestWhatRowlockWritesIsRead(t *testing.T) {
	dead := domain.Job{ID: domain.JobID{6: 0x70, 8: 0x80, 15: 1}, Kind: "k", Queue: "q", Args: []byte(`{"big":9007199254740993}`)}
	made, err := domain.FailureJob(&dead, "obituary", domain.Token{1}, 2, 5, "no")
	if err != nil {
		t.Fatal(err)
	}
	var o obituary
	if err := json.Unmarshal(made.Args, &o); err != nil || o.Job.ID != dead.ID || o.Job.Kind != "k" || string(o.Job.Args) != string(dead.Args) ||
		o.Job.Attempt != 2 || o.Job.MaxAttempts != 5 || o.Error != "no" {
		t.Errorf("%s is read as %+v, %v", made.Args, o, err)
	}
	b := domain.Batch{ID: domain.BatchID{6: 0x70, 8: 0x80, 15: 2}, Name: "b", Total: 3, Done: 1, Callback: &domain.Template{Kind: "c", Queue: "q", Args: []byte(`{"own":1}`)}}
	job, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Own   int
		Batch BatchReport `json:"batch,omitzero"`
	}
	if err := json.Unmarshal(job.Args, &c); err != nil || c.Own != 1 || c.Batch.ID != b.ID || c.Batch.Failed != 2 || c.Batch.Succeeded {
		t.Errorf("%s is read as %+v, %v", job.Args, c, err)
	}
}
