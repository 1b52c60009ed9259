package domain

import (
	"fmt"
	"strconv"
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

// OnConflict says what an enqueue does when its unique key is held.
type OnConflict uint8

// The policies.
const (
	Skip  OnConflict = iota // answer Existing with the holder's id; nothing is written
	Error                   // a Conflict fault naming the holder; nothing of the call is written
)

// Unique makes a job the only one of its key and tenant until it is terminal.
type Unique struct {
	Key        string
	OnConflict OnConflict
}

// UniqueLock is what the unique index holds for a key: the key scoped by its
// tenant, so that no two pairs share one lock. The length in front keeps the
// border between the two.
func UniqueLock(tenant, key string) string {
	return "u" + strconv.Itoa(len(tenant)) + ":" + tenant + key
}
