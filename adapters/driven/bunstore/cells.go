package bunstore

import (
	"database/sql"
	"strconv"

	"github.com/rowlock/rowlock/domain"
)

// cells is one row as the driver gave it: no reflection, one pass.
type cells struct {
	v    []any
	dest []any
}

func newCells(n int) *cells {
	c := &cells{v: make([]any, n), dest: make([]any, n)}
	for i := range c.v {
		c.dest[i] = &c.v[i]
	}
	return c
}

func (c *cells) scan(rows *sql.Rows) error { return rows.Scan(c.dest...) }

// int reads a whole number; NULL is 0. Some drivers give sums, or every number
// of an unprepared query, as text.
func (c *cells) int(i int) int64 {
	switch v := c.v[i].(type) {
	case int64:
		return v
	case []byte:
		n, _ := strconv.ParseInt(string(v), 10, 64) // columns of numbers hold numbers
		return n
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

func (c *cells) text(i int) string {
	switch v := c.v[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func (c *cells) bytes(i int) []byte {
	switch v := c.v[i].(type) {
	case string:
		return []byte(v)
	case []byte: // a copy already: Scan gave it to an any
		return v
	}
	return nil
}

// id reads an id: 16 bytes, or the text form that some drivers give.
func (c *cells) id(i int) (id [16]byte) {
	text := c.text(i)
	if len(text) == len(id) {
		copy(id[:], text)
		return id
	}
	parsed, _ := domain.ParseJobID(text) // NULL is the zero id
	return parsed
}
