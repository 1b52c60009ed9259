package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonSpace is what JSON lets stand between tokens, less than unicode knows as space.
const jsonSpace = " \t\r\n"

// ValidateJSON is the one validator of args, results and metadata, at every
// door: one JSON value of at most limit bytes, valid UTF-8, no NUL and no lone
// surrogate, at most MaxDepth deep. The Invalid fault names the path of what is
// wrong, e.g. `args.user.tags[3]`. Numbers of any size pass: the text is stored as it is.
func ValidateJSON(what string, text []byte, limit int) error {
	if len(text) > limit {
		return badJSON(what, fmt.Sprintf("it has %d bytes, the limit is %d: store the data elsewhere and pass a reference", len(text), limit))
	}
	if plainJSON(text) {
		return nil
	}
	return walkJSON(what, text)
}

func badJSON(path, hint string) error {
	return &Fault{Code: Invalid, Op: "check JSON", Subject: path, Hint: hint}
}

// plainJSON says yes only to JSON that needs no closer look; the slow walk judges the rest.
func plainJSON(text []byte) bool {
	if !json.Valid(text) || !utf8.Valid(text) || bytes.Contains(text, []byte(`\u`)) {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

// level is one open object or array on the way to the current token.
type level struct {
	object bool
	key    string
	index  int
	isKey  bool // the next token of an object is a key
}

// walkJSON reads token by token and reports the first fault with its path.
func walkJSON(what string, text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var open []level
	values := 0
	for start := int64(0); ; start = dec.InputOffset() {
		tok, err := dec.Token()
		if err != nil {
			if len(open) == 0 && values == 1 && len(bytes.TrimLeft(text[start:], jsonSpace)) == 0 {
				return nil
			}
			return badJSON(jsonPath(what, open), "it is not valid JSON near byte "+strconv.FormatInt(dec.InputOffset(), 10))
		}
		if len(open) == 0 {
			if values++; values > 1 {
				return badJSON(what, "it holds more than one JSON value")
			}
		}
		raw := text[start:dec.InputOffset()]
		if hint := badText(raw); hint != "" {
			return badJSON(jsonPath(what, open), hint)
		}
		if open = step(open, tok); len(open) > MaxDepth {
			return badJSON(what, fmt.Sprintf("it is nested more than %d deep", MaxDepth))
		}
	}
}

// step moves the path over one token.
func step(open []level, tok json.Token) []level {
	if d, ok := tok.(json.Delim); ok {
		if d == '{' || d == '[' {
			return append(open, level{object: d == '{', isKey: d == '{'})
		}
		open = open[:len(open)-1]
	} else if n := len(open) - 1; n >= 0 && open[n].isKey {
		open[n].key, open[n].isKey = fmt.Sprint(tok), false
		return open
	}
	if n := len(open) - 1; n >= 0 { // a value ended
		open[n].isKey = open[n].object
		open[n].index++
	}
	return open
}

func jsonPath(what string, open []level) string {
	var b strings.Builder
	b.WriteString(what)
	for _, l := range open {
		switch {
		case !l.object:
			fmt.Fprintf(&b, "[%d]", l.index)
		case !l.isKey:
			b.WriteString("." + CleanText(l.key, 60))
		}
	}
	return CleanText(b.String(), 400)
}

// badText looks into the raw bytes of one token: what the JSON decoder would
// silently replace is refused here.
func badText(raw []byte) string {
	if !utf8.Valid(raw) {
		return "it holds bytes that are not valid UTF-8"
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if i >= len(raw) || raw[i] != 'u' {
			continue
		}
		switch unit := hexUnit(raw, i+1); {
		case unit == 0:
			return "it holds a NUL character, which not every database can store"
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return "it holds a lone surrogate, which is not a character"
		case unit >= 0xD800 && unit < 0xDC00:
			low := 0
			if i+6 < len(raw) && raw[i+5] == '\\' && raw[i+6] == 'u' {
				low = hexUnit(raw, i+7)
			}
			if low < 0xDC00 || low > 0xDFFF {
				return "it holds a lone surrogate, which is not a character"
			}
			i += 6
		}
	}
	return ""
}

// hexUnit reads four hex digits at i, -1 if they are not there.
func hexUnit(raw []byte, i int) int {
	if i+4 > len(raw) {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[i:i+4]), 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}
