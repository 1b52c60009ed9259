package domain

import "time"

// clock finds the ticks of an expression on the clocks of a zone. A tick is the moment
// when the wall clock shows a matching time. Where the clocks are turned,
//   - a schedule that names its hours (not all 24) has its times that are left out
//     all at once, at the first moment after them; see around for days that end there,
//   - a schedule that names all its times of day has those that come twice only the
//     first time. One with wildcards or steps within the day is fine, hence even: it
//     runs on.
type clock struct {
	cron
	zone *time.Location
	at   stretch // the last one that was looked at
	day  wall    // the last one that matched
	hit  bool    // there was one
}

// reach is how far ahead a matching day can be: from 2096 to 2104 no year is a leap year.
const reach = 9 * 366

// next is the first tick after a moment, both in seconds since 1970.
func (c *clock) next(after int64) (int64, bool) {
	var match, since wall // the first match since then, which may be years ahead
	known := false
	for now := max(after+1, 0); now < maxMoment.Unix(); {
		s := c.stretch(now)
		if now == s.from && c.afterGap(s) {
			return now, true
		}
		from := wall(now + s.offset)
		if !c.fine {
			from = max(from, s.follows()) // what the clocks show again is over
		}
		if !known || from < since || match < from {
			if match, known = c.match(from); !known {
				return 0, false
			}
			since = from
		}
		if match < s.ends() {
			return int64(match) - s.offset, true
		}
		if last := s.until - 1; last >= now && c.beforeGap(c.stretch(s.until)) {
			return last, true
		}
		now = s.until
	}
	return 0, false
}

func (c *clock) stretch(unix int64) stretch {
	if unix < c.at.from || unix >= c.at.until {
		c.at = stretchAt(unix, c.zone)
	}
	return c.at
}

// afterGap says that times are left out just before the stretch that belong to the day
// with which it begins. Of a day that was left out as a whole they do, unless that day
// has times of its own: then there is nothing to make up for.
func (c *clock) afterGap(s stretch) bool {
	from, until := s.follows(), s.starts()
	if from >= until || c.everyHour {
		return false
	}
	today := until.midnight()
	if today <= from {
		return c.within(from, until)
	}
	return c.within(today, until) || c.within(endOfDay(from), today) && !c.on(today.time())
}

// beforeGap says that times are left out between the day with which the stretch before
// ends and the one with which this one begins, and belong to the former. They are had
// in its last second, so that no day goes without and none has them twice.
func (c *clock) beforeGap(s stretch) bool {
	from, until := s.follows(), s.starts()
	return from < until && !c.everyHour && until.midnight() > from && c.within(from, endOfDay(from))
}

// endOfDay is that of the day of the second before.
func endOfDay(w wall) wall { return (w - 1).midnight() + wallDay }

func (c *clock) within(from, until wall) bool {
	if from >= until {
		return false
	}
	match, ok := c.match(from)
	return ok && match < until
}

// match is the first time that matches, from the given one on.
func (c *clock) match(from wall) (wall, bool) {
	midnight := from.midnight()
	if c.hit && c.day == midnight || c.on(midnight.time()) {
		c.day, c.hit = midnight, true
		if second, ok := c.inDay(int(from - midnight)); ok {
			return midnight + wall(second), true
		}
	}
	first, _ := c.inDay(0)
	day := midnight.time()
	limit := day.AddDate(0, 0, reach)
	for day = day.AddDate(0, 0, 1); day.Before(limit); {
		switch {
		case !has(c.month, int(day.Month())):
			day = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case c.on(day):
			return wall(day.Unix()) + wall(first), true
		default:
			day = day.AddDate(0, 0, 1)
		}
	}
	return 0, false
}

// inDay is the first matching second of a day, from the given one on.
func (c *cron) inDay(from int) (int, bool) {
	hour, minute, second := from/3600, from/60%60, from%60
	minutes, _ := least(c.minute, 0)
	seconds, _ := least(c.second, 0)
	if has(c.hour, hour) {
		if has(c.minute, minute) {
			if second, ok := least(c.second, second); ok {
				return hour*3600 + minute*60 + second, true
			}
		}
		if minute, ok := least(c.minute, minute+1); ok {
			return hour*3600 + minute*60 + seconds, true
		}
	}
	hour, ok := least(c.hour, hour+1)
	return hour*3600 + minutes*60 + seconds, ok
}
