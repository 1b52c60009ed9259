package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// answer prints the command's answer: the document with --json, else the text for people.
func (s *shell) answer(doc any, people func(w io.Writer) error) error {
	if s.json {
		return s.document(doc)
	}
	return people(s.Stdout)
}

// document writes the one JSON document of a command. Raw JSON in it keeps its
// numbers and texts as they are.
func (s *shell) document(doc any) error {
	s.answered = true
	enc := json.NewEncoder(s.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

// line prints a line of the answer for people.
func line(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintln(w, plain(fmt.Sprintf(format, args...)))
	return err
}

// grid prints a table; numbers in the columns from the n-th on are set right.
func grid(w io.Writer, right int, header []string, rows [][]string) error {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	t.SetStyle(style)
	t.AppendHeader(cells(header))
	var columns []table.ColumnConfig
	for i := right; i < len(header); i++ {
		columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for _, row := range rows {
		t.AppendRow(cells(row))
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

func cells(words []string) table.Row {
	row := make(table.Row, len(words))
	for i, word := range words {
		row[i] = plain(word)
	}
	return row
}

// plain makes text safe for a terminal: names and errors come from anywhere and
// may hold escape sequences. Line breaks become spaces.
func plain(words string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return '\uFFFD'
		}
		return r
	}, words)
}

// moment is a time in a document: RFC 3339 in UTC with milliseconds, null where there is none.
type moment time.Time

const momentForm = "2006-01-02T15:04:05.000Z"

// MarshalJSON gives the text or null.
func (m moment) MarshalJSON() ([]byte, error) {
	if time.Time(m).IsZero() {
		return []byte("null"), nil
	}
	return []byte(time.Time(m).UTC().Format(`"` + momentForm + `"`)), nil
}

// String is the time for people.
func (m moment) String() string {
	if time.Time(m).IsZero() {
		return "-"
	}
	return time.Time(m).UTC().Format("2006-01-02 15:04:05Z")
}

// millis is a duration in a document.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// textOf is an answer of one line.
func textOf(format string, args ...any) func(io.Writer) error {
	return func(w io.Writer) error { return line(w, format, args...) }
}
