package bunstore

import (
	"time"
)

// A moment is a count of whole milliseconds since the epoch, cut, never rounded
// up; 0 is none. A span is a count of milliseconds; negative is for ever.

// ms cuts a span. A positive one stays positive.
func ms(d time.Duration) int64 {
	if d > 0 && d < time.Millisecond {
		return 1
	}
	return d.Milliseconds()
}

// keepMS is ms for a retention, where every negative span is for ever.
func keepMS(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return ms(d)
}

func span(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func moment(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMoment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// ID is a 16-byte id as a bound value, NULL for the zero id.
func ID(id [16]byte) any {
	if id == ([16]byte{}) {
		return nil
	}
	return id[:]
}

// Text is a text as a bound value, NULL for the empty one.
func Text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
