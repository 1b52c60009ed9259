package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rowlock/rowlock/domain"
)

// FuzzLine: a line that is taken is a JSON object whose args are its own bytes;
// one that is refused is so by a typed fault that names a path.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		good, `{"kind":"k","args":` + odd + `}`, `{"args" : [1, 2 ] , "kind":"a","tags":["x"],"after":1.5}`, `{"kind":"\u0041","args":null,"meta":{}}`,
		`{"kind":"k","kind":"k"}`, `{}`, `[]`, `{"a"`, `{"kind":7}`, `{"kind":"k"}}`, `{"kind":"k","at":"2030-01-01T00:00:00Z"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseLine(text)
		if err == nil {
			_, err = got.job()
		}
		if err != nil {
			var fault *domain.Fault
			if !errors.As(err, &fault) || fault.Code != domain.Invalid || fault.Subject == "" && !bytes.Contains(text, []byte(`""`)) {
				t.Fatalf("an untyped or unplaced fault: %v", err)
			}
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatalf("taken, and no JSON object: %v", err)
		}
		if raw, ok := object["args"]; ok && (!bytes.Equal(raw, got.args) || !bytes.Contains(text, got.args)) {
			t.Fatalf("args %q became %q", raw, got.args)
		}
	})
}

// FuzzLines: the reader gives the lines that splitting gives.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\nb\r\n c \nlast"))
	f.Add([]byte("\xEF\xBB\xBFa\n\xEF\xBB\xBFb"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want []string
		for _, part := range bytes.Split(bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF")), []byte("\n")) {
			if part = bytes.TrimSpace(part); len(part) > 0 {
				want = append(want, string(part))
			}
		}
		r := &lineReader{r: bufio.NewReaderSize(bytes.NewReader(text), 16)}
		var got []string
		for {
			line, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestLongLinesAreSkippedByNumber(t *testing.T) {
	long := strings.Repeat("x", maxLine+1)
	r := newLineReader(strings.NewReader("a\n" + long + "\n" + long[:maxLine-1] + "\n" + long))
	for _, want := range []struct {
		n, size int
		err     error
	}{{1, 1, nil}, {2, 0, errLongLine}, {3, maxLine - 1, nil}, {4, 0, errLongLine}, {4, 0, io.EOF}} {
		line, err := r.next()
		if r.n != want.n || len(line) != want.size || !errors.Is(err, want.err) {
			t.Fatalf("line %d: %d bytes, %v; want %+v", r.n, len(line), err, want)
		}
	}
}

func TestReadFailureIsNoEnd(t *testing.T) {
	f := &fake{}
	broken := io.MultiReader(strings.NewReader(good+"\n"+good), iotest.ErrReader(errors.New("disk")))
	im := &importer{s: newShell(Config{Stderr: io.Discard}), app: f.app()}
	if err := im.write(t.Context(), broken, 0); domain.CodeOf(err) != domain.Unavailable || len(f.added) != 0 {
		t.Errorf("%v, %d written", err, len(f.added))
	}
}
