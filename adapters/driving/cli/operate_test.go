package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

func aJob() domain.Job {
	return domain.Job{
		ID: id(5), State: domain.Dead, Kind: "mail\x1b[31m", Queue: "q", Attempts: 2, MaxAttempts: 5, RunAt: now(), CreatedAt: now().Add(-time.Hour),
		Args: []byte(odd), Error: "no\x1b[2J\nway", Tags: []string{"t"}, UniqueKey: "u",
		History: domain.History("").Add(domain.Note{At: now(), Attempt: 1, Ran: 1001 * time.Microsecond, Message: "no", Runner: "r"}),
	}
}

func TestJobsListIsAnArray(t *testing.T) {
	f := &fake{jobs: []domain.Job{aJob()}}
	got := runner{fake: f}.run(t, "jobs", "list", "--state", "dead,done", "--queue", "q", "--kind", "k", "--tag", "t", "--error", "no", "--since", "2h", "--until", "2030-01-01T00:00:00Z", "--limit", "7", "--before", id(3).String(), "--json")
	list := document[[]map[string]any](t, got)
	want := map[string]any{
		"id": id(5).String(), "kind": "mail\x1b[31m", "queue": "q", "state": "dead", "attempts": 2.0, "max_attempts": 5.0,
		"run_at": "2026-01-02T03:04:05.678Z", "error": "no\x1b[2J\nway", "created_at": "2026-01-02T02:04:05.678Z", "finished_at": nil,
	}
	for key, value := range want {
		if list[0][key] != value {
			t.Errorf("%s is %v, want %v", key, list[0][key], value)
		}
	}
	if w := f.filter; !slices.Equal(w.States, []domain.State{domain.Dead, domain.Done}) || w.Queue != "q" || w.Kind != "k" || w.Tag != "t" || w.Error != "no" ||
		!w.Since.Equal(now().Add(-2*time.Hour)) || w.Until.Year() != 2030 || f.page != (domain.Page{Before: id(3), Size: 7}) {
		t.Errorf("asked for %+v, %+v", f.filter, f.page)
	}
	if got := (runner{fake: f}).run(t, "dead", "list"); !slices.Equal(f.filter.States, []domain.State{domain.Dead}) || strings.Contains(got.out, "\x1b") || !strings.Contains(got.out, "2/5") {
		t.Errorf("dead list asked for %+v, printed %q", f.filter, got.out)
	}
	f.jobs = nil
	if got := (runner{fake: f}).run(t, "jobs", "list", "--json"); got.out != "[]\n" {
		t.Errorf("an empty list is %q", got.out)
	}
}

func TestJobsShowKeepsArgs(t *testing.T) {
	f := &fake{jobs: []domain.Job{aJob()}}
	got := runner{fake: f}.run(t, "jobs", "show", id(5).String(), "--json")
	v := document[struct {
		Args    json.RawMessage `json:"args"`
		Result  json.RawMessage `json:"result"`
		History []struct {
			At      string  `json:"at"`
			Attempt int     `json:"attempt"`
			RanMS   float64 `json:"ran_ms"`
			Message string  `json:"message"`
		} `json:"history"`
	}](t, got)
	if !strings.Contains(string(v.Args), "9007199254740993") || !strings.Contains(string(v.Args), "3889108265204450030") || !strings.Contains(string(v.Args), `"a' \\ ; ? ?0 $1 :x @p1 --"`) || !strings.Contains(string(v.Args), "🦊") || !strings.Contains(string(v.Args), "1.0") {
		t.Errorf("args are %s", v.Args)
	}
	if string(v.Result) != "null" || len(v.History) != 1 || v.History[0].RanMS != 1.001 || v.History[0].Message != "no" || v.History[0].Attempt != 1 {
		t.Errorf("got %+v", v)
	}
	people := runner{fake: f}.run(t, "jobs", "show", id(5).String())
	if !strings.Contains(people.out, odd) || strings.Contains(people.out, "\x1b") {
		t.Errorf("printed %q", people.out)
	}
	f.jobs[0].Args = []byte("\xff{")
	if got := (runner{fake: f}).run(t, "jobs", "show", id(5).String(), "--json"); got.code != 0 || !json.Valid([]byte(got.out)) {
		t.Errorf("a spoilt row: %+v", got)
	}
}

