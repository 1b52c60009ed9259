package domain_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rowlock/rowlock/domain"
)

func TestBoundKeys(t *testing.T) {
	for stored, want := range map[string]domain.BoundKey{
		"l:mail:":       {Sort: domain.BoundLimit, Group: "mail"},
		"l:mail:a":      {Sort: domain.BoundLimit, Group: "mail", Key: "a"},
		"l:mail:a:b:":   {Sort: domain.BoundLimit, Group: "mail", Key: "a:b:"},
		"r:mail/x: ":    {Sort: domain.BoundRate, Group: "mail/x", Key: " "},
		"m0:a":          {Sort: domain.BoundMutex, Key: "a"},
		"m1:ab":         {Sort: domain.BoundMutex, Tenant: "a", Key: "b"},
		"c4:acme4:acme": {Sort: domain.BoundChain, Tenant: "acme", Key: "4:acme"},
		"c2:é1":         {Sort: domain.BoundChain, Tenant: "é", Key: "1"},
	} {
		got, ok := domain.ParseBoundKey(stored)
		if !ok || got != want {
			t.Errorf("%q: got %+v, %v", stored, got, ok)
		}
		if again := assemble(got); again != stored {
			t.Errorf("%q became %q", stored, again)
		}
	}
	for _, none := range []string{
		"", ":", "l", "l:", "l:a", "x:a:b", "ll:a:b", "l1:a:b", "m", "m:", "m:a", "mx:a", "m-1:a", "m2:a", "m+1:ab", "m01:ab", "m1 :ab",
		"m99999999999999999999:a", "L:a:b", "u1:ab", " l:a:b",
	} {
		if got, ok := domain.ParseBoundKey(none); ok {
			t.Errorf("%q was read as %+v", none, got)
		}
	}
}

// assemble is the way back.
func assemble(k domain.BoundKey) string {
	if k.Sort.Turns() {
		turn := domain.TurnMutex
		if k.Sort == domain.BoundChain {
			turn = domain.TurnChain
		}
		return domain.TurnKey(turn, k.Tenant, k.Key)
	}
	return domain.Declaration{Sort: k.Sort, Group: k.Group}.Key(k.Key)
}

func TestBoundKeysFit(t *testing.T) {
	long := strings.Repeat("é", domain.MaxKey/2)
	for _, stored := range []string{
		domain.TurnKey(domain.TurnMutex, strings.Repeat("t", domain.MaxTenant), long),
		domain.TurnKey(domain.TurnChain, strings.Repeat("t", domain.MaxTenant), long),
		domain.Declaration{Sort: domain.BoundLimit, Group: strings.Repeat("g", domain.MaxGroup)}.Key(long),
		domain.Declaration{Sort: domain.BoundRate, Group: strings.Repeat("g", domain.MaxGroup)}.Key(long),
	} {
		if len(stored) > domain.MaxBound || len(stored) < 380 {
			t.Errorf("%d bytes, the limit is %d", len(stored), domain.MaxBound)
		}
		if k, ok := domain.ParseBoundKey(stored); !ok || k.Key != long {
			t.Errorf("%q was not read", stored)
		}
	}
}

// TestBoundKeysAreInjective: no two bounds share a stored key.
func TestBoundKeysAreInjective(t *testing.T) {
	parts := []string{"", "a", "b", "ab", ":", "a:", ":a", "1", "1:", "0:", "l", "m", "m1:a", "é", "a ", "A", "190"}
	seen := map[string]domain.BoundKey{}
	note := func(k domain.BoundKey) {
		stored := assemble(k)
		if old, twice := seen[stored]; twice && old != k {
			t.Errorf("%+v and %+v share %q", old, k, stored)
		}
		if got, ok := domain.ParseBoundKey(stored); !ok || got != k {
			t.Errorf("%+v was read from %q as %+v, %v", k, stored, got, ok)
		}
		seen[stored] = k
	}
	for _, a := range parts {
		for _, b := range parts {
			for _, sort := range []domain.BoundSort{domain.BoundMutex, domain.BoundChain} {
				note(domain.BoundKey{Sort: sort, Tenant: a, Key: b})
			}
			for _, sort := range []domain.BoundSort{domain.BoundLimit, domain.BoundRate} {
				if a != "" && !strings.Contains(a, ":") { // as Validate has it
					note(domain.BoundKey{Sort: sort, Group: a, Key: b})
				}
			}
		}
	}
}

func FuzzBoundKey(f *testing.F) {
	f.Add("m1:ab", "tenant", "key")
	f.Add("l:group:own", "", ":")
	f.Add("c03:abc", "1:", "\xff")
	f.Fuzz(func(t *testing.T, stored, a, b string) {
		if k, ok := domain.ParseBoundKey(stored); ok && assemble(k) != stored {
			t.Fatalf("%q was read as %+v, which is %q", stored, k, assemble(k))
		} else if !ok && (k.Key != "" || k.Tenant != "") && k.Sort.Turns() {
			t.Fatalf("%q is none and gave %+v", stored, k)
		}
		for _, turn := range []domain.Turn{domain.TurnMutex, domain.TurnChain} {
			want := domain.BoundKey{Sort: turn.Sort(), Tenant: a, Key: b}
			if got, ok := domain.ParseBoundKey(domain.TurnKey(turn, a, b)); !ok || got != want {
				t.Fatalf("%+v became %+v, %v", want, got, ok)
			}
		}
		d := domain.Declaration{Kind: "k", Sort: domain.BoundLimit, Group: a, N: 1}
		if d.Validate() != nil {
			return
		}
		want := domain.BoundKey{Sort: domain.BoundLimit, Group: a, Key: b}
		if got, ok := domain.ParseBoundKey(d.Key(b)); !ok || got != want || !d.Covers(d.Key(b)) {
			t.Fatalf("%+v became %+v, %v", want, got, ok)
		}
		if utf8.ValidString(b) && len(b) <= domain.MaxKey && len(d.Key(b)) > domain.MaxBound {
			t.Fatalf("a stored key of %d bytes", len(d.Key(b)))
		}
	})
}

