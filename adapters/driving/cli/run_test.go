package cli

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// each calls do with every command of the tree.
func each(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, do)
	}
}

func newRoot() *cobra.Command {
	s := newShell(Config{Stdout: io.Discard, Stderr: io.Discard})
	return s.root()
}

func TestEveryCommandIsExplainedAndItsExamplesParse(t *testing.T) {
	n := 0
	each(newRoot(), func(cmd *cobra.Command) {
		n++
		if cmd.Short == "" || !strings.Contains(cmd.Example, "rowlock") {
			t.Errorf("%s lacks a short help or an example", cmd.CommandPath())
		}
		for _, example := range strings.Split(cmd.Example, "\n") {
			_, call, _ := strings.Cut(example, "rowlock ")
			call, _, _ = strings.Cut(call, " > ")
			words := strings.Fields(call)
			found, rest, err := newRoot().Find(words)
			if err != nil || found.Name() == "rowlock" && len(words) > 0 {
				t.Errorf("example %q names no command: %v", example, err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("example %q: %v", example, err)
			}
		}
	})
	if n < 20 {
		t.Errorf("the tree has %d commands only", n)
	}
}

func TestEveryFlagHasItsTwin(t *testing.T) {
	seen := map[string]bool{}
	each(newRoot(), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			seen[envName(f.Name)] = true
			var asked []string
			s := &shell{Config: Config{Getenv: func(name string) (string, bool) {
				asked = append(asked, name)
				return "", false
			}}}
			if err := s.readEnv(cmd); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(asked, " ")+" ", envName(f.Name)+" ") {
				t.Errorf("%s --%s is not asked as %s", cmd.CommandPath(), f.Name, envName(f.Name))
			}
		})
	})
	for _, name := range []string{"ROWLOCK_STORE", "ROWLOCK_HTTP_ALLOW_PRIVATE", "ROWLOCK_JSON", "ROWLOCK_MAX_ATTEMPTS"} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestEnvironment(t *testing.T) {
	f := &fake{}
	r := runner{fake: f, env: map[string]string{
		"ROWLOCK_STORE": "sqlite:x", "ROWLOCK_HTTP_ALLOW_PRIVATE": "true", "ROWLOCK_ONCE": "1", "ROWLOCK_JSON": "true",
		"ROWLOCK_QUEUE": "a,b=3", "ROWLOCK_LEASE": "2s", "ROWLOCK_PREFETCH": "false", "ROWLOCK_CONCURRENCY": "7",
	}}
	if got := r.run(t, "work", "--concurrency", "5"); got.code != 0 {
		t.Fatal(got)
	}
	w := f.settings.Work
	if f.settings.Store != "sqlite:x" || !w.HTTPAllowPrivate || w.AllowExec || w.Lease.String() != "2s" || !w.NoPrefetch || w.Concurrency != 5 {
		t.Errorf("settings %+v, work %+v", f.settings, w)
	}
	if w.Queues["a"] != 5 || w.Queues["b"] != 3 {
		t.Errorf("queues %v", w.Queues)
	}
	got := runner{fake: &fake{}, env: map[string]string{"ROWLOCK_STORE": "x:", "ROWLOCK_LEASE": "hush"}}.run(t, "work", "--once")
	if got.code != 2 || !strings.Contains(got.err, "ROWLOCK_LEASE") || strings.Contains(got.err, "hush") {
		t.Errorf("a bad value: %+v", got)
	}
}

func TestExitCodesAndErrorDocument(t *testing.T) {
	for code, want := range map[domain.Code]int{
		domain.Invalid: 2, domain.NotFound: 3, domain.Conflict: 4, domain.Stale: 4, domain.Exhausted: 5,
		domain.Unsupported: 6, domain.Denied: 6, domain.Unavailable: 7, domain.Contended: 7, domain.Canceled: 130, domain.Internal: 1,
	} {
		f := &fake{err: &domain.Fault{Code: code, Op: "look", Subject: "it\x1b[31m", Hint: "do this"}}
		for _, args := range [][]string{{"jobs", "show", id(1).String()}, {"jobs", "list"}, {"stats"}, {"prune"}, {"enqueue", "k"}, {"demo"}, {"bench"}, {"jobs", "retry", "--all"}, {"jobs", "retry", id(1).String()}, {"work", "--once"}} {
			got := runner{fake: f}.run(t, append(args, "--json")...)
			if got.code != want {
				t.Errorf("%s, %v: exit %d, want %d", code, args, got.code, want)
			}
			v := document[errorView](t, got)
			if v.Error.Code != code || v.Error.Hint != "do this" || strings.Contains(got.out+got.err, "\x1b") {
				t.Errorf("%s, %v: %+v", code, args, got)
			}
		}
	}
	if got := (runner{fake: &fake{err: errors.New("bare")}}).run(t, "stats"); got.code != 1 || got.out != "" {
		t.Errorf("an error without a code: %+v", got)
	}
}

