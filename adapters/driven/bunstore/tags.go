package bunstore

import "encoding/json"

// Tags are stored as a JSON array of strings in which commas and quotes inside a
// tag are written as numbers. So a comma is a separator, a bare quote a border,
// and a tag is found by looking for its quoted text.

func encodeTags(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	b := []byte{'['}
	for i, tag := range tags {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, tagText(tag)...)
	}
	return string(append(b, ']'))
}

// tagText is a tag as it stands in the stored text, quotes included.
func tagText(tag string) string {
	b := []byte{'"'}
	for _, r := range tag {
		switch r {
		case ',':
			b = append(b, `\u002c`...)
		case '"':
			b = append(b, `\u0022`...)
		default:
			one := appendJSON(nil, string(r))
			b = append(b, one[1:len(one)-1]...)
		}
	}
	return string(append(b, '"'))
}

func decodeTags(text string) (tags []string) {
	if text == "" {
		return nil
	}
	_ = json.Unmarshal([]byte(text), &tags) // what cannot be read shows as no tags
	return tags
}
