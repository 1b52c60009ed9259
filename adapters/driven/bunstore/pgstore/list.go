package pgstore

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// list is the literal of an array in the making.
type list struct {
	text    strings.Builder
	scratch [32]byte
}

func newList(size int) *list {
	l := &list{}
	l.text.Grow(size + 2)
	return l
}

// sep goes before an element.
func (l *list) sep() {
	if l.text.Len() == 0 {
		l.text.WriteByte('{')
		return
	}
	l.text.WriteByte(',')
}

func (l *list) id(id [16]byte) {
	l.sep()
	hex.Encode(l.scratch[:], id[:])
	l.text.Write(l.scratch[:])
}

func (l *list) int(n int64) {
	l.sep()
	l.text.Write(strconv.AppendInt(l.scratch[:0], n, 10))
}

func (l *list) str(text string) {
	l.sep()
	l.text.WriteByte('"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			l.text.WriteByte('\\')
		}
		l.text.WriteByte(text[i])
	}
	l.text.WriteByte('"')
}

// String is the whole text.
func (l *list) String() string {
	if l.text.Len() == 0 {
		return "{}"
	}
	l.text.WriteByte('}')
	return l.text.String()
}

// array is the literal of an array of texts, numbers of one of numbers.
func array(texts []string) string {
	l := newList(0)
	for _, text := range texts {
		l.str(text)
	}
	return l.String()
}

func numbers(of []int) string {
	l := newList(0)
	for _, n := range of {
		l.int(int64(n))
	}
	return l.String()
}
