package bunstore

import (
	"time"

	"github.com/rowlock/rowlock/domain"
)

// A moment is a count of whole milliseconds since the epoch, cut, never rounded
// up; 0 is none. A span is a count of milliseconds; negative is for ever.

// MS cuts a span. A positive one stays positive.
func MS(d time.Duration) int64 {
	if d > 0 && d < time.Millisecond {
		return 1
	}
	return d.Milliseconds()
}

// KeepMS is ms for a retention, where every negative span is for ever.
func KeepMS(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return MS(d)
}

func span(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func moment(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// dueAt is the moment of a Due, -1 where it names none.
func dueAt(d domain.Due) int64 {
	if d.At.IsZero() {
		return -1
	}
	return d.At.UnixMilli()
}

func fromMoment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
