package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

const odd = `{"n": 9007199254740993, "m":3889108265204450030,"t":"a' \\ ; ? ?0 $1 :x @p1 --","e":"🦊","f":1.0}`

func TestEnqueueOneTakesEveryOption(t *testing.T) {
	f := &fake{}
	got := runner{fake: f}.run(t, "enqueue", "mail", odd, "--queue", "q", "--priority", "-3", "--after", "1d", "--unique", "u", "--on-conflict", "error",
		"--max-attempts", "8", "--timeout", "90", "--tenant", "acme", "--tag", "a,b", "--tag", "c", "--meta", `{"x":1}`, "--id", id(9).String(),
		"--keep-done", "7d", "--keep-dead", "forever", "--keep-cancelled", "1h", "--forget-args",
		"--chain", "b", "--chain", "a,c", "--on-dead", "block", "--limit-key", "eu", "--json")
	if got.code != 0 || got.out != fmt.Sprintf(`{"id":"%s","result":"inserted"}`+"\n", id(1)) {
		t.Fatalf("%+v", got)
	}
	want := domain.NewJob{
		ID: id(9), Kind: "mail", Queue: "q", Priority: -3, Due: domain.Due{After: 24 * time.Hour}, Args: []byte(odd), MaxAttempts: 8, Timeout: 90 * time.Second,
		Unique: &domain.Unique{Key: "u", OnConflict: domain.Error}, Tags: []string{"a,b", "c"}, Meta: json.RawMessage(`{"x":1}`),
		Keep: domain.Retention{Done: 168 * time.Hour, Dead: domain.KeepForever, Cancelled: time.Hour}, ForgetArgs: true,
		Turn: domain.TurnChain, Keys: []string{"b", "a,c"}, OnDead: domain.Block, LimitKey: "eu",
	}
	if !reflect.DeepEqual(f.added[0], want) || f.tenant != "acme" {
		t.Errorf("got %+v for %q", f.added[0], f.tenant)
	}
	if (runner{fake: f}).run(t, "enqueue", "mail", "--at", "2030-01-01T02:00:00+02:00"); string(f.added[1].Args) != "{}" || f.added[1].Due.At.Unix() != 1893456000 {
		t.Errorf("got %+v", f.added[1])
	}
}