func TestNamedEdits(t *testing.T) {
	missing := &domain.Fault{Code: domain.NotFound, Op: "retry"}
	f := &fake{edited: []domain.Edited{{ID: id(1)}}}
	if got := (runner{fake: f}).run(t, "jobs", "retry", id(1).String(), "--after", "1h"); got.code != 0 || got.out != "retried 1\n" || f.act != "retry" || f.due.After != time.Hour {
		t.Errorf("%+v, %s after %v", got, f.act, f.due)
	}
	f.edited = []domain.Edited{{ID: id(1), Err: missing}}
	got := runner{fake: f}.run(t, "jobs", "delete", id(1).String(), "--json")
	if v := document[editView](t, got); got.code != 3 || v.Refused != 1 || v.Jobs[0].Code != domain.NotFound || f.act != "delete" {
		t.Errorf("one that is missing: %+v", got)
	}
	f.edited = []domain.Edited{{ID: id(1)}, {ID: id(2), Err: missing}}
	got = runner{fake: f}.run(t, "jobs", "cancel", id(1).String(), id(2).String(), "--json")
	if v := document[editView](t, got); got.code != 4 || v.Done != 1 || v.Refused != 1 || !v.Jobs[0].OK || v.Jobs[1].OK || f.act != "cancel" || len(f.ids) != 2 {
		t.Errorf("one of two: %+v", got)
	}
}

// The commands of dead jobs touch dead jobs alone, also named ones.
func TestDeadEditsByNameAreOfDeadJobsAlone(t *testing.T) {
	f := &fake{edited: []domain.Edited{{ID: id(1)}, {ID: id(2), Err: &domain.Fault{Code: domain.Conflict, Op: "delete", Subject: id(2).String(), Hint: "it is ready"}}}}
	got := runner{fake: f}.run(t, "dead", "delete", id(1).String(), id(2).String(), id(1).String(), "--json")
	v := document[editView](t, got)
	if got.code != 4 || v.Done != 1 || v.Refused != 1 || len(v.Jobs) != 2 || v.Jobs[1].Code != domain.Conflict {
		t.Errorf("%+v", got)
	}
	if f.act != "delete all" || !slices.Equal(f.bulk.Filter.States, []domain.State{domain.Dead}) || !slices.Equal(f.bulk.IDs, []domain.JobID{id(1), id(2)}) || f.bulk.All {
		t.Errorf("asked for %s %+v", f.act, f.bulk)
	}
	people := runner{fake: f}.run(t, "dead", "retry", id(1).String(), id(2).String())
	if f.act != "retry all" || strings.Count(people.err, id(2).String()) != 1 || !strings.Contains(people.err, "it is ready") {
		t.Errorf("%+v", people)
	}
}

// What was changed before a failure is reported with it.
func TestNamedEditsThatFailHalfway(t *testing.T) {
	f := &fake{edited: []domain.Edited{{ID: id(1)}}, err: &domain.Fault{Code: domain.Unavailable, Op: "retry"}}
	for _, group := range []string{"jobs", "dead"} {
		got := runner{fake: f}.run(t, group, "retry", id(1).String(), id(2).String(), "--json")
		if v := document[editView](t, got); got.code != 7 || v.Done != 1 || !strings.Contains(got.err, "unavailable") {
			t.Errorf("%s: %+v", group, got)
		}
	}
}

func TestQueuesAreNamedByteByByte(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{onWork: cancel}
	got := runner{fake: f, ctx: ctx}.run(t, "work", "--queue", "mail , b=3,c=d=4", "--queue", `"x,y"`, "--concurrency", "7")
	want := map[string]int{"mail ": 7, " b": 3, "c=d": 4, "x,y": 7}
	if got.code != 0 || !maps.Equal(f.settings.Work.Queues, want) {
		t.Errorf("%+v works %v, want %v", got, f.settings.Work.Queues, want)
	}
}

