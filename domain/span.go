package domain

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

const spanHint = `give a duration like "90s", "1h30m" or "7d", or a number of seconds`

// Span is a duration in JSON: text as ParseSpan reads it, or a number of
// seconds. null leaves it as it is.
type Span time.Duration

// UnmarshalJSON reads "1m30s", 90 or 0.5.
func (s *Span) UnmarshalJSON(text []byte) error {
	var words string
	var seconds float64
	switch {
	case string(text) == "null":
		return nil
	case json.Unmarshal(text, &words) == nil:
		d, err := ParseSpan(words)
		*s = Span(d)
		return s.mistyped(err)
	}
	err := json.Unmarshal(text, &seconds)
	*s = Span(secondsOf(seconds))
	return s.mistyped(err)
}

// mistyped is an error whose field the JSON decoder fills in.
func (s *Span) mistyped(err error) error {
	if err == nil {
		return nil
	}
	return &json.UnmarshalTypeError{Value: spanHint, Type: reflect.TypeFor[Span]()}
}

// ParseSpan reads a duration as people write it: Go's form, with days before it
// ("7d", "1d12h"), or a number of seconds.
func ParseSpan(text string) (time.Duration, error) {
	fault := &Fault{Code: Invalid, Op: "parse duration", Subject: CleanText(text, 80), Hint: spanHint}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(seconds) {
		return secondsOf(seconds), nil
	}
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil || n > uint64(math.MaxInt64/(24*time.Hour)) {
		return 0, fault
	}
	whole := time.Duration(n) * 24 * time.Hour
	if found && rest == "" {
		return whole, nil
	}
	part, err := time.ParseDuration(rest)
	if err != nil || (found && part < 0) || part > math.MaxInt64-whole {
		return 0, fault
	}
	return whole + part, nil
}

// secondsOf stays inside what a Duration holds; every check of a range refuses the rest.
func secondsOf(seconds float64) time.Duration {
	const most = float64(math.MaxInt64/int64(time.Second)) - 1
	return time.Duration(min(max(seconds, -most), most) * float64(time.Second))
}
