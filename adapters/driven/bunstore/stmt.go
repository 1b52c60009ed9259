package bunstore

import (
	"strconv"
	"strings"
)

// Marks say how a driver wants its parameters.
type Marks struct {
	Positional bool   // ? in order of appearance, else Prefix and a number
	Prefix     string // "$", "@p", "?"
}

// Stmt is a compiled text with the order its driver wants the values in.
type Stmt struct {
	Text  string
	order []int // nil: as given
}

// Compile turns $1, $2, .. of a text into the driver's marks. A $ without a
// number after it stays (JSON paths).
func (m Marks) Compile(text string) Stmt {
	var b strings.Builder
	var order []int
	for i := 0; i < len(text); i++ {
		end := i + 1
		for text[i] == '$' && end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if end == i+1 {
			b.WriteByte(text[i])
			continue
		}
		if m.Positional {
			n, _ := strconv.Atoi(text[i+1 : end]) // digits only
			order = append(order, n-1)
			b.WriteByte('?')
		} else {
			b.WriteString(m.Prefix + text[i+1:end])
		}
		i = end - 1
	}
	return Stmt{Text: b.String(), order: order}
}

// Args puts the values, $1 first, into the driver's order.
func (s Stmt) Args(values ...any) []any {
	if s.order == nil {
		return values
	}
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
