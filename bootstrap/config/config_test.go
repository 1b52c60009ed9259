package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/bootstrap/config"
	"github.com/rowlock/rowlock/domain"
)

const whole = `
# schedules of the shop
namespace: shop
schedules:
  - name: report
    cron: "0 7 * * mon-fri"
    zone: Europe/Vienna
    kind: http
    args: {url: "https://example.com/<report>", id: 9007199254740993, rate: 0.10, hex: 0x10, on: yes, none: ~, list: [1, two, {deep: true}], day: 2026-01-31}
    queue: web
    priority: -5
    tenant: acme
    missed: all
    missed_max: 7
    max_attempts: 3
    timeout: 1m30s
    failure_kind: alarm
    tags: [a, b]
    meta: {by: "me"}
    keep_done: 7d
    keep_dead: forever
    forget_args: true
  - {name: ping, every: 5m, kind: http}
`

func TestAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rowlock.yaml")
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := config.Load(path)
	if err != nil || file.Namespace != "shop" || len(file.Schedules) != 2 {
		t.Fatalf("%+v, %v", file, err)
	}
	report, ping := file.Schedules[0], file.Schedules[1]
	if report.Name != "report" || report.Tenant != "acme" || report.Timing != (domain.Timing{Cron: "0 7 * * mon-fri", Zone: "Europe/Vienna"}) || report.Missed != (domain.Missed{Policy: domain.MissedAll, Max: 7}) {
		t.Errorf("%+v", report)
	}
	job := report.Job.Job(domain.JobID{}, "", domain.Due{})
	if job.Kind != "http" || job.Queue != "web" || job.Priority != -5 || job.MaxAttempts != 3 || job.Timeout != 90*time.Second || job.FailureKind != "alarm" ||
		strings.Join(job.Tags, " ") != "a b" || string(job.Meta) != `{"by":"me"}` || job.Keep != (domain.Retention{Done: 7 * 24 * time.Hour, Dead: domain.KeepForever}) || !job.ForgetArgs {
		t.Errorf("%+v", job)
	}
	const args = `{"url":"https://example.com/<report>","id":9007199254740993,"rate":0.10,"hex":16,"on":"yes","none":null,"list":[1,"two",{"deep":true}],"day":"2026-01-31"}`
	if string(job.Args) != args {
		t.Errorf("args %s, want %s", job.Args, args)
	}
	if ping.Timing.Every != 5*time.Minute || ping.Missed != (domain.Missed{}) || ping.Job.Queue != "default" || string(ping.Job.Args) != "{}" {
		t.Errorf("%+v", ping)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	head := "namespace: shop\nschedules:\n"
	for name, c := range map[string]struct{ text, says string }{
		"a field that is not known":   {"namespace: shop\nqueue: a\n", "line 2: invalid: field queue not found"},
		"one of a schedule":           {head + "  - name: a\n    every: 1m\n    kind: http\n    crom: x\n", "line 6: invalid: field crom not found"},
		"a field that is there twice": {head + "  - name: a\n    name: b\n    kind: http\n", "already defined"},
		"no namespace":                {"schedules: [{name: a, every: 1m, kind: http}]", "namespace"},
		"a namespace of nothing":      {"namespace: \"a\\0\"", "NUL"},
		"a list in place of a map":    {"- a\n", "line 1"},
		"no YAML":                     {"namespace: [", "line 1"},
		"two documents":               {"namespace: a\n---\nnamespace: b\n", "more than one document"},
		"a bad expression":            {head + "  - {name: a, cron: '5-2 * * * *', kind: http}", `line 3: schedule "a": invalid: 5-2 * * * *: minute: the range`},
		"a zone that is none":         {head + "  - {name: a, cron: '@daily', zone: Local, kind: http}", "name the zone"},
		"no timing":                   {head + "  - {name: a, kind: http}", "give a cron expression or an interval"},
		"both timings":                {head + "  - {name: a, kind: http, every: 1m, cron: '@daily'}", "not both"},
		"no kind":                     {head + "  - {name: a, every: 1m}", "it is empty"},
		"no name":                     {head + "  - {kind: http, every: 1m}", "it is empty"},
		"an interval that is no span": {head + "  - {name: a, kind: http, every: soon}", "soon"},
		"one below nothing":           {head + "  - {name: a, kind: http, every: 1m, timeout: -5}", "more than 0"},
		"an interval for ever":        {head + "  - {name: a, kind: http, every: forever}", "forever"},
		"a policy that is none":       {head + "  - {name: a, kind: http, every: 1m, missed: twice}", "once, skip, all"},
		"a cap without all":           {head + "  - {name: a, kind: http, every: 1m, missed_max: 3}", "missed: all"},
		"the same name again":         {head + "  - {name: a, kind: http, every: 1m}\n  - {name: a, kind: http, every: 2m}", "one of this name in line 3"},
		"a word for a number":         {head + "  - {name: a, kind: http, every: 1m, priority: high}", "line 3"},
		"a key that JSON has not":     {head + "  - {name: a, kind: http, every: 1m, args: {[1]: 2}}", "plain text"},
		"a key twice in args":         {head + "  - {name: a, kind: http, every: 1m, args: {x: 1, x: 2}}", "twice"},
		"infinity":                    {head + "  - {name: a, kind: http, every: 1m, args: {x: .inf}}", "no such number"},
		"args around themselves":      {head + "  - {name: a, kind: http, every: 1m, args: &x {y: *x}}", ""},
		"aliases of aliases": {head + "  - name: a\n    every: 1m\n    kind: http\n    args:\n      a: &a [x,x,x,x,x,x,x,x,x,x]\n      b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n      c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"      d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n      e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n      f: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", ""},
	} {
		file, err := config.Read([]byte(c.text))
		if domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "config.") {
			t.Errorf("%s: %+v, %v, want Invalid with %q", name, file, err, c.says)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "namespace: shop\n", "namespace: shop\nschedules: []\n"} {
		if file, err := config.Read([]byte(empty)); err != nil || len(file.Schedules) != 0 {
			t.Errorf("%q: %+v, %v", empty, file, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := config.Load(missing); domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), "none.yaml") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("namespace: a\nschedules: [{name: x, every: 1s, kind: k, args: &a [*a]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := config.Read(text)
		if err != nil && domain.CodeOf(err) != domain.Invalid {
			t.Fatalf("%v", err)
		}
		for _, s := range file.Schedules {
			if err := s.Validate(); err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
		}
	})
}
