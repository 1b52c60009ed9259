package domain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

// asking is a claimed job with a small number for an id.
func asking(id byte, due int64, keys ...string) domain.Applicant {
	return domain.Applicant{ID: domain.JobID{id}, Due: due, Keys: keys}
}

func TestPlan(t *testing.T) {
	mutex := func(key string) string { return domain.TurnKey(domain.TurnMutex, "", key) }
	for _, tc := range []struct {
		name   string
		bounds domain.Bounds
		all    []domain.Applicant
		want   []string // the slots of each, or the key that it lacks
	}{
		{"nothing asked", nil, []domain.Applicant{asking(1, 0)}, []string{"[]"}},
		{"all that it asks for", domain.Bounds{"l:g:": {N: 2}, "r:g:": {N: 1}}, []domain.Applicant{asking(1, 0, "r:g:", "m0:a", "l:g:")}, []string{"[{l:g: 0} {m0:a 0} {r:g: 0}]"}},
		{"a key twice", domain.Bounds{"l:g:": {N: 2}}, []domain.Applicant{asking(1, 0, "l:g:", "l:g:")}, []string{"[{l:g: 0}]"}},
		{
			"a limit goes by the order of the claim",
			domain.Bounds{"l:g:": {N: 3, Taken: []int{1}}},
			[]domain.Applicant{asking(3, 9, "l:g:"), asking(1, 0, "l:g:"), asking(2, 5, "l:g:")},
			[]string{"[{l:g: 0}]", "[{l:g: 2}]", "lacks l:g:"},
		},
		{
			"a turn goes by place, whatever the order",
			nil,
			[]domain.Applicant{asking(1, 9, mutex("a")), asking(3, 5, mutex("a")), asking(2, 5, mutex("a")), asking(4, 99, mutex("b"))},
			[]string{"lacks m0:a", "lacks m0:a", "[{m0:a 0}]", "[{m0:b 0}]"},
		},
		{
			"the first in place asks, and nobody else, though it lacks another key",
			domain.Bounds{"l:g:": {N: 1, Taken: []int{0}}},
			[]domain.Applicant{asking(1, 1, mutex("a")), asking(2, 0, mutex("a"), "l:g:")},
			[]string{"lacks m0:a", "lacks l:g:"},
		},
		{
			"who lacks one key takes no other",
			domain.Bounds{"l:g:": {N: 1}, "r:g:": {N: 1, Taken: []int{0}}},
			[]domain.Applicant{asking(1, 0, "l:g:", "r:g:"), asking(2, 0, "l:g:")},
			[]string{"lacks r:g:", "[{l:g: 0}]"},
		},
		{
			"the first key that lacks, by bytes",
			domain.Bounds{"l:b:": {N: 1, Taken: []int{0}}, "l:a:": {N: 1, Taken: []int{0}}},
			[]domain.Applicant{asking(1, 0, "l:b:", "l:a:")},
			[]string{"lacks l:a:"},
		},
		{"a taken turn", domain.Bounds{"m0:a": {N: 1, Taken: []int{0}}}, []domain.Applicant{asking(1, 0, "m0:a")}, []string{"lacks m0:a"}},
		{"a lowered limit", domain.Bounds{"l:g:": {N: 1, Taken: []int{4}}}, []domain.Applicant{asking(1, 0, "l:g:")}, []string{"lacks l:g:"}},
	} {
		tc.bounds.Plan(tc.all, 0)
		for i, a := range tc.all {
			got := fmt.Sprint(a.Slots)
			if a.Lacks != "" {
				got = "lacks " + a.Lacks
			}
			if got != tc.want[i] || a.Lacks != "" && len(a.Slots) > 0 {
				t.Errorf("%s: the job %d got %s and has %v, want %s", tc.name, i, got, a.Slots, tc.want[i])
			}
		}
	}
}

