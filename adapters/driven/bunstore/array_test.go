package bunstore

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzArrayText(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\\n\t\x00\x1f", "ä\u2028😀", "\xff\xfe", `\u0041`, "a\xc3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a Array
		var got [][]any
		text := a.Row().Text(s).Bytes([]byte(s)).Int(-7).Row().Maybe("").ID([16]byte{}).ID([16]byte{0xab, 15: 1}).String()
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%q gives bad JSON %q: %v", s, text, err)
		}
		want := s
		if !utf8.ValidString(s) {
			want = string([]rune(s))
		}
		if got[0][0] != want || got[0][1] != want || got[0][2] != -7.0 {
			t.Fatalf("%q came back as %q", s, got)
		}
		if got[1][0] != nil || got[1][1] != nil || got[1][2] != "ab000000000000000000000000000001" {
			t.Fatalf("%v", got[1])
		}
	})
}

func TestArrayEmpty(t *testing.T) {
	if got := new(Array).String(); got != "[]" {
		t.Errorf("no rows give %q", got)
	}
}

// A tag is found exactly where it is one of the tags, whatever is in them.
func TestTagsAreFoundExactly(t *testing.T) {
	const letters = `ab,"\]['`
	word := func() string {
		b := make([]byte, 1+rand.IntN(3))
		for i := range b {
			b[i] = letters[rand.IntN(len(letters))]
		}
		return string(b)
	}
	for range 20_000 {
		tags := []string{word(), word(), word()}[:1+rand.IntN(3)]
		text, look := encodeTags(tags), word()
		has := false
		for i, back := range decodeTags(text) {
			has = has || back == look
			if back != tags[i] {
				t.Fatalf("%q came back as %q", tags[i], back)
			}
		}
		if found := strings.Contains(text, tagText(look)); found != has {
			t.Fatalf("tag %q in %q: found %v, is there %v (text %s)", look, tags, found, has, text)
		}
	}
}