func TestBulkEdits(t *testing.T) {
	dead := []domain.State{domain.Dead}
	live := []domain.State{domain.Ready, domain.Scheduled, domain.Blocked, domain.Running}
	for _, c := range []struct {
		args   string
		act    string
		states []domain.State
		all    bool
	}{
		{"jobs retry --all", "retry all", dead, true},
		{"jobs retry --state done --queue q", "retry all", []domain.State{domain.Done}, false},
		{"jobs delete --queue q", "delete all", dead, false},
		{"jobs cancel --queue q", "cancel all", live, false},
		{"jobs cancel --all --state running", "cancel all", []domain.State{domain.Running}, true},
		{"dead delete --all", "delete all", dead, true},
		{"dead retry --kind k", "retry all", dead, false},
	} {
		f := &fake{edited: []domain.Edited{{ID: id(1)}, {ID: id(2)}}}
		got := runner{fake: f}.run(t, append(strings.Fields(c.args), "--json")...)
		if v := document[editView](t, got); got.code != 0 || v.Done != 2 || f.act != c.act || !slices.Equal(f.bulk.Filter.States, c.states) || f.bulk.All != c.all {
			t.Errorf("%s: %+v asked for %s %+v", c.args, got, f.act, f.bulk)
		}
	}
	f := &fake{edited: []domain.Edited{{ID: id(1)}, {ID: id(2), Err: &domain.Fault{Code: domain.Conflict, Hint: "held"}}}}
	got := runner{fake: f}.run(t, "dead", "retry", "--all", "--json")
	if v := document[editView](t, got); got.code != 4 || v.Done != 1 || v.Refused != 1 || len(v.Jobs) != 1 || !strings.Contains(v.Jobs[0].Error, "held") {
		t.Errorf("with a refusal: %+v", got)
	}
	f.err = &domain.Fault{Code: domain.Unavailable, Op: "retry"} // after a page went through
	got = runner{fake: f}.run(t, "dead", "retry", "--all", "--json")
	if v := document[editView](t, got); got.code != 7 || v.Done != 1 {
		t.Errorf("with a failure in the middle: %+v", got)
	}
}

func TestStatsAddUp(t *testing.T) {
	f := &fake{stats: driving.Stats{
		Stats: domain.Stats{Exact: true, Lines: []domain.Line{
			{Queue: "a", Kind: "x", Tally: domain.Tally{Due: 1, Scheduled: 2, Blocked: 3, Running: 4, Stuck: 1, Done: 5, Dead: 6, Cancelled: 7}, Oldest: 90 * time.Second, Timings: domain.Timings{Runs: 2, Min: time.Millisecond, Max: 3 * time.Millisecond, Total: 4 * time.Millisecond}},
			{Queue: "a", Kind: "y", Tally: domain.Tally{Due: 10}, Oldest: 2 * time.Second},
			{Queue: "b", Kind: "x", Tally: domain.Tally{Done: 1}, Oldest: domain.NoneDue},
		}},
		Runners: []domain.RunnerInfo{{ID: "r", Kinds: []string{"x"}, StartedAt: now()}}, Unhandled: []string{"y"},
	}}
	got := runner{fake: f}.run(t, "stats", "--json")
	v := document[statsView](t, got)
	if want := (tallyView{Pending: 16, Due: 11, Scheduled: 2, Blocked: 3, Running: 4, Stuck: 1, Done: 6, Dead: 6, Cancelled: 7}); v.Totals != want || !v.Exact {
		t.Errorf("totals %+v", v.Totals)
	}
	a, b := v.Queues[0], v.Queues[1]
	if a.Queue != "a" || a.Pending != 16 || a.Due != 11 || *a.Oldest != 90 || a.Timings.Runs != 2 || a.Timings.MeanMS != 2 || len(a.Kinds) != 2 || a.Kinds[1].Due != 10 {
		t.Errorf("queue a: %+v", a)
	}
	if b.Oldest != nil || b.Done != 1 || !slices.Equal(v.Unhandled, []string{"y"}) || v.Runners[0].ID != "r" {
		t.Errorf("queue b: %+v, %+v", b, v)
	}
	people := runner{fake: f}.run(t, "stats")
	if !strings.Contains(people.out, "handled by no live runner: y") || !strings.Contains(people.out, "1m30s") {
		t.Errorf("printed %s", people.out)
	}
	got = runner{fake: &fake{}}.run(t, "stats", "--json")
	if !strings.Contains(got.out, `"queues":[]`) || !strings.Contains(got.out, `"unhandled":[]`) || !strings.Contains(got.out, `"runners":[]`) {
		t.Errorf("nothing: %s", got.out)
	}
}