func TestDeclarationValidate(t *testing.T) {
	limit := domain.Declaration{Kind: "k", Sort: domain.BoundLimit, Group: "g", N: 1}
	rate := domain.Declaration{Kind: "k", Sort: domain.BoundRate, Group: "g", N: 1, Window: time.Millisecond}
	for _, tc := range []struct {
		name, hint string
		of         domain.Declaration
		change     func(*domain.Declaration)
	}{
		{"a limit", "", limit, func(*domain.Declaration) {}},
		{"a rate", "", rate, func(*domain.Declaration) {}},
		{"the most", "", limit, func(d *domain.Declaration) { d.N = domain.MaxSlots }},
		{"the longest window", "", rate, func(d *domain.Declaration) { d.Window = domain.MaxDelay }},
		{"the longest group", "", limit, func(d *domain.Declaration) { d.Group = strings.Repeat("g", domain.MaxGroup) }},
		{"no kind", "empty", limit, func(d *domain.Declaration) { d.Kind = "" }},
		{"a long kind", "121 bytes", limit, func(d *domain.Declaration) { d.Kind = strings.Repeat("k", 121) }},
		{"no group", "empty", limit, func(d *domain.Declaration) { d.Group = "" }},
		{"a long group", "191 bytes", limit, func(d *domain.Declaration) { d.Group = strings.Repeat("g", 191) }},
		{"a colon", "no ':'", limit, func(d *domain.Declaration) { d.Group = "a:b" }},
		{"a NUL", "NUL", limit, func(d *domain.Declaration) { d.Group = "a\x00" }},
		{"none", "N is 0", limit, func(d *domain.Declaration) { d.N = 0 }},
		{"below none", "N is -1", rate, func(d *domain.Declaration) { d.N = -1 }},
		{"too many", "N is 10001", rate, func(d *domain.Declaration) { d.N = domain.MaxSlots + 1 }},
		{"no window", "the window is 0s", rate, func(d *domain.Declaration) { d.Window = 0 }},
		{"a short window", "the window is", rate, func(d *domain.Declaration) { d.Window-- }},
		{"a long window", "the window is", rate, func(d *domain.Declaration) { d.Window = domain.MaxDelay + 1 }},
		{"a mutex", "asked for by jobs", limit, func(d *domain.Declaration) { d.Sort = domain.BoundMutex }},
		{"no sort", "asked for by jobs", limit, func(d *domain.Declaration) { d.Sort = 9 }},
	} {
		d := tc.of
		if tc.change(&d); tc.hint == "" {
			if err := d.Validate(); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		wantFault(t, d.Validate(), domain.Invalid, "", tc.hint)
	}
}

func TestDeclarationsCompare(t *testing.T) {
	d := domain.Declaration{Kind: "k", Sort: domain.BoundRate, Group: "g", N: 3, Window: time.Second}
	later := d
	later.At = time.Unix(9, 0)
	if !d.Same(later) || !later.Same(d) {
		t.Error("when it was stored does not matter")
	}
	for _, change := range []func(*domain.Declaration){
		func(d *domain.Declaration) { d.Kind = "K" }, func(d *domain.Declaration) { d.Sort = domain.BoundLimit },
		func(d *domain.Declaration) { d.Group = "G" }, func(d *domain.Declaration) { d.N = 0 }, func(d *domain.Declaration) { d.Window++ },
	} {
		o := d
		if change(&o); d.Same(o) {
			t.Errorf("%+v is not %+v", d, o)
		}
	}
	for key, covered := range map[string]bool{"r:g:": true, "r:g:a": true, "r:g": false, "r:gg:": false, "r:G:": false, "l:g:": false, "r:": false} {
		if d.Covers(key) != covered {
			t.Errorf("%q: covered %v", key, !covered)
		}
	}
}

func TestBoundWords(t *testing.T) {
	var words []string
	for s := domain.BoundLimit; s < 5; s++ {
		text, err := s.MarshalText()
		if err != nil || string(text) != s.String() {
			t.Errorf("%d: %q, %v", s, text, err)
		}
		words = append(words, s.String())
	}
	if want := []string{"limit", "rate", "mutex", "chain", "unknown"}; !slices.Equal(words, want) {
		t.Errorf("got %q", words)
	}
	for turn, want := range map[domain.Turn]domain.BoundSort{domain.TurnMutex: domain.BoundMutex, domain.TurnChain: domain.BoundChain} {
		if turn.Sort() != want || !want.Turns() {
			t.Errorf("%d is of sort %v", turn, turn.Sort())
		}
	}
	if domain.BoundLimit.Turns() || domain.BoundRate.Turns() {
		t.Error("a limit has no turns")
	}
}
