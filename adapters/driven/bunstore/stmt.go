package bunstore

import (
	"slices"
	"strconv"
	"strings"
)

// Marks say how a driver wants its parameters.
type Marks struct {
	Prefix     string // "$", "@p" or "?"
	Positional bool   // no number after it: one value for each mark
}

// Stmt is a compiled text with the values its driver wants, in their order.
type Stmt struct {
	Text  string
	order []int
}

// Compile turns $1, $2, .. of a text into the driver's marks; values that the
// text does not name are not sent. A $ without a number after it stays (JSON paths).
func (m Marks) Compile(text string) Stmt {
	var b strings.Builder
	st := Stmt{}
	for i := 0; i < len(text); i++ {
		end := i + 1
		for text[i] == '$' && end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if end == i+1 {
			b.WriteByte(text[i])
			continue
		}
		n, _ := strconv.Atoi(text[i+1 : end]) // digits only
		at := slices.Index(st.order, n-1)
		if at < 0 || m.Positional {
			st.order = append(st.order, n-1)
			at = len(st.order) - 1
		}
		if b.WriteString(m.Prefix); !m.Positional {
			b.WriteString(strconv.Itoa(at + 1))
		}
		i = end - 1
	}
	st.Text = b.String()
	return st
}

// Args puts the values, $1 first, into the driver's order.
func (s Stmt) Args(values ...any) []any {
	out := make([]any, len(s.order))
	for i, n := range s.order {
		out[i] = values[n]
	}
	return out
}

// params collects the bound values of a query that is put together at run time.
type params struct{ values []any }

// add binds a value and gives its name in the text.
func (p *params) add(v any) string {
	p.values = append(p.values, v)
	return "$" + strconv.Itoa(len(p.values))
}
