package cli

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// screen is what a terminal shows of what is written to it: it knows the moves
// that a progress bar makes.
type screen struct {
	mu    sync.Mutex
	lines []string
	row   int
	drawn chan struct{} // a bar was drawn
}

var moves = regexp.MustCompile(`\x1b\[(\d*)([A-Za-z])`)

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(p)
	if strings.Contains(text, "jobs") {
		select {
		case s.drawn <- struct{}{}:
		default:
		}
	}
	for text != "" {
		at := moves.FindStringSubmatchIndex(text)
		if at == nil || at[0] > 0 {
			end := len(text)
			if at != nil {
				end = at[0]
			}
			s.print(text[:end])
			text = text[end:]
			continue
		}
		n := 1
		_, _ = fmt.Sscan(text[at[2]:at[3]], &n)
		switch text[at[4]:at[5]] {
		case "A":
			s.row = max(s.row-n, 0)
		case "K":
			s.line()
			s.lines[s.row] = ""
		}
		text = text[at[1]:]
	}
	return len(p), nil
}

func (s *screen) line() {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, "")
	}
}

func (s *screen) print(text string) {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			s.row++
		}
		s.line()
		if part = strings.TrimPrefix(part, "\r"); part != "" {
			s.lines[s.row] += part
		}
	}
}

// Lines of a log that come while a bar is drawn are each there in the end, whole,
// in order, and the bar is there once.
func TestLogLinesAndTheBarShareTheTerminal(t *testing.T) {
	shown := &screen{drawn: make(chan struct{})}
	c := &console{out: shown}
	m := newMeter(c, "jobs", 0)
	const lines = 40
	for i := range lines {
		if i%10 == 0 && i < lines/2 { // some lines before each drawing, and more than one drawing
			<-shown.drawn
		}
		if _, err := fmt.Fprintf(c, "warn retried %d %%d\n", i); err != nil {
			t.Fatal(err)
		}
		m.add(1)
		if i == lines/2 {
			m.end()
		}
	}
	next := 0
	for _, line := range shown.lines {
		if strings.HasPrefix(line, "warn") {
			if want := fmt.Sprintf("warn retried %d %%d", next); line != want {
				t.Fatalf("line %q, want %q", line, want)
			}
			next++
		}
	}
	if all := strings.Join(shown.lines, "\n"); next != lines || strings.Count(all, "jobs") != 1 {
		t.Errorf("%d lines, and the bar %d times:\n%s", next, strings.Count(all, "jobs"), all)
	}
}

func TestNothingIsDrawnWhereThereIsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	s := newShell(Config{Stderr: &out})
	m := s.meter("jobs", 5)
	m.add(1)
	m.set(2)
	m.end()
	s.say("hello")
	if m != nil || out.String() != "rowlock: hello\n" {
		t.Errorf("%v, %q", m, out.String())
	}
}
