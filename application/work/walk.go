package work

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/rowlock/rowlock/domain"
)

// findIn gives the path, as JSON names it, of the first value that is bad, ""
// if none was found. It is asked only after encoding/json met one, so it may be
// slow; it is bounded all the same, for a value may hold itself.
func findIn(what string, v any, bad func(reflect.Value) bool) string {
	w := walker{bad: bad, left: 1_000_000}
	return w.walk(what, reflect.ValueOf(v), 0)
}

type walker struct {
	bad  func(reflect.Value) bool
	left int // values that may still be looked at
}

func badString(v reflect.Value) bool {
	return v.Kind() == reflect.String && !utf8.ValidString(v.String())
}

func badNumber(v reflect.Value) bool {
	return v.CanFloat() && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0))
}

func (w *walker) walk(path string, v reflect.Value, depth int) string {
	if w.left--; !v.IsValid() || w.left < 0 || depth > 3*domain.MaxDepth {
		return ""
	}
	if w.bad(v) {
		return path
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return w.walk(path, v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return ""
		}
		for i := range v.Len() {
			if found := w.walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i), depth+1); found != "" {
				return found
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			name := fmt.Sprintf("%s.%v", path, it.Key())
			if w.bad(it.Key()) {
				return name
			}
			if found := w.walk(name, it.Value(), depth+1); found != "" {
				return found
			}
		}
	case reflect.Struct:
		return w.fields(path, v, depth)
	default: // the rest holds nothing else
	}
	return ""
}

func (w *walker) fields(path string, v reflect.Value, depth int) string {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() && !field.Anonymous {
			continue
		}
		at := path
		switch {
		case name != "":
			at += "." + name
		case !field.Anonymous:
			at += "." + field.Name
		}
		if found := w.walk(at, v.Field(i), depth+1); found != "" {
			return found
		}
	}
	return ""
}