func TestWorkOnceDrainsAndWarns(t *testing.T) {
	f := &fake{drained: driving.Drained{Completed: 5, Retried: 4, Snoozed: 3, Dead: 2, Cancelled: 1, Recovered: 2}, stats: driving.Stats{Unhandled: []string{"http", "mine"}}}
	got := runner{fake: f}.run(t, "work", "--once", "--json")
	v := document[onceView](t, got)
	if got.code != 0 || v.Completed != 5 || v.Retried != 4 || v.Snoozed != 3 || v.Dead != 2 || v.Cancelled != 1 || v.Recovered != 2 || !slices.Equal(v.Unhandled, []string{"mine"}) {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(got.err, "no runner handles, and wait: mine") {
		t.Errorf("no warning: %s", got.err)
	}
	if f.drain.Limit != driving.NoLimit || f.drain.IncludeDelayed {
		t.Errorf("drained with %+v", f.drain)
	}
	if got := (runner{fake: f}).run(t, "work", "--once", "--delayed", "--abandon", "--exits-within", "3s"); got.code != 0 || !f.drain.IncludeDelayed {
		t.Errorf("drained with %+v: %+v", f.drain, got)
	}
	if w := f.settings.Work; !w.Abandon || w.ExitsWithin != 3*time.Second {
		t.Errorf("the settings are %+v", w)
	}
}

func TestWorkStopsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{onWork: cancel, err: nil}
	got := runner{fake: f, ctx: ctx}.run(t, "work", "--allow-exec", "--json")
	if got.code != 0 || got.out != `{"stopped":true}`+"\n" || !f.settings.Work.AllowExec {
		t.Errorf("%+v", got)
	}
	ctx, cancel = context.WithCancel(t.Context())
	f = &fake{onWork: cancel, err: &domain.Fault{Code: domain.Canceled, Op: "stop runner", Hint: "not all handlers had ended"}}
	got = runner{fake: f, ctx: ctx}.run(t, "work", "--json")
	if got.code != 130 || got.out != `{"stopped":true}`+"\n" || !strings.Contains(got.err, "not all handlers had ended") {
		t.Errorf("a stop that not all handlers heeded: %+v", got)
	}
	ctx, cancel = context.WithCancel(t.Context())
	f = &fake{onWork: cancel, err: &domain.Fault{Code: domain.Unavailable, Op: "work"}}
	if got := (runner{fake: f, ctx: ctx}).run(t, "work"); got.code != 7 {
		t.Errorf("a failing stop: %+v", got)
	}
}

func TestWatchEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := (runner{fake: &fake{}, ctx: ctx}).run(t, "stats", "--watch"); got.code != 0 || !strings.Contains(got.out, "TOTAL") && !strings.Contains(got.out, "total") {
		t.Errorf("%+v", got)
	}
}

func TestTourAndBench(t *testing.T) {
	got := runner{fake: &fake{}}.run(t, "demo", "--json")
	if v := document[DemoReport](t, got); got.code != 0 || v.Enqueued != 10 || !strings.Contains(got.err, "step one") {
		t.Errorf("%+v", got)
	}
	got = runner{fake: &fake{}}.run(t, "demo")
	if !strings.Contains(got.out, "step one") || !strings.Contains(got.out, "enqueued 10 = done 5 + dead 2 + cancelled 1 + waiting 2") {
		t.Errorf("%+v", got)
	}
	got = runner{fake: &fake{}}.run(t, "bench", "--jobs", "5000", "--rounds", "2", "--json")
	if v := document[BenchReport](t, got); got.code != 0 || v.Jobs != 5000 || v.Rounds != 2 || v.Cases[0].Ratio != 0.5 {
		t.Errorf("%+v", got)
	}
	if got := (runner{fake: &fake{}}).run(t, "bench"); !strings.Contains(got.out, "0.50") || !strings.Contains(got.out, "20000 jobs a round, 9 workers, medians of 3 rounds") {
		t.Errorf("%+v", got)
	}
}

// UnmarshalJSON lets the tests read documents back.
func (m *moment) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, (*time.Time)(m)) }
