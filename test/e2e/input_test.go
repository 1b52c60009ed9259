package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// oddArgs are what queues have spoilt elsewhere.
func oddArgs() map[string]string {
	return map[string]string{
		"2^53+1":       `{"n":9007199254740993}`,
		"big":          `{"n": 3889108265204450030, "m":-9223372036854775808,"u":18446744073709551615}`,
		"floats":       `[1.0, 1e400, 0.1, -0.0, 1E+2]`,
		"marks":        `{"t":"a' \\ ; ? ?0 $1 :x @p1 --","q":"\"/* */ % _ {} {{x}}"}`,
		"emoji":        `{"t":"🦊é\u00e9\ud83e\udd8a","🦊":null}`,
		"order, space": `{ "b" : 1 ,"a":2, "b" :3 }`,
		"html":         `"<script>&amp;</script>"`,
		"bare":         `null`,
	}
}

// TestArgsArriveByteByByte follows args through the command line, the file, the
// store, the handler and back out.
func TestArgsArriveByteByByte(t *testing.T) {
	onEveryStore(t, testArgs)
}

func testArgs(t *testing.T, b *box) {
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) int { return say(w, 200) })
	all := oddArgs()
	path := func(name string) string { return "/" + strings.ReplaceAll(name, " ", "") }
	ids, lines := map[string]string{}, []string{}
	for name, args := range all {
		ids[read[struct{ ID string }](t, b.ok("enqueue", "keep", args, "--json")).ID] = name
		lines = append(lines, fmt.Sprintf(`{"kind":"keep","tags":["%s"],"args":%s}`, name, args))
		if args != "null" {
			lines = append(lines, fmt.Sprintf(`{"kind":"http","args":{"url":"%s%s","method":"POST","body":%s}}`, srv.URL, path(name), args))
		}
	}
	b.ok("enqueue", "--file", b.file(lines...))
	for _, j := range b.jobs("--kind", "keep") {
		if len(j.Tags) == 1 {
			ids[j.ID] = j.Tags[0]
		}
	}
	if len(ids) != 2*len(all) {
		t.Errorf("%d jobs for %d args by flag and by file", len(ids), len(all))
	}
	for id, name := range ids {
		shown := regexp.MustCompile(`(?m)^args +` + regexp.QuoteMeta(all[name]) + `$`)
		if out := b.ok("jobs", "show", id).out; !shown.MatchString(out) {
			t.Errorf("%s: %s became %s", name, all[name], out)
		}
	}
	b.ok("work", "--once", "--http-allow-private")
	for name, want := range all {
		hits := srv.log()[path(name)]
		if name == "html" {
			want = `<script>&amp;</script>` // a string is sent as text
		}
		if want != "null" && (len(hits) != 1 || hits[0].body != want) {
			t.Errorf("%s: the server got %v", name, hits)
		}
	}
}

func TestArgsLimit(t *testing.T) {
	onEveryStore(t, testArgsLimit)
}

func testArgsLimit(t *testing.T, b *box) {
	const limit = 512 << 10
	fits := `"` + strings.Repeat("x", limit-2) + `"`
	if r := b.feed(`{"kind":"k","args":`+fits+`}`, "enqueue", "--file", "-"); r.code != 0 {
		t.Fatal(r)
	}
	if got := b.show(b.jobs()[0].ID).Args; string(got) != fits {
		t.Errorf("512 KiB came back as %d bytes", len(got))
	}
	over := `"` + strings.Repeat("x", limit-1) + `"`
	r := b.feed(`{"kind":"k","args":`+over+`}`, "enqueue", "--file", "-", "--json")
	v := read[struct {
		Refused int
		Errors  []struct{ Path, Reason string }
	}](t, r)
	if r.code != 2 || v.Refused != 1 || v.Errors[0].Path != "args" || !strings.Contains(v.Errors[0].Reason, "the limit is 524288") {
		t.Errorf("one byte more: %v", r)
	}
	if s := b.stats().Totals; s.Pending != 1 {
		t.Errorf("%+v", s)
	}
}

func TestBadLine(t *testing.T) {
	onEveryStore(t, testBadLine)
}

func testBadLine(t *testing.T, b *box) {
	lines := make([]string, 1500)
	for n := range lines {
		lines[n] = fmt.Sprintf(`{"kind":"k","args":{"n":%d}}`, n)
	}
	lines[1200] = `{"kind":"k","args":{"user":{"name":"a\u0000b"}}}`
	name := b.file(lines...)
	r := b.fails(2, "enqueue", "--file", name)
	if !strings.Contains(r.err, name+":1201: args.user.name: ") || !strings.Contains(r.err, "NUL") || !strings.Contains(r.err, "nothing was written") {
		t.Error(r)
	}
	if s := b.stats().Totals; s.Pending != 0 {
		t.Errorf("something was written: %+v", s)
	}
	r = b.fails(2, "enqueue", "--file", name, "--continue-on-error", "--json")
	if v := read[struct{ Enqueued, Refused int }](t, r); v.Enqueued != 1499 || v.Refused != 1 || b.stats().Totals.Pending != 1499 {
		t.Errorf("with --continue-on-error: %v", r)
	}
	r = b.feed(strings.Join(lines, "\n"), "enqueue", "--file", "-", "--queue", "piped", "--json")
	if v := read[struct {
		LastWritten int `json:"last_line_written"`
	}](t, r); r.code != 2 || v.LastWritten != 1000 || b.stats().Totals.Pending != 2499 {
		t.Errorf("from standard input: %v", r)
	}
}
