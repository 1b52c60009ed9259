package domain

import "time"

// SwitchSort says what is switched off.
type SwitchSort uint8

// The sorts. The numbers are stored: they never change.
const (
	SwitchQueue SwitchSort = iota // nothing of that queue is claimed
	SwitchKind                    // nothing of that kind is claimed, in any queue
	switchSorts
)

var switchNames = [switchSorts]string{"queue", "kind"}

// String is the sort's word.
func (s SwitchSort) String() string {
	if s < switchSorts {
		return switchNames[s]
	}
	return "unknown"
}

// MarshalText gives the sort's word.
func (s SwitchSort) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Switch names a queue or a kind that may be paused: its jobs wait where they are,
// those that run go on, and new ones may be added.
type Switch struct {
	Sort SwitchSort
	Name string
}

// Paused is one that is.
type Paused struct {
	Switch
	Since time.Time
}

// Validate refuses names that no job could have.
func (s Switch) Validate() error {
	limit := MaxQueue
	switch s.Sort {
	case SwitchQueue:
	case SwitchKind:
		limit = MaxKind
	default:
		return &Fault{Code: Invalid, Op: "check switch", Hint: "a queue or a kind can be paused"}
	}
	return ValidateName(s.Sort.String(), s.Name, limit)
}
