package bunstore

import (
	"encoding/hex"
	"strconv"
	"unicode/utf8"
)

// Array builds the JSON text of a row source: an array of arrays.
type Array struct{ buf []byte }

// NewArray makes one with room for so many bytes.
func NewArray(size int) *Array { return &Array{buf: make([]byte, 0, size)} }

// Row begins a row.
func (a *Array) Row() *Array {
	switch {
	case len(a.buf) == 0:
		a.buf = append(a.buf, '[', '[')
	default:
		a.buf = append(a.buf, ']', ',', '[')
	}
	return a
}

func (a *Array) sep() {
	if a.buf[len(a.buf)-1] != '[' {
		a.buf = append(a.buf, ',')
	}
}

// ID adds an id, null for the zero one.
func (a *Array) ID(id [16]byte) *Array {
	a.sep()
	if id == ([16]byte{}) {
		a.buf = append(a.buf, "null"...)
		return a
	}
	a.buf = append(a.buf, '"')
	a.buf = hex.AppendEncode(a.buf, id[:])
	a.buf = append(a.buf, '"')
	return a
}

// Int adds a number.
func (a *Array) Int(n int64) *Array {
	a.sep()
	a.buf = strconv.AppendInt(a.buf, n, 10)
	return a
}

// Text adds a text.
func (a *Array) Text(s string) *Array {
	a.sep()
	a.buf = appendJSON(a.buf, s)
	return a
}

// Bytes adds a text given as bytes.
func (a *Array) Bytes(b []byte) *Array {
	a.sep()
	a.buf = appendJSON(a.buf, b)
	return a
}

// Maybe adds a text, null for the empty one.
func (a *Array) Maybe(s string) *Array {
	if s != "" {
		return a.Text(s)
	}
	a.sep()
	a.buf = append(a.buf, "null"...)
	return a
}

// String is the whole text.
func (a *Array) String() string {
	if len(a.buf) == 0 {
		return "[]"
	}
	return string(append(a.buf, ']', ']'))
}

// appendJSON writes a JSON string that reads back as the very same text. All
// texts come as valid UTF-8; what is not becomes U+FFFD.
func appendJSON[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := decodeRune(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += size
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

func decodeRune[T string | []byte](s T) (rune, int) {
	var few [utf8.UTFMax]byte
	return utf8.DecodeRune(few[:copy(few[:], s)])
}

const hexDigits = "0123456789abcdef"
