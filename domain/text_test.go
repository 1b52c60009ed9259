package domain_test

import (
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"

	"github.com/rowlock/rowlock/domain"
)

func TestCleanText(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"fits", "hello", 5, "hello"},
		{"empty", "", 5, ""},
		{"one over", "hello!", 5, "he…"},
		{"cut on a rune border", "aéé€", 6, "aé…"},
		{"cut inside a four-byte rune", "ab😀😀", 8, "ab…"},
		{"no room for the ellipsis", "hello", 2, "he"},
		{"no room for a rune", "€", 2, ""},
		{"limit nought", "hello", 0, ""},
		{"limit below nought", "hello", -3, ""},
		{"limit near the greatest", "hello", int(^uint(0) >> 1), "hello"},
		{"NUL", "a\x00b", 9, "a␀b"},
		{"NUL grows over the limit", "a\x00\x00", 6, "a…"},
		{"a run of bad bytes", "a\xff\xfe\xfdb", 9, "a\uFFFDb"},
		{"an encoded surrogate", "a\xed\xa0\x80b", 9, "a\uFFFDb"},
		{"a rune cut off", "a\xe2\x82", 9, "a\uFFFD"},
		{"a very long run of bad bytes", strings.Repeat("\xff", 100) + "the end", 9, "\uFFFD…"},
	} {
		if got := domain.CleanText(tc.text, tc.limit); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestCleanTextOf20MiB(t *testing.T) {
	for i, piece := range []string{"\xff", "x", "\x00", "😀", "a\xff", "\x80"} {
		text := strings.Repeat(piece, (20<<20>>(2*i))/len(piece)) // one of them at full size
		got := domain.CleanText(text, domain.MaxMessage)
		checkClean(t, text, domain.MaxMessage, got)
		if !strings.HasSuffix(got, "…") {
			t.Errorf("20 MiB of %q ends in %q: no sign that it was cut", piece, got[max(len(got)-8, 0):])
		}
	}
}

// checkClean is what holds for every cleaned text.
func checkClean(t *testing.T, text string, limit int, got string) {
	t.Helper()
	switch {
	case len(got) > limit:
		t.Errorf("%d bytes, the limit is %d", len(got), limit)
	case !utf8.ValidString(got):
		t.Errorf("%q is not valid UTF-8", got)
	case strings.Contains(got, "\x00"):
		t.Errorf("%q holds a NUL", got)
	case domain.CleanText(got, limit) != got:
		t.Errorf("%q is not left as it is", got)
	case len(text) <= limit && utf8.ValidString(text) && !strings.Contains(text, "\x00") && got != text:
		t.Errorf("%q was clean and became %q", text, got)
	}
}

func TestCleanTextProperties(t *testing.T) {
	holds := func(raw []byte, limit uint8) bool {
		checkClean(t, string(raw), int(limit), domain.CleanText(string(raw), int(limit)))
		return !t.Failed()
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

func FuzzCleanText(f *testing.F) {
	for _, text := range []string{"", "plain", "a\x00b", "\xff\xfe", "€😀", strings.Repeat("\x80", 50) + "x", "\xed\xa0\x80"} {
		for _, limit := range []int{0, 1, 3, 7, 4096} {
			f.Add(text, limit)
		}
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		got := domain.CleanText(text, limit)
		checkClean(t, text, max(limit, 0), got)
	})
}

func TestValidateName(t *testing.T) {
	for _, name := range []string{"a", "A", "a ", " ", "ä", "a\u0308", "mail/welcome", "'; --", "\n", strings.Repeat("x", 120), strings.Repeat("é", 60)} {
		if err := domain.ValidateName("kind", name, domain.MaxKind); err != nil {
			t.Errorf("%q was refused: %v", name, err)
		}
	}
	for name, hint := range map[string]string{
		"":                             "empty",
		strings.Repeat("x", 121):       "it has 121 bytes, the limit is 120",
		strings.Repeat("é", 60) + "x":  "it has 121 bytes",
		"a\xff":                        "UTF-8",
		"a\x00b":                       "NUL",
		strings.Repeat("x\x00", 1<<20): "the limit is 120",
	} {
		err := domain.ValidateName("kind", name, domain.MaxKind)
		wantFault(t, err, domain.Invalid, domain.CleanText(name, 80), hint)
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("the fault for a name of %d bytes has %d bytes", len(name), len(err.Error()))
		}
	}
}

func TestUniqueLockIsInjective(t *testing.T) {
	parts := []string{"", "a", "b", "ab", "1", "11", ":", "1:", "u1:", "a:", "2:ab", "é", "\u0301"}
	seen := map[string][2]string{}
	for _, tenant := range parts {
		for _, key := range parts {
			lock := domain.UniqueLock(tenant, key)
			if other, there := seen[lock]; there {
				t.Errorf("%q and %q share the lock %q", other, [2]string{tenant, key}, lock)
			}
			seen[lock] = [2]string{tenant, key}
		}
	}
	differ := func(t1, k1, t2, k2 string) bool {
		same := t1 == t2 && k1 == k2
		return (domain.UniqueLock(t1, k1) == domain.UniqueLock(t2, k2)) == same
	}
	if err := quick.Check(differ, nil); err != nil {
		t.Error(err)
	}
	longest := domain.UniqueLock(strings.Repeat("t", domain.MaxTenant), strings.Repeat("k", domain.MaxKey))
	if len(longest) > 400 {
		t.Errorf("the longest lock has %d bytes", len(longest))
	}
}
