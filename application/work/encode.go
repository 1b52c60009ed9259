package work

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"github.com/rowlock/rowlock/domain"
)

// Marshal gives the JSON text of args or a result as Rowlock stores it: no HTML
// escapes, and where encoding/json would silently replace a bad byte, an Invalid
// fault that names the path, as for NaN and the infinities.
func Marshal(what string, v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, unwritable(what, v, err)
	}
	text := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if bytes.Contains(text, []byte(`\ufffd`)) { // the mark of a replaced byte, or somebody's own escape
		if path := findIn(what, v, badString); path != "" {
			return nil, badValue(path, "it holds bytes that are not valid UTF-8", nil)
		}
	}
	return text, nil
}

func unwritable(what string, v any, err error) error {
	var value *json.UnsupportedValueError
	var typ *json.UnsupportedTypeError
	switch {
	case errors.As(err, &value):
		if !value.Value.CanFloat() {
			return badValue(what, "it refers to itself", err)
		}
		return badValue(cmp.Or(findIn(what, v, badNumber), what), "JSON has no NaN and no infinity", err)
	case errors.As(err, &typ):
		return badValue(what, "JSON cannot hold the Go type "+typ.Type.String(), err)
	}
	return badValue(what, "it cannot be written as JSON", err)
}

func badValue(path, hint string, err error) error {
	return &domain.Fault{Code: domain.Invalid, Op: "write JSON", Subject: domain.CleanText(path, 400), Hint: hint, Err: err}
}