func TestJudgeApplicants(t *testing.T) {
	a, b, c := domain.JobID{1}, domain.JobID{2}, domain.JobID{3}
	slots := func(keys ...string) (s []domain.Slot) {
		for _, key := range keys {
			s = append(s, domain.Slot{Key: key})
		}
		return s
	}
	won := map[domain.Slot]domain.JobID{{Key: "l:g:"}: a, {Key: "m0:a"}: a, {Key: "m0:b"}: b, {Key: "c0:c"}: c, {Key: "r:g:"}: b}
	heads := map[string]domain.JobID{"m0:a": a, "m0:b": a, "c0:c": c}
	for _, tc := range []struct {
		name  string
		of    domain.Applicant
		lacks string
	}{
		{"nothing asked", domain.Applicant{ID: b}, ""},
		{"all won", domain.Applicant{ID: a, Slots: slots("l:g:", "m0:a")}, ""},
		{"a limit has no head", domain.Applicant{ID: b, Slots: slots("r:g:")}, ""},
		{"a slot lost", domain.Applicant{ID: b, Slots: slots("l:g:", "m0:b")}, "l:g:"},
		{"a slot that nobody won", domain.Applicant{ID: b, Slots: slots("l:x:")}, "l:x:"},
		{"a slot of another number", domain.Applicant{ID: a, Slots: []domain.Slot{{Key: "l:g:", Index: 1}}}, "l:g:"},
		{"won, and not its turn", domain.Applicant{ID: b, Slots: slots("m0:b", "r:g:")}, "m0:b"},
		{"a chain and its turn", domain.Applicant{ID: c, Slots: slots("c0:c")}, ""},
		{"lost before", domain.Applicant{ID: c, Lacks: "l:g:"}, "l:g:"},
	} {
		all := []domain.Applicant{tc.of}
		if domain.JudgeApplicants(all, won, heads); all[0].Lacks != tc.lacks {
			t.Errorf("%s: it lacks %q, want %q", tc.name, all[0].Lacks, tc.lacks)
		}
	}
}

// TestSoundPlans: whatever asks, nobody gets a part, no slot goes to two, no
// limit is passed, and of those that want a turn the first in place alone asks.
func TestSoundPlans(t *testing.T) {
	keys := []string{"l:g:", "l:g:a", "r:g:", "m0:a", "m0:b", "c1:tc"}
	for range 2_000 {
		bounds := domain.Bounds{}
		for _, key := range keys[:3] {
			n := 1 + rand.IntN(4)
			bounds[key] = &domain.Bound{N: n, Taken: rand.Perm(n + 2)[:rand.IntN(n+1)]}
		}
		all := make([]domain.Applicant, 1+rand.IntN(8))
		for i := range all {
			all[i] = asking(byte(i), int64(rand.IntN(3)))
			for range rand.IntN(4) {
				all[i].Keys = append(all[i].Keys, keys[rand.IntN(len(keys))])
			}
		}
		bounds.Plan(all, rand.IntN(9))
		checkPlan(t, bounds, all)
	}
}

func checkPlan(t *testing.T, bounds domain.Bounds, all []domain.Applicant) {
	t.Helper()
	given := map[domain.Slot]bool{}
	held := map[string]int{}
	for _, a := range all {
		if a.Lacks != "" && len(a.Slots) > 0 || a.Lacks == "" && len(a.Slots) != len(a.Keys) || a.Lacks != "" && !slices.Contains(a.Keys, a.Lacks) {
			t.Fatalf("a part of what it asks for: %+v", a)
		}
		for _, s := range a.Slots {
			k, _ := domain.ParseBoundKey(s.Key)
			b := bounds[s.Key]
			if given[s] || b != nil && (s.Index >= b.N || slices.Contains(b.Taken, s.Index)) {
				t.Fatalf("the slot %+v is not free for %+v", s, a)
			}
			given[s] = true
			if held[s.Key]++; b != nil && held[s.Key]+len(b.Taken) > b.N || k.Sort.Turns() && held[s.Key] > 1 {
				t.Fatalf("%d more at key %q, %+v", held[s.Key], s.Key, b)
			}
			for _, o := range all {
				if k.Sort.Turns() && slices.Contains(o.Keys, s.Key) && (domain.Place{Due: o.Due, ID: o.ID}).Compare(domain.Place{Due: a.Due, ID: a.ID}) < 0 {
					t.Fatalf("%v asks at %q before %v", a.ID, s.Key, o.ID)
				}
			}
		}
	}
}
