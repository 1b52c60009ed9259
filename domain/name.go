package domain

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ValidateName checks a name or key at the door: not empty, at most limit
// bytes, valid UTF-8, no NUL. Names compare by bytes: 'a', 'A' and 'a ' are
// three names. The Invalid fault names what it is.
func ValidateName(what, name string, limit int) error {
	hint := ""
	switch {
	case name == "":
		hint = "it is empty"
	case len(name) > limit:
		hint = fmt.Sprintf("it has %d bytes, the limit is %d", len(name), limit)
	case !utf8.ValidString(name):
		hint = "it holds bytes that are not valid UTF-8"
	case strings.IndexByte(name, 0) >= 0:
		hint = "it holds a NUL byte, which not every database can store"
	default:
		return nil
	}
	return &Fault{Code: Invalid, Op: "check " + what, Subject: CleanText(name, 80), Hint: hint}
}
