package domain

import (
	"math"
	"strings"
	"time"
	_ "time/tzdata" // zones are the same on a host that has none
)

const maxZone = 64

// loadZone gives a zone of the IANA database by its name; "" is UTC. What is local to
// a host, offsets, and whatever else lies among a host's zone files is refused.
func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	hint := "give a name of the IANA database, e.g. Europe/Vienna; there is none of this name"
	switch {
	case strings.EqualFold(name, "local"):
		hint = "what is local differs from host to host: name the zone, e.g. Europe/Vienna"
	case !zoneName(name):
		hint = "give a name of the IANA database, e.g. Europe/Vienna; an offset is no zone, its clocks are never turned"
	default:
		zone, err := time.LoadLocation(name)
		if err == nil {
			return zone, nil
		}
	}
	return nil, &Fault{Code: Invalid, Op: "find zone", Subject: CleanText(name, 80), Hint: hint}
}

// zoneName says whether it is formed as the names of the database are. The files that
// a host has besides (posix/, right/, localtime) begin with a small letter.
func zoneName(name string) bool {
	for i, r := range []byte(name) {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		if i == 0 && r&0x20 != 0 || !letter && (i == 0 || !strings.ContainsRune("0123456789_+-/", rune(r))) {
			return false
		}
	}
	return len(name) <= maxZone && name != "Factory"
}

// wall is a moment as the clocks on the wall show it, in seconds, as if they were
// never turned.
type wall int64

const wallDay wall = 24 * 60 * 60

// time is a time.Time whose fields are those of the wall clock.
func (w wall) time() time.Time { return time.Unix(int64(w), 0).UTC() }

// midnight is the begin of its day.
func (w wall) midnight() wall { return w - ((w%wallDay)+wallDay)%wallDay }

// stretch is a time in which the clocks of a zone are not turned.
type stretch struct {
	from, until int64 // in seconds since 1970, until is in it no more
	offset      int64 // of the wall clock
	before      int64 // the offset of the stretch before
}

// far is beyond every moment that is asked for, and leaves room for an offset.
const far = math.MaxInt64 / 2

// stretchAt finds the stretch of a moment.
func stretchAt(unix int64, zone *time.Location) stretch {
	at := time.Unix(unix, 0).In(zone)
	_, offset := at.Zone()
	s := stretch{from: -far, until: far, offset: int64(offset), before: int64(offset)}
	from, until := at.ZoneBounds()
	if !from.IsZero() {
		s.from = from.Unix()
		_, before := time.Unix(s.from-1, 0).In(zone).Zone()
		s.before = int64(before)
	}
	if !until.IsZero() {
		s.until = until.Unix()
	}
	if s.until <= unix { // Go takes the last day of a leap year beyond the zone's table for the next year's
		s.until = time.Date(at.UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return s
}

// starts and ends are what the wall clock shows at the borders of the stretch.
func (s *stretch) starts() wall { return wall(s.from + s.offset) }
func (s *stretch) ends() wall   { return wall(s.until + s.offset) }

// follows is what the wall clock would show at its begin, had it not been turned.
func (s *stretch) follows() wall { return wall(s.from + s.before) }
