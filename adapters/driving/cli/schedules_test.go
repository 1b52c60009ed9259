package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// fakeSchedules records what it is asked and answers what it is told.
type fakeSchedules struct {
	all    []domain.Schedule
	added  domain.Schedule
	asked  string
	tenant string
	after  domain.ScheduleKey
	limit  int
	err    error
}

func (f *fakeSchedules) ask(ctx context.Context, what, name string) error {
	f.asked, f.tenant = strings.TrimSpace(what+" "+name), domain.TenantOf(ctx)
	return f.err
}

func (f *fakeSchedules) Add(ctx context.Context, s domain.Schedule) error {
	f.added = s
	return f.ask(ctx, "add", s.Name)
}

func (f *fakeSchedules) Pause(ctx context.Context, name string) error {
	return f.ask(ctx, "pause", name)
}

func (f *fakeSchedules) Resume(ctx context.Context, name string) error {
	return f.ask(ctx, "resume", name)
}

func (f *fakeSchedules) Delete(ctx context.Context, name string) error {
	return f.ask(ctx, "delete", name)
}

func (f *fakeSchedules) Run(ctx context.Context, name string) (driving.Added, error) {
	return driving.Added{ID: id(7)}, f.ask(ctx, "run", name)
}

func (f *fakeSchedules) Get(ctx context.Context, name string) (domain.Schedule, error) {
	return domain.Schedule{}, f.ask(ctx, "get", name)
}

func (f *fakeSchedules) List(ctx context.Context, after domain.ScheduleKey, limit int) ([]domain.Schedule, error) {
	f.after, f.limit = after, limit
	return f.all, f.ask(ctx, "list", "")
}

func TestScheduleChanges(t *testing.T) {
	for _, verb := range []string{"pause", "resume", "delete"} {
		f := &fake{sched: &fakeSchedules{}}
		got := runner{fake: f}.run(t, "schedules", verb, "nightly report", "--tenant", "acme", "--json")
		v := document[changedView](t, got)
		if got.code != 0 || f.sched.asked != verb+" nightly report" || f.sched.tenant != "acme" || v.Name != "nightly report" || !strings.HasPrefix(v.Result, verb) {
			t.Errorf("%s: %+v, asked %q of %q", verb, got, f.sched.asked, f.sched.tenant)
		}
		f.sched.err = &domain.Fault{Code: domain.NotFound, Op: verb}
		if got := (runner{fake: f}).run(t, "schedules", verb, "x"); got.code != 3 || got.out != "" {
			t.Errorf("%s what is not there: %+v", verb, got)
		}
		if got := (runner{fake: f}).run(t, "schedules", verb); got.code != 2 || !strings.Contains(got.err, "the schedule's name") {
			t.Errorf("%s nothing: %+v", verb, got)
		}
	}
	f := &fake{sched: &fakeSchedules{}}
	got := runner{fake: f}.run(t, "schedules", "run", "ping", "--json")
	if v := document[map[string]any](t, got); got.code != 0 || f.sched.asked != "run ping" || v["id"] != id(7).String() || v["result"] != "inserted" {
		t.Errorf("run: %+v", got)
	}
}

func TestScheduleList(t *testing.T) {
	at := now().Add(time.Hour)
	all := []domain.Schedule{
		{ScheduleKey: domain.ScheduleKey{Name: "report"}, Namespace: "shop", Timing: domain.Timing{Cron: "0 7 * * mon-fri", Zone: "Europe/Vienna"}, NextAt: at, LastAt: now(), LastJob: id(9), Skipped: 4, Job: domain.Template{Kind: "http", Queue: "web", Args: json.RawMessage(`{"n":9007199254740993}`)}},
		{ScheduleKey: domain.ScheduleKey{Tenant: "acme", Name: "ping"}, Timing: domain.Timing{Every: 90 * time.Second}, Missed: domain.Missed{Policy: domain.MissedAll, Max: 3}, Paused: true, Job: domain.Template{Kind: "other"}},
		{ScheduleKey: domain.ScheduleKey{Tenant: "acme", Name: "utc"}, Timing: domain.Timing{Cron: "@daily"}, Broken: "no \x1b[31mzone", Job: domain.Template{Kind: "http"}},
	}
	f := &fake{sched: &fakeSchedules{all: all}, stats: driving.Stats{Runners: []domain.RunnerInfo{{Kinds: []string{"http"}}}}}
	got := runner{fake: f}.run(t, "schedules", "list", "--json", "--limit", "3", "--after", "a", "--after-tenant", "b")
	views := document[[]map[string]any](t, got)
	if got.code != 0 || len(views) != 3 || f.sched.limit != 3 || f.sched.after != (domain.ScheduleKey{Tenant: "b", Name: "a"}) {
		t.Fatalf("%+v, asked for %+v", got, f.sched)
	}
	if v := views[0]; v["name"] != "report" || v["namespace"] != "shop" || v["cron"] != "0 7 * * mon-fri" || v["zone"] != "Europe/Vienna" || v["next_at"] != "2026-01-02T04:04:05.678Z" || v["skipped"] != 4.0 || v["handled"] != true || v["last_job"] != id(9).String() || !strings.Contains(got.out, `"args":{"n":9007199254740993}`) {
		t.Errorf("%v", v)
	}
	if v := views[1]; v["tenant"] != "acme" || v["every_ms"] != 90000.0 || v["missed"] != "all" || v["missed_max"] != 3.0 || v["paused"] != true || v["handled"] != false || v["next_at"] != nil || v["last_job"] != nil {
		t.Errorf("%v", v)
	}
	people := runner{fake: f}.run(t, "schedules", "list", "--limit", "3")
	for _, word := range []string{"0 7 * * mon-fri Europe/Vienna", "every 1m30s", "paused", "@daily UTC", "broken: no", "all 3", "2026-01-02 04:04:05Z"} {
		if !strings.Contains(people.out, word) {
			t.Errorf("%q is not in\n%s", word, people.out)
		}
	}
	if strings.Contains(people.out, "\x1b") || !strings.Contains(people.err, `--after "utc" --after-tenant "acme"`) {
		t.Errorf("%q, %q", people.out, people.err)
	}
	if got := (runner{fake: f}).run(t, "schedules", "list", "--limit", "501"); got.code != 2 {
		t.Errorf("a page of 501: %+v", got)
	}
	f.sched.all = nil
	if got := (runner{fake: f}).run(t, "schedules", "list", "--json"); strings.TrimSpace(got.out) != "[]" {
		t.Errorf("none: %+v", got)
	}
}

