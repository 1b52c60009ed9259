package work

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/rowlock/rowlock/domain"
)

var errTrailing = errors.New("more than one JSON value")

// decoderFor picks the cheaper decoder where it cannot lose a digit: only an
// interface makes a float64 of a number.
func decoderFor(t reflect.Type) func(text []byte, into any) error {
	if !holdsInterface(t, map[reflect.Type]bool{}) {
		return json.Unmarshal
	}
	return decodeNumbers
}

func decodeNumbers(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

func holdsInterface(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsInterface(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsInterface(t.Field(i).Type, seen) {
				return true
			}
		}
	default: // the rest holds nothing else
	}
	return false
}

// unreadable says where the args do not fit, never what they hold: a decoder's
// own text may quote them.
func unreadable(kind string, err error) error {
	f := &domain.Fault{Code: domain.Invalid, Op: "read args", Subject: domain.CleanText(kind, domain.MaxKind), Err: err}
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		what, _, _ := strings.Cut(wrong.Value, " ")
		path := strings.TrimSuffix("args."+wrong.Field, ".")
		f.Hint = fmt.Sprintf("%s: a JSON %s does not fit the type %s", domain.CleanText(path, 200), what, wrong.Type)
	case errors.As(err, &syntax):
		f.Hint = fmt.Sprintf("they are not valid JSON near byte %d", syntax.Offset)
	default:
		f.Hint = "they do not fit the type that the handler takes"
	}
	return f
}
