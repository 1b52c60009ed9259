package domain

import (
	"fmt"
	"time"
)

// MinEvery is the shortest interval of a schedule.
const MinEvery = time.Second

// Validate refuses what is not one timing, and one that never has a tick.
func (t Timing) Validate() error {
	_, err := t.ticks()
	return err
}

// Next is the first tick after a moment; false where there is none before the year
// 9999, or the timing is not valid.
func (t Timing) Next(after time.Time) (time.Time, bool) {
	ticks, err := t.ticks()
	if err != nil {
		return time.Time{}, false
	}
	return ticks.next(after)
}

// ticks are those of a timing that was read: every so many milliseconds, or when the
// clocks of a zone say so. They are not for concurrent use.
type ticks struct {
	every int64
	clock clock
}

func (t Timing) ticks() (*ticks, error) {
	hint := ""
	switch {
	case t.Cron == "" && t.Every == 0:
		hint = "give a cron expression or an interval"
	case t.Cron != "" && t.Every != 0:
		hint = "give a cron expression or an interval, not both"
	case t.Cron == "" && t.Zone != "":
		hint = "an interval has no zone: it counts from the epoch"
	case t.Cron == "" && (t.Every < MinEvery || t.Every > MaxDelay || t.Every%time.Millisecond != 0):
		hint = fmt.Sprintf("the interval is %v, it must be whole milliseconds from %v to %v", t.Every, MinEvery, MaxDelay)
	case t.Cron == "":
		return &ticks{every: t.Every.Milliseconds()}, nil
	default:
		return t.read()
	}
	return nil, &Fault{Code: Invalid, Op: "check timing", Hint: hint}
}

func (t Timing) read() (*ticks, error) {
	spec, err := parseCron(t.Cron)
	if err != nil {
		return nil, err
	}
	zone, err := loadZone(t.Zone)
	if err != nil {
		return nil, err
	}
	return &ticks{clock: clock{cron: spec, zone: zone}}, nil
}

func (t *ticks) next(after time.Time) (next time.Time, ok bool) {
	switch {
	case !after.Before(maxMoment):
		return time.Time{}, false
	case t.every == 0:
		var unix int64
		unix, ok = t.clock.next(after.Unix())
		next = time.Unix(unix, 0).UTC()
	case after.Before(minMoment):
		next, ok = minMoment, true
	default:
		next, ok = time.UnixMilli((after.UnixMilli()/t.every+1)*t.every).UTC(), true
	}
	return next, ok && next.Before(maxMoment)
}
