package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func TestFlagsOfUniqueJobs(t *testing.T) {
	f := &fake{results: []domain.Inserted{domain.Rescheduled}}
	got := runner{fake: f}.run(t, "enqueue", "k", "--unique", "u", "--unique-for", "1d", "--on-conflict", "reschedule",
		"--failure-kind", "told", "--batch", id(9).String(), "--json")
	if got.out != `{"id":"`+id(1).String()+`","result":"rescheduled"}`+"\n" {
		t.Fatalf("%+v", got)
	}
	job := f.added[0]
	if *job.Unique != (domain.Unique{Key: "u", Window: 24 * time.Hour, OnConflict: domain.Reschedule}) || job.FailureKind != "told" || job.Batch != domain.BatchID(id(9)) {
		t.Errorf("added %+v", job)
	}
}

func TestLinesOfUniqueJobs(t *testing.T) {
	f := &fake{results: []domain.Inserted{domain.Replaced, domain.Rescheduled, domain.Existing, domain.InsertedNew}}
	lines := strings.Join([]string{
		`{"kind":"k","unique":"a","unique_for":3600,"on_conflict":"replace"}`, `{"kind":"k","unique":"b","on_conflict":"reschedule"}`,
		`{"kind":"k","unique":"c","on_conflict":"skip"}`, `{"kind":"k","failure_kind":"told","batch":"` + id(9).String() + `"}`,
	}, "\n")
	v := document[fileView](t, runner{fake: f, stdin: lines}.run(t, "enqueue", "--file", "-", "--json"))
	if v.Enqueued != 1 || v.Existing != 1 || v.Replaced != 1 || v.Rescheduled != 1 {
		t.Errorf("report %+v", v)
	}
	if f.added[0].Unique.Window != time.Hour || f.added[0].Unique.OnConflict != domain.Replace || f.added[3].FailureKind != "told" || f.added[3].Batch.IsZero() {
		t.Errorf("added %+v", f.added)
	}
	f = &fake{results: []domain.Inserted{domain.Replaced}}
	if got := (runner{fake: f, stdin: `{"kind":"k","unique":"a","on_conflict":"replace"}`}).run(t, "enqueue", "--file", "-"); got.out != "enqueued 0, existing 0, replaced 1, rescheduled 0, refused 0\n" {
		t.Errorf("%+v", got)
	}
}

func TestFieldsOfUniqueJobsAreJudged(t *testing.T) {
	for line, want := range map[string]string{
		`{"kind":"k","unique_for":60}`:                                   "unique_for",
		`{"kind":"k","unique":"u","unique_for":"x"}`:                     "unique_for",
		`{"kind":"k","unique":"u","unique_for":0.5}`:                     "unique_for",
		`{"kind":"k","unique":"u","unique_for":-5}`:                      "unique_for",
		`{"kind":"k","unique":"u","on_conflict":"odd"}`:                  "on_conflict",
		`{"kind":"k","on_conflict":"replace"}`:                           "on_conflict",
		`{"kind":"k","batch":"x"}`:                                       "batch",
		`{"kind":"k","failure_kind":"` + strings.Repeat("x", 121) + `"}`: "failure_kind",
	} {
		v := document[fileView](t, runner{fake: &fake{}, stdin: line}.run(t, "enqueue", "--file", "-", "--json"))
		if v.Refused != 1 || len(v.Errors) != 1 || v.Errors[0].Path != want {
			t.Errorf("%s: %+v", line, v)
		}
	}
}

// TestASealedBatchIsNoHeldKey: both are conflicts.
func TestASealedBatchIsNoHeldKey(t *testing.T) {
	batch := id(9).String()
	f := &fake{addErr: func(jobs []domain.NewJob) error {
		for _, j := range jobs {
			if !j.Batch.IsZero() {
				return &domain.Fault{Code: domain.Conflict, Op: "insert", Subject: batch, Hint: "this batch is sealed"}
			}
		}
		return nil
	}}
	lines := `{"kind":"k"}` + "\n" + `{"kind":"k","batch":"` + batch + `"}`
	v := document[fileView](t, runner{fake: f, stdin: lines}.run(t, "enqueue", "--file", "-", "--continue-on-error", "--json"))
	if v.Enqueued != 1 || v.Refused != 1 || v.Errors[0].Path != "batch" || v.Errors[0].Reason != "this batch is sealed" {
		t.Errorf("report %+v", v)
	}
}

func TestATenantThatCannotBeIsRefused(t *testing.T) {
	long := strings.Repeat("x", domain.MaxTenant+1)
	for _, args := range [][]string{
		{"jobs", "list"}, {"jobs", "show", id(1).String()}, {"jobs", "retry", id(1).String()}, {"jobs", "delete", "--all"}, {"jobs", "cancel", "--all"},
		{"dead", "list"}, {"stats"}, {"prune"}, {"enqueue", "k"}, {"limits"}, {"batches", "list"}, {"batches", "seal", id(1).String()},
	} {
		f := &fake{}
		got := runner{fake: f}.run(t, append(args, "--tenant", long, "--json")...)
		if v := document[errorView](t, got); got.code != 2 || !strings.Contains(v.Error.Hint, "190") || f.opened != 0 {
			t.Errorf("%v: exit %d, %+v", args, got.code, v)
		}
	}
}

func TestFlagsOfOldJobs(t *testing.T) {
	f := &fake{}
	got := runner{fake: f}.run(t, "work", "--once", "--retain", "done=7d,dead=90d", "--retain", "cancelled=forever", "--no-prune", "--prune-every", "1h")
	w := f.settings.Work
	if got.code != 0 || w.Keep != (domain.Retention{Done: 7 * 24 * time.Hour, Dead: 90 * 24 * time.Hour, Cancelled: domain.KeepForever}) || !w.NoPrune || w.PruneEvery != time.Hour {
		t.Errorf("%+v: %+v", got, w)
	}
	for _, bad := range []string{"done", "done=", "done=x", "ready=1d", "done=0"} {
		if got := (runner{fake: &fake{}}).run(t, "work", "--once", "--retain", bad); got.code != 2 {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}