func TestScheduleAdd(t *testing.T) {
	f := &fake{sched: &fakeSchedules{}}
	got := runner{fake: f}.run(t, "schedules", "add", "report", "http", `{"url": "x"}`, "--cron", "0 7 * * mon-fri", "--zone", "Europe/Vienna", "--missed", "all", "--missed-max", "5",
		"--queue", "web", "--priority", "-3", "--max-attempts", "2", "--timeout", "90s", "--failure-kind", "alarm", "--tag", "a", "--tag", "b", "--meta", `{"by":1}`, "--keep-done", "7d", "--keep-dead", "forever", "--forget-args", "--tenant", "acme", "--json")
	d := f.sched.added
	if v := document[map[string]any](t, got); got.code != 0 || v["next_at"] != "2026-01-02T06:00:00.000Z" || f.sched.tenant != "acme" {
		t.Errorf("%+v", got)
	}
	if d.Name != "report" || d.Timing != (domain.Timing{Cron: "0 7 * * mon-fri", Zone: "Europe/Vienna"}) || d.Missed != (domain.Missed{Policy: domain.MissedAll, Max: 5}) {
		t.Errorf("%+v", d)
	}
	job := d.Job.Job(domain.JobID{}, "", domain.Due{})
	if job.Kind != "http" || string(job.Args) != `{"url": "x"}` || job.Queue != "web" || job.Priority != -3 || job.MaxAttempts != 2 || job.Timeout != 90*time.Second || job.FailureKind != "alarm" ||
		strings.Join(job.Tags, "") != "ab" || string(job.Meta) != `{"by":1}` || job.Keep != (domain.Retention{Done: 7 * 24 * time.Hour, Dead: domain.KeepForever}) || !job.ForgetArgs {
		t.Errorf("%+v", job)
	}
	if got := (runner{fake: f}).run(t, "schedules", "add", "ping", "http", "--every", "5m"); got.code != 0 || f.sched.added.Timing.Every != 5*time.Minute || f.sched.added.Job.Queue != "default" || !strings.Contains(got.out, "2026-01-02 03:05:00Z") {
		t.Errorf("%+v, %+v", got, f.sched.added)
	}
	for name, args := range map[string][]string{
		"no timing":              {"ping", "http"},
		"both timings":           {"ping", "http", "--every", "5m", "--cron", "@daily"},
		"no kind":                {"ping", "--every", "5m"},
		"args as many words":     {"ping", "http", "{", "}", "--every", "5m"},
		"args that are no JSON":  {"ping", "http", "{", "--every", "5m"},
		"an interval of nothing": {"ping", "http", "--every", "0"},
		"an interval of a word":  {"ping", "http", "--every", "often"},
		"half a second":          {"ping", "http", "--every", "0.5"},
		"a zone that is none":    {"ping", "http", "--cron", "@daily", "--zone", "+05:30"},
		"a zone of an interval":  {"ping", "http", "--every", "5m", "--zone", "UTC"},
		"a bad expression":       {"ping", "http", "--cron", "5-2 * * * *"},
		"a policy that is none":  {"ping", "http", "--every", "5m", "--missed", "twice"},
		"a cap without all":      {"ping", "http", "--every", "5m", "--missed-max", "3"},
		"no attempts":            {"ping", "http", "--every", "5m", "--max-attempts", "0"},
		"a due time":             {"ping", "http", "--every", "5m", "--after", "1m"},
	} {
		f := &fake{sched: &fakeSchedules{}}
		if got := (runner{fake: f}).run(t, append([]string{"schedules", "add", "--json"}, args...)...); got.code != 2 || f.sched.asked != "" || f.opened != 0 {
			t.Errorf("%s: %+v, asked %q", name, got, f.sched.asked)
		}
	}
	f.sched.err = &domain.Fault{Code: domain.Conflict, Op: "add schedule"}
	if got := (runner{fake: f}).run(t, "schedules", "add", "ping", "http", "--every", "5m"); got.code != 4 {
		t.Errorf("a name that is taken: %+v", got)
	}
}

func TestAWorkersFileOfSchedules(t *testing.T) {
	f := &fake{onWork: func() {}}
	ctx, cancel := context.WithCancel(t.Context())
	f.onWork = cancel
	if got := (runner{fake: f, ctx: ctx}).run(t, "work", "--config", "app.yaml"); got.code != 0 || f.settings.Work == nil || f.settings.Work.Config != "app.yaml" {
		t.Errorf("%+v", got)
	}
}
