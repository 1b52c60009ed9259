package bunstore

import (
	"reflect"
	"testing"
)

func TestCompile(t *testing.T) {
	values := []any{"now", "two", "three"}
	cases := []struct {
		marks Marks
		in    string
		text  string
		args  []any
	}{
		{Marks{Prefix: "?", Positional: true}, "a = $2 AND b > $1 OR c = $2", "a = ? AND b > ? OR c = ?", []any{"two", "now", "two"}},
		{Marks{Prefix: "$"}, "a = $2 AND b > $3 OR c = $2", "a = $1 AND b > $2 OR c = $1", []any{"two", "three"}},
		{Marks{Prefix: "@p"}, "a = $3", "a = @p1", []any{"three"}},
		{Marks{Prefix: "@p"}, "x -> '$[0]', '$.a', 5$", "x -> '$[0]', '$.a', 5$", []any{}},
	}
	for _, c := range cases {
		st := c.marks.Compile(c.in)
		if st.Text != c.text || !reflect.DeepEqual(st.Args(values...), c.args) {
			t.Errorf("Compile(%q) = %q with %v, want %q with %v", c.in, st.Text, st.Args(values...), c.text, c.args)
		}
	}
}
