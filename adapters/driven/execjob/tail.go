package execjob

import "strings"

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	kept  []byte
	cut   bool
}

// Write takes everything and keeps the last limit bytes.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > t.limit {
		p, t.cut, t.kept = p[len(p)-t.limit:], true, t.kept[:0]
	}
	if extra := len(t.kept) + len(p) - t.limit; extra > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[extra:]...), true
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// shown is the end of the output for an error, "" where there was none.
func (t *tail) shown() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "\uFFFD"))
	switch {
	case text == "":
		return ""
	case t.cut:
		return "; its output ends: …" + text
	}
	return "; its output: " + text
}
