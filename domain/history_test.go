package domain_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func TestHistoryKeepsTheLastTen(t *testing.T) {
	var h domain.History
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, time.FixedZone("east", 5*3600))
	for n := 1; n <= 13; n++ {
		h = h.Add(domain.Note{At: at, Attempt: n, Ran: time.Duration(n), Message: "no", Runner: "r"})
		notes, err := h.Notes()
		if err != nil || len(notes) != min(n, domain.MaxHistory) {
			t.Fatalf("after %d notes there are %d, %v", n, len(notes), err)
		}
		if first, last := notes[0].Attempt, notes[len(notes)-1].Attempt; first != max(1, n-9) || last != n {
			t.Fatalf("after %d notes they go from %d to %d", n, first, last)
		}
	}
	notes, _ := h.Notes()
	want := domain.Note{At: time.Date(2026, 1, 1, 22, 4, 5, 678_000_000, time.UTC), Attempt: 13, Ran: 13, Message: "no", Runner: "r"}
	if got := notes[9]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHistoryStaysUnder1MiB(t *testing.T) {
	full := func(piece string) domain.Note {
		huge := strings.Repeat(piece, 2*domain.MaxStack)
		return domain.Note{Message: huge, Stack: huge, Runner: huge}
	}
	for _, piece := range []string{"\x01", "<", "\x00", "\xff", "\u2028", "x"} {
		h := domain.History("").Add(full(piece))
		if checkHistory(t, h, 1); len(h) >= 1<<20/domain.MaxHistory {
			t.Errorf("a note of %q has %d bytes, one of %d in 1 MiB", piece, len(h), domain.MaxHistory)
		}
	}
	// What grows most as JSON text: one byte becomes six. All of them at full size, and one more.
	one := strings.Trim(string(domain.History("").Add(full("\x01"))), "[]")
	all := domain.History("[" + strings.Repeat(one+",", domain.MaxHistory-1) + one + "]")
	checkHistory(t, all.Add(full("\x01")), domain.MaxHistory)
	var h domain.History
	for n := range 500 {
		h = h.Add(domain.Note{Attempt: n, Message: "no\x00"})
	}
	checkHistory(t, h, domain.MaxHistory)
}

func checkHistory(t *testing.T, h domain.History, want int) {
	t.Helper()
	notes, err := h.Notes()
	if err != nil || len(notes) != want || len(h) >= 1<<20 {
		t.Fatalf("%d notes in %d bytes, %v", len(notes), len(h), err)
	}
	if !json.Valid([]byte(h)) || strings.Contains(string(h), `\u0000`) {
		t.Fatalf("the text cannot be stored: %.200s", h)
	}
	for _, n := range notes {
		if len(n.Message) > domain.MaxMessage || len(n.Stack) > domain.MaxStack || len(n.Runner) > domain.MaxRunner {
			t.Fatalf("a note has texts of %d, %d and %d bytes", len(n.Message), len(n.Stack), len(n.Runner))
		}
	}
}

func TestHistoryThatCannotBeReadStartsAnew(t *testing.T) {
	for _, bad := range []domain.History{"x", "{}", `[{"at":"yesterday"}]`, "[", `[{"attempt":1e99}]`} {
		if _, err := bad.Notes(); domain.CodeOf(err) != domain.Internal {
			t.Errorf("%q was read: %v", bad, err)
		}
		checkHistory(t, bad.Add(domain.Note{Attempt: 7, Message: "here"}), 1)
	}
	for _, empty := range []domain.History{"", "[]", "null"} {
		if notes, err := empty.Notes(); len(notes) != 0 || err != nil {
			t.Errorf("%q: %v, %v", empty, notes, err)
		}
	}
}

func TestHistoryOutlivesAnyMoment(t *testing.T) {
	for _, at := range []time.Time{
		{},
		time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("west", -12*3600)),
	} {
		checkHistory(t, domain.History("").Add(domain.Note{At: at, Message: "m"}), 1)
	}
}

func TestStallMessage(t *testing.T) {
	for _, runner := range []string{"", "host-1", "a\x00b", "\xff", strings.Repeat("x", 1<<20)} {
		msg := domain.StallMessage(runner)
		checkClean(t, msg, domain.MaxMessage, msg)
		if !strings.HasPrefix(msg, "stalled: the lease of runner") {
			t.Errorf("got %q", msg)
		}
	}
}

func FuzzHistory(f *testing.F) {
	f.Add("", "message", "stack", "runner", int64(0), 1)
	f.Add(`[{"at":"2026-01-01T00:00:00Z","attempt":1,"ran_ns":5,"message":"m"}]`, "\x00\xff", "\u2028", "€", int64(1)<<60, -1)
	f.Add("[null]", "", "", "", int64(-1)<<62, 0)
	f.Fuzz(func(t *testing.T, old, message, stack, runner string, at int64, attempt int) {
		h := domain.History(old)
		before, _ := h.Notes()
		h = h.Add(domain.Note{At: time.Unix(at, 0), Attempt: attempt, Message: message, Stack: stack, Runner: runner})
		notes, err := h.Notes()
		if want := min(len(before)+1, domain.MaxHistory); err != nil || len(notes) != want {
			t.Fatalf("%d notes, want %d, %v", len(notes), want, err)
		}
		last := notes[len(notes)-1]
		checkClean(t, message, domain.MaxMessage, last.Message)
		if last.Attempt != attempt {
			t.Fatalf("attempt %d became %d", attempt, last.Attempt)
		}
	})
}
