package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/rowlock/rowlock/domain"
)

// jsonOf writes a YAML value as JSON, nil where there is none. Numbers keep their digits
// where JSON writes them alike, and keys their order.
func jsonOf(node *yaml.Node) ([]byte, error) {
	if node.IsZero() {
		return nil, nil
	}
	w := writer{}
	if err := w.value(node, 0); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

// writer is bounded: an alias of an alias of an alias may stand for more than fits anywhere.
type writer struct{ out bytes.Buffer }

func (w *writer) value(node *yaml.Node, depth int) error {
	switch {
	case depth > domain.MaxDepth:
		return at(node, fmt.Sprintf("it is nested more than %d deep", domain.MaxDepth))
	case w.out.Len() > domain.MaxArgs:
		return at(node, fmt.Sprintf("it has more than %d bytes as JSON", domain.MaxArgs))
	}
	switch node.Kind {
	case yaml.AliasNode:
		return w.value(node.Alias, depth+1)
	case yaml.SequenceNode:
		return w.list(node, depth)
	case yaml.MappingNode:
		return w.object(node, depth)
	case yaml.ScalarNode:
		return w.scalar(node)
	default:
		return at(node, "it is no value that JSON has")
	}
}

func at(node *yaml.Node, hint string) error { return bad(fmt.Sprintf("line %d", node.Line), hint) }

func (w *writer) list(node *yaml.Node, depth int) error {
	w.out.WriteByte('[')
	for i, item := range node.Content {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

func (w *writer) object(node *yaml.Node, depth int) error {
	seen := make(map[string]bool, len(node.Content)/2)
	w.out.WriteByte('{')
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			return at(key, "a key must be a plain text: JSON has no others")
		case seen[key.Value]:
			return at(key, fmt.Sprintf("the key %q is there twice", domain.CleanText(key.Value, 80)))
		case i > 0:
			w.out.WriteByte(',')
		}
		seen[key.Value] = true
		if err := w.text(key.Value); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if err := w.value(node.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

func (w *writer) scalar(node *yaml.Node) error {
	switch node.ShortTag() {
	case "!!null":
		w.out.WriteString("null")
		return nil
	case "!!bool", "!!int", "!!float":
		if json.Valid([]byte(node.Value)) {
			w.out.WriteString(node.Value)
			return nil
		}
		return w.converted(node)
	default: // texts, and what YAML calls a timestamp
		return w.text(node.Value)
	}
}

// converted is a value that YAML writes otherwise than JSON, e.g. 0x10 or yes.
func (w *writer) converted(node *yaml.Node) error {
	var value any
	if err := node.Decode(&value); err != nil {
		return at(node, "it cannot be read")
	}
	text, err := json.Marshal(value)
	if err != nil {
		return at(node, "JSON has no such number")
	}
	w.out.Write(text)
	return nil
}

func (w *writer) text(words string) error {
	encoder := json.NewEncoder(&w.out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(words); err != nil {
		return err
	}
	w.out.Truncate(w.out.Len() - 1) // its line break
	return nil
}
