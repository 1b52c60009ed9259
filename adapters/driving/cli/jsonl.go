package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/rowlock/rowlock/domain"
)

// parseLine reads one JSON object of a file. Fields have exact names, none
// twice; args and meta stay the bytes they are. A fault's Subject is the path of
// what is wrong, e.g. "args.user.name".
func parseLine(text []byte) (fields, error) {
	f := fields{text: make(map[string]string, 4)}
	dec := json.NewDecoder(bytes.NewReader(text))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return f, badLine(text)
	}
	seen := make(map[string]bool, 4)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return f, badLine(text)
		}
		name, _ := key.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return f, badLine(text)
		}
		switch {
		case shapeOf(name) == unknown:
			return f, badField(domain.CleanText(name, 60), errors.New("there is no such field; the fields are "+knownFields))
		case seen[name]:
			return f, badField(name, errors.New("it is there twice"))
		}
		seen[name] = true
		if err := f.set(name, value); err != nil {
			return f, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return f, badLine(text)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return f, badField("line", errors.New("there is more after the object: one JSON object a line"))
	}
	return f, nil
}

// badLine says where a line stops being a JSON object.
func badLine(text []byte) error {
	err := domain.ValidateJSON("line", text, math.MaxInt)
	f := faultOf(err)
	if err == nil {
		return badField("line", errors.New("it is not a JSON object"))
	}
	path := strings.TrimPrefix(strings.TrimPrefix(f.Subject, "line"), ".")
	if path == "" {
		path = "line"
	}
	return &domain.Fault{Code: domain.Invalid, Op: "read job", Subject: path, Hint: f.Hint}
}

// set takes one field's JSON value. null is as if the field were not there, but for args.
func (f *fields) set(name string, value json.RawMessage) error {
	shape := shapeOf(name)
	if name == "args" {
		f.args = value
		return nil
	}
	if string(value) == "null" {
		return nil
	}
	if err := domain.ValidateJSON(name, value, math.MaxInt); err != nil {
		return &domain.Fault{Code: domain.Invalid, Op: "read job", Subject: faultOf(err).Subject, Hint: faultOf(err).Hint}
	}
	if name == "meta" {
		f.meta = value
		return nil
	}
	if shape == list {
		var all []string
		if json.Unmarshal(value, &all) != nil {
			return badField(name, errors.New("give a list of strings"))
		}
		f.setList(name, all)
		return nil
	}
	text, ok := scalar(value, shape)
	if !ok {
		return badField(name, errors.New(shape.wanted()))
	}
	f.text[name] = text
	return nil
}

// scalar gives a value's text if it has the shape.
func scalar(value json.RawMessage, s shape) (string, bool) {
	var text string
	isText := json.Unmarshal(value, &text) == nil
	first := value[0]
	isNumber := first == '-' || first >= '0' && first <= '9'
	switch {
	case isText && (s == words || s == span):
		return text, true
	case isNumber && (s == number || s == span):
		return string(value), true
	case s == yesNo && (first == 't' || first == 'f'):
		return string(value), true
	}
	return "", false
}

// wanted says what a value of the shape looks like.
func (s shape) wanted() string {
	switch s {
	case number:
		return "it must be a whole number"
	case span:
		return `give a duration like "90s", or a number of seconds`
	case yesNo:
		return "give true or false"
	default:
		return "it must be a string"
	}
}
