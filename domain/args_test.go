package domain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rowlock/rowlock/domain"
)

func TestValidateJSONPasses(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `0`, `"x"`, " \t\r\n{ } \n", `{"a":{"b":[1,2,{"c":null}]}}`,
		`9007199254740993`, `3889108265204450030`, `[1e400,-0,0.1,123456789012345678901234567890]`,
		`{"a":1,"a":2}`, `{"":0}`, `"a' \\' ; ? ?0 $1 :x @p1 --"`, `"😀 é e\u0301"`,
		`"\ud83d\ude00"`, `"\\ud800 \\u0000"`, `"\"\\\/\b\f\n\r\t"`, `"\u0001"`, `{"\u0061":1}`,
		nested('[', 100), nested('{', 100),
	} {
		if err := domain.ValidateJSON("args", []byte(text), domain.MaxArgs); err != nil {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

// nested is JSON of the given depth.
func nested(open byte, depth int) string {
	if open == '{' {
		return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	}
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

func TestValidateJSONNamesThePath(t *testing.T) {
	for _, tc := range []struct{ text, path, hint string }{
		{``, "args", "not valid JSON"},
		{`  `, "args", "not valid JSON"},
		{`{`, "args", "not valid JSON"},
		{`{"a":1,}`, "args", "not valid JSON"},
		{`{'a':1}`, "args", "not valid JSON"},
		{`[1 2]`, "args[1]", "not valid JSON"},
		{`[1,]`, "args[1]", "not valid JSON"},
		{`{"user":{"age":NaN}}`, "args.user.age", "not valid JSON"},
		{`{"n":[01]}`, "args.n[1]", "not valid JSON"},
		{`{"n":-Infinity}`, "args.n", "not valid JSON"},
		{`nul`, "args", "not valid JSON"},
		{"\ufeff{}", "args", "not valid JSON"},
		{`{} {}`, "args", "more than one JSON value"},
		{`1 2`, "args", "more than one JSON value"},
		{`{} x`, "args", "not valid JSON"},
		{`{}]`, "args", "not valid JSON"},
		{"0\f", "args", "not valid JSON"},
		{"{}\u00a0", "args", "not valid JSON"},
		{`{"user":{"tags":["a","b","c","d\u0000"]}}`, "args.user.tags[3]", "NUL"},
		{`{"a":"\ud800"}`, "args.a", "lone surrogate"},
		{`{"a":"\ud800\ud800\udc00"}`, "args.a", "lone surrogate"},
		{`{"a":"\udc00"}`, "args.a", "lone surrogate"},
		{`{"a":"\uDE00\uD83D"}`, "args.a", "lone surrogate"},
		{`{"a":"\ud800x"}`, "args.a", "lone surrogate"},
		{`{"a":"\ud800\u0041"}`, "args.a", "lone surrogate"},
		{`{"a":"\ud800\\udc00"}`, "args.a", "lone surrogate"},
		{`{"a":{"\u0000":1}}`, "args.a", "NUL"},
		{`{"a":["x",{"b":"` + "\xff" + `"}]}`, "args.a[1].b", "UTF-8"},
		{`{"a":"` + "\xed\xa0\x80" + `"}`, "args.a", "UTF-8"},
		{`{"` + "\xc3" + `":1}`, "args", "UTF-8"},
		{"{\"a\":\"x\x00y\"}", "args.a", "not valid JSON"},
		{"{}\x00", "args", "not valid JSON"},
		{nested('[', 101), "args", "nested more than 100 deep"},
		{nested('{', 101), "args", "nested more than 100 deep"},
		{strings.Repeat("[", 100_000), "args", "nested more than 100 deep"},
	} {
		err := domain.ValidateJSON("args", []byte(tc.text), domain.MaxArgs)
		wantFault(t, err, domain.Invalid, tc.path, tc.hint)
		if f := (*domain.Fault)(nil); errors.As(err, &f) && f.Subject != tc.path {
			t.Errorf("%.60s: the path is %q, want %q", tc.text, f.Subject, tc.path)
		}
	}
}

func TestValidateJSONLimit(t *testing.T) {
	for size, ok := range map[int]bool{domain.MaxArgs - 1: true, domain.MaxArgs: true, domain.MaxArgs + 1: false} {
		for _, fill := range []string{"x", `\u0041`} { // the quick check and the slow one
			text := `"` + strings.Repeat(fill, (size-2)/len(fill))
			text += strings.Repeat("y", size-1-len(text)) + `"`
			err := domain.ValidateJSON("args", []byte(text), domain.MaxArgs)
			if (err == nil) != ok || len(text) != size {
				t.Errorf("%d bytes of %s: %v", len(text), fill, err)
			}
			if !ok {
				wantFault(t, err, domain.Invalid, "args", "it has 524289 bytes, the limit is 524288")
			}
		}
	}
}

func TestValidateJSONBoundsItsOwnText(t *testing.T) {
	deep := strings.Repeat(`{"`+strings.Repeat("k\u20ac", 1000)+`":`, 90) + `"\u0000"` + strings.Repeat("}", 90)
	err := domain.ValidateJSON("args", []byte(deep), domain.MaxArgs)
	wantFault(t, err, domain.Invalid, "args.k\u20ac", "NUL")
	if n := len(err.Error()); n > 600 || !utf8.ValidString(err.Error()) {
		t.Errorf("the fault's text has %d bytes", n)
	}
}

func FuzzValidateJSON(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,{"b":"\u00e9"}]}`, `"\ud83d\ude00"`, `"\ud800"`, `"\u0000"`, `[1e400]`, `{} {}`, `[1,]`, "\xff",
		nested('[', 100), nested('{', 101), `{"a":1,"a":2}`, `"\\u0000"`, "[\"\x00\"]", `{"a" 1}`, `tru`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		err := domain.ValidateJSON("args", text, domain.MaxArgs)
		if !bytes.Equal(before, text) {
			t.Fatal("the text was changed")
		}
		if err != nil {
			if domain.CodeOf(err) != domain.Invalid || len(err.Error()) > 600 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		checkStorable(t, text)
	})
}

// checkStorable reads accepted JSON another way: what every store must keep.
func checkStorable(t *testing.T, text []byte) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || !json.Valid(text) || !utf8.Valid(text) {
		t.Fatalf("%q was accepted: %v", text, err)
	}
	plain, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	// A lone surrogate would have been decoded to U+FFFD, a NUL to \u0000.
	if n := strings.Count(string(plain), "\ufffd"); n > 0 && !bytes.Contains(text, []byte("\ufffd")) && !bytes.Contains(bytes.ToLower(text), []byte(`\ufffd`)) {
		t.Fatalf("%q was accepted and loses a character", text)
	}
	if bytes.Contains(bytes.ReplaceAll(plain, []byte(`\\`), nil), []byte(`\u0000`)) {
		t.Fatalf("%q was accepted with a NUL", text)
	}
}