func TestUsageFaultsAreInvalid(t *testing.T) {
	for _, args := range [][]string{
		{"bogus"},
		{"jobs", "bogus"},
		{"jobs", "list", "--bogus"},
		{"jobs", "list", "extra"},
		{"jobs", "list", "--limit", "501"},
		{"jobs", "list", "--limit", "x"},
		{"jobs", "list", "--state", "bogus"},
		{"jobs", "list", "--since", "soon"},
		{"jobs", "list", "--before", "x"},
		{"jobs", "show"},
		{"jobs", "show", "x"},
		{"jobs", "retry"},
		{"jobs", "retry", "x"},
		{"jobs", "retry", id(1).String(), "--all"},
		{"jobs", "retry", id(1).String(), "--after", "1h", "--at", "2030-01-01T00:00:00Z"},
		{"jobs", "retry", "--all", "--at", "tomorrow"},
		{"dead", "list", "--state", "done"},
		{"dead", "cancel"},
		{"enqueue"},
		{"enqueue", "k", "{}", "more"},
		{"enqueue", "k", "--max-attempts", "0"},
		{"enqueue", "k", "--timeout", "0"},
		{"enqueue", "k", "--on-conflict", "error"},
		{"enqueue", "k", "--unique", "u", "--on-conflict", "bogus"},
		{"enqueue", "k", "--at", "noon"},
		{"enqueue", "k", "--after", "1h", "--at", "2030-01-01T00:00:00Z"},
		{"enqueue", "k", "not json"},
		{"enqueue", "k", "--meta", "[]"},
		{"enqueue", "k", "--id", "7"},
		{"enqueue", "k", "{}", "--file", "x"},
		{"enqueue", "--file", "x", "--unique", "u"},
		{"work", "--queue", "a=0"},
		{"work", "--queue", "=3"},
		{"work", "--queue", "a=b"},
		{"work", "--delayed"},
		{"work", "--tenant", "acme"},
		{"work", "--once", "--tenant", "acme"},
		{"migrate", "down"},
		{"stats", "--watch", "--json"},
		{"stats", "--watch", "--every", "1ms"},
		{"bench", "--jobs", "1"},
		{"version", "x"},
	} {
		f := &fake{steps: []driving.Step{{Number: 1, Name: "jobs", AppliedAt: now()}}}
		got := runner{fake: f}.run(t, append(args, "--json")...)
		if got.code != 2 || f.calls > 0 && len(f.added) > 0 {
			t.Errorf("%v: exit %d, %s", args, got.code, got.err)
		}
		if v := document[errorView](t, got); v.Error.Code != domain.Invalid {
			t.Errorf("%v: %+v", args, v)
		}
	}
}

// With --json standard output holds exactly one document, whatever went wrong,
// also where the flags themselves cannot be read.
func TestJSONIsOneDocumentWhateverGoesWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		env  map[string]string
	}{
		{args: []string{"--json"}},
		{args: []string{"jobs", "--json"}},
		{args: []string{"stats", "--bogus", "--json"}},
		{args: []string{"stats", "--bogus", "--json=true"}},
		{args: []string{"stats", "--bogus", "--json=false", "--json=1"}},
		{args: []string{"stats", "--bogus"}, env: map[string]string{"ROWLOCK_JSON": "1"}},
		{args: []string{"stats"}, env: map[string]string{"ROWLOCK_JSON": "true"}},
		{args: []string{"work", "--lease", "x"}, env: map[string]string{"ROWLOCK_JSON": "true"}},
	} {
		got := runner{fake: &fake{}, env: c.env}.run(t, c.args...)
		if v := document[errorView](t, got); got.code != 2 || v.Error.Code != domain.Invalid {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
	for _, args := range [][]string{{"stats", "--bogus", "--json=false"}, {"stats", "--bogus"}, {"jobs", "bogus", "--", "--json"}} {
		if got := (runner{fake: &fake{}}).run(t, args...); got.code != 2 || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestStoreMustBeNamed(t *testing.T) {
	for _, args := range [][]string{{"stats"}, {"work"}, {"enqueue", "k"}, {"migrate", "up"}, {"prune"}} {
		got := runner{fake: &fake{}, env: map[string]string{}}.run(t, args...)
		if got.code != 2 || !strings.Contains(got.err, "--store") || !strings.Contains(got.err, "ROWLOCK_STORE") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	for _, args := range [][]string{{"demo"}, {"bench"}, {"version"}, {"jobs"}, {"work", "--help"}} {
		if got := (runner{fake: &fake{}, env: map[string]string{}}).run(t, args...); got.code != 0 || got.out == "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestSchemaIsCreatedOnlyInAFreshStore(t *testing.T) {
	missing := func() []driving.Step { return []driving.Step{{Number: 1, Name: "jobs"}, {Number: 2, Name: "more"}} }
	f := &fake{steps: missing(), fresh: true}
	got := runner{fake: f}.run(t, "stats", "--json")
	if got.code != 0 || !strings.Contains(got.err, "created its tables (schema step 2)") {
		t.Errorf("fresh: %+v", got)
	}
	got = runner{fake: &fake{steps: missing()}}.run(t, "stats", "--json")
	if got.code != 6 || !strings.Contains(got.err, "rowlock migrate up") {
		t.Errorf("not fresh: %+v", got)
	}
	half := missing()
	half[0].AppliedAt = now()
	got = runner{fake: &fake{steps: half, fresh: true}}.run(t, "stats", "--json")
	if got.code != 0 || !strings.Contains(got.err, "brings it to step 2") || !half[1].AppliedAt.IsZero() {
		t.Errorf("half: %+v", got)
	}
	if got := (runner{fake: &fake{steps: half}}).run(t, "migrate", "status"); got.code != 0 || !strings.Contains(got.err, "1 step not applied: run `rowlock migrate up`") {
		t.Errorf("migrate status: %+v", got)
	}
	if got := (runner{fake: &fake{steps: missing()}}).run(t, "migrate", "up"); got.code != 0 || got.out != "applied 1 jobs\napplied 2 more\n" {
		t.Errorf("migrate up: %+v", got)
	}
	if got := (runner{fake: &fake{}}).run(t, "migrate", "status"); got.code != 6 {
		t.Errorf("nothing to install: %+v", got)
	}
}
