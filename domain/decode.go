package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// DecodeStrict reads a JSON object into a struct and refuses unknown fields. Its
// Invalid fault names the field below what ("args.url") and never a value; usage
// is the hint where the text as a whole is wrong. A Fault that a field's own
// UnmarshalJSON answers is passed on.
func DecodeStrict(op, what string, text []byte, into any, usage string) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		return nil
	}
	f := &Fault{Code: Invalid, Op: op, Subject: what, Hint: usage}
	var typed *json.UnmarshalTypeError
	if own := (*Fault)(nil); errors.As(err, &own) {
		return own
	} else if unknown, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		f.Hint = "there is no field " + CleanText(unknown, 60) + ": " + usage
	} else if errors.As(err, &typed) && typed.Field != "" {
		f.Subject = what + "." + CleanText(typed.Field, 60)
		f.Hint = "a JSON " + typed.Value + " does not belong there"
		if typed.Type == reflect.TypeFor[Span]() {
			f.Hint = typed.Value
		}
	}
	return f
}