func TestALineSaysTheSameAsFlags(t *testing.T) {
	f := &fake{}
	line := `{"kind":"mail","args":` + odd + `,"queue":"q","priority":-3,"after":"1d","unique":"u","on_conflict":"error","max_attempts":8,"timeout":90,` +
		`"tenant":"acme","tags":["a,b","c"],"meta":{"x":1},"id":"` + id(9).String() + `","keep_done":"7d","keep_dead":"forever","keep_cancelled":3600,"forget_args":true,"chain":["b","a,c"],"on_dead":"block","limit_key":"eu"}`
	if got := (runner{fake: f, stdin: line}).run(t, "enqueue", "--file", "-", "--tenant", "acme"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	want := domain.NewJob{
		ID: id(9), Kind: "mail", Queue: "q", Priority: -3, Tenant: "acme", Due: domain.Due{After: 24 * time.Hour}, Args: []byte(odd), MaxAttempts: 8, Timeout: 90 * time.Second,
		Unique: &domain.Unique{Key: "u", OnConflict: domain.Error}, Tags: []string{"a,b", "c"}, Meta: json.RawMessage(`{"x":1}`),
		Keep: domain.Retention{Done: 168 * time.Hour, Dead: domain.KeepForever, Cancelled: time.Hour}, ForgetArgs: true,
		Turn: domain.TurnChain, Keys: []string{"b", "a,c"}, OnDead: domain.Block, LimitKey: "eu",
	}
	if !reflect.DeepEqual(f.added[0], want) || f.tenant != "acme" {
		t.Errorf("got %+v", f.added[0])
	}
}

func TestFlagsAreDefaultsOfLines(t *testing.T) {
	f := &fake{}
	lines := `{"args":1}` + "\n" + `{"kind":"b","queue":"own","at":"2030-01-01T00:00:00Z","tags":[],"chain":["c"]}`
	if got := (runner{fake: f, stdin: lines}).run(t, "enqueue", "a", "--file", "-", "--queue", "q", "--after", "1h", "--tag", "t", "--mutex", "m"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	a, b := f.added[0], f.added[1]
	if a.Kind != "a" || a.Queue != "q" || a.Due.After != time.Hour || len(a.Tags) != 1 || string(a.Args) != "1" || a.Turn != domain.TurnMutex || a.Keys[0] != "m" {
		t.Errorf("first %+v", a)
	}
	if b.Kind != "b" || b.Queue != "own" || b.Due.After != 0 || b.Due.At.IsZero() || len(b.Tags) != 0 || string(b.Args) != "{}" || b.Turn != domain.TurnChain || b.Keys[0] != "c" {
		t.Errorf("second %+v", b)
	}
}

// write makes a file of lines.
func write(t *testing.T, lines ...string) string {
	name := filepath.Join(t.TempDir(), "jobs.jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const good = `{"kind":"k","args":{"n":1}}`

func TestBadLinesAreNamedAndNothingIsWritten(t *testing.T) {
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	for _, c := range []struct{ line, path, reason string }{
		{`{"kind":"k","args":{"a":}}`, "args.a", "not valid JSON"},
		{`{"kind":"k","args":{"a":["x",{"b":"\u0000"}]}}`, "args.a[1].b", "NUL"},
		{`{"kind":"k","args":{"a":"` + "\xff" + `"}}`, "args.a", "UTF-8"},
		{`{"kind":"k","args":{"a":"\ud800"}}`, "args.a", "surrogate"},
		{`{"kind":"k","args":` + deep + `}`, "args", "nested"},
		{`{"kind":"k","args":"` + strings.Repeat("x", domain.MaxArgs) + `"}`, "args", "the limit is 524288"},
		{`{"kind":"` + "\xff" + `"}`, "kind", "UTF-8"},
		{`{"kind":"\ud800"}`, "kind", "surrogate"},
		{`{"kind":""}`, "kind", "empty"},
		{`{}`, "kind", "empty"},
		{`{"kind":7}`, "kind", "must be a string"},
		{`{"kind":"k","queue":"` + strings.Repeat("q", 121) + `"}`, "queue", "the limit is 120"},
		{`{"kind":"k","priority":"high"}`, "priority", "whole number"},
		{`{"kind":"k","priority":1.5}`, "priority", "whole number"},
		{`{"kind":"k","priority":99999}`, "line", "from -32768 to 32767"},
		{`{"kind":"k","max_attempts":0}`, "max_attempts", "1 or more"},
		{`{"kind":"k","after":"soon"}`, "after", "duration"},
		{`{"kind":"k","after":-1}`, "after", "from 0"},
		{`{"kind":"k","after":1,"at":"2030-01-01T00:00:00Z"}`, "after", "not both"},
		{`{"kind":"k","at":"2030-01-01"}`, "at", "zone"},
		{`{"kind":"k","unique":"` + strings.Repeat("u", 191) + `"}`, "unique", "190"},
		{`{"kind":"k","on_conflict":"skip"}`, "on_conflict", "no unique key"},
		{`{"kind":"k","tags":"a"}`, "tags", "list of strings"},
		{`{"kind":"k","tags":["` + strings.Repeat("t", 191) + `"]}`, "tags", "190"},
		{`{"kind":"k","mutex":["a"],"chain":["b"]}`, "chain", "not both"},
		{`{"kind":"k","mutex":["a"],"on_dead":"block"}`, "on_dead", "no chain"},
		{`{"kind":"k","chain":["a"],"on_dead":"wait"}`, "on_dead", "continue or block"},
		{`{"kind":"k","meta":[1]}`, "meta", "object"},
		{`{"kind":"k","id":"7"}`, "id", "UUID"},
		{`{"kind":"k","forget_args":"yes"}`, "forget_args", "true or false"},
		{`{"kind":"k","keep_done":"-1h"}`, "keep_done", "7d"},
		{`{"kind":"k","Queue":"q"}`, "Queue", "no such field"},
		{`{"kind":"k","kind":"k"}`, "kind", "twice"},
		{`{"kind":"k"} {}`, "line", "one JSON object a line"},
		{`{"kind":"k"`, "line", "not valid JSON"},
		{`[1]`, "line", "not a JSON object"},
		{`nonsense`, "line", "not valid JSON"},
		{`{"kind":"k","args":"` + strings.Repeat("x", maxLine) + `"}`, "line", "longer than"},
	} {
		f := &fake{}
		name := write(t, good, "", c.line, good)
		got := runner{fake: f}.run(t, "enqueue", "--file", name, "--json")
		v := document[fileView](t, got)
		if got.code != 2 || f.calls != 0 || v.Refused != 1 || v.Enqueued != 0 || v.LastWritten != 0 || !strings.Contains(got.err, "nothing was written") {
			t.Errorf("%.60s: exit %d, %d calls, %+v, %s", c.line, got.code, f.calls, v, got.err)
			continue
		}
		if e := v.Errors[0]; e.Line != 3 || e.Path != c.path || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%.60s: %+v, want %s: %s", c.line, e, c.path, c.reason)
		}
		people := runner{fake: f}.run(t, "enqueue", "--file", name)
		if !strings.Contains(people.err, fmt.Sprintf("%s:3: %s: ", name, c.path)) {
			t.Errorf("%.60s: %s", c.line, people.err)
		}
	}
}

func TestContinueOnErrorWritesTheGoodLines(t *testing.T) {
	var lines []string
	for n := range 2500 {
		switch {
		case n%100 == 7:
			lines = append(lines, `{"kind":"k","bogus":1}`)
		case n == 1800:
			lines = append(lines, `{"kind":"held","unique":"u","on_conflict":"error"}`)
		default:
			lines = append(lines, fmt.Sprintf(`{"kind":"k","args":%d}`, n))
		}
	}
	f := &fake{addErr: func(jobs []domain.NewJob) error {
		for _, j := range jobs {
			if j.Kind == "held" {
				return &domain.Fault{Code: domain.Conflict, Op: "enqueue", Subject: id(77).String()}
			}
		}
		return nil
	}}
	got := runner{fake: f}.run(t, "enqueue", "--file", write(t, lines...), "--continue-on-error", "--json")
	v := document[fileView](t, got)
	if got.code != 2 || v.Enqueued != 2474 || v.Refused != 26 || len(f.added) != 2474 || len(v.Errors) != maxTold || v.LastWritten != 2500 {
		t.Fatalf("exit %d, %+v, %s", got.code, v, got.err)
	}
	if string(f.added[0].Args) != "0" || string(f.added[2473].Args) != "2499" {
		t.Errorf("order: %s ... %s", f.added[0].Args, f.added[2473].Args)
	}
	got = runner{fake: f}.run(t, "enqueue", "--file", write(t, `{"kind":"held"}`), "--continue-on-error", "--json")
	if v := document[fileView](t, got); got.code != 2 || v.Errors[0].Path != "unique" || !strings.Contains(v.Errors[0].Reason, id(77).String()) {
		t.Errorf("a held key: exit %d, %+v", got.code, v)
	}
}

func TestFileGoesInChunksAndNamesTheLastLine(t *testing.T) {
	lines := make([]string, 2500)
	for i := range lines {
		lines[i] = good
	}
	f := &fake{}
	f.addErr = func([]domain.NewJob) error {
		if f.calls == 3 {
			return &domain.Fault{Code: domain.Unavailable, Op: "enqueue", Hint: "gone"}
		}
		return nil
	}
	got := runner{fake: f}.run(t, "enqueue", "--file", write(t, lines...), "--json")
	if v := document[fileView](t, got); got.code != 7 || v.LastWritten != 2000 || v.Enqueued != 2000 || !strings.Contains(got.err, "the last line written is 2000") {
		t.Errorf("exit %d, %+v, %s", got.code, v, got.err)
	}
	// standard input: the chunk with the bad line and what follows are not written
	f = &fake{}
	lines[1500] = "{"
	got = runner{fake: f, stdin: strings.Join(lines, "\n")}.run(t, "enqueue", "--file", "-", "--json")
	if v := document[fileView](t, got); got.code != 2 || v.LastWritten != 1000 || len(f.added) != 1000 || v.Errors[0].Line != 1501 || !strings.Contains(got.err, "the last line written is 1000") {
		t.Errorf("exit %d, %+v, %s", got.code, v, got.err)
	}
	// large args make smaller chunks
	f = &fake{}
	big := `{"kind":"k","args":"` + strings.Repeat("x", domain.MaxArgs-2) + `"}`
	if got := (runner{fake: f, stdin: strings.Repeat(big+"\n", 20)}).run(t, "enqueue", "--file", "-"); got.code != 0 || f.calls != 2 || len(f.added) != 20 {
		t.Errorf("exit %d, %d calls, %d jobs", got.code, f.calls, len(f.added))
	}
}

func TestFileThatIsNotThere(t *testing.T) {
	if got := (runner{fake: &fake{}}).run(t, "enqueue", "--file", filepath.Join(t.TempDir(), "x")); got.code != 3 {
		t.Errorf("%+v", got)
	}
	if got := (runner{fake: &fake{}}).run(t, "enqueue", "--file", t.TempDir()); got.code != 2 {
		t.Errorf("%+v", got)
	}
	got := runner{fake: &fake{}}.run(t, "enqueue", "--file", write(t), "--json")
	if v := document[fileView](t, got); got.code != 0 || v.Enqueued != 0 {
		t.Errorf("an empty file: %+v", got)
	}
}
