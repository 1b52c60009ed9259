package domain

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// MaxCron is the longest cron expression, in bytes.
const MaxCron = 200

// cron is an expression that was read: which values of each field match, as bits.
type cron struct {
	second, minute, hour, day, month, weekday uint64

	anyDay, anyWeekday bool // the field leaves nothing out, so the other one decides alone
	everyHour          bool
	fine               bool // a wildcard or a step makes it run several times a day
}

// The fields of an expression, the seconds first.
const (
	fieldSecond = iota
	fieldMinute
	fieldHour
	fieldDay
	fieldMonth
	fieldWeekday
	fields
)

var cronFields = [fields]cronField{
	{name: "second", max: 59},
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "weekday", max: 6, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var cronMacros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseCron reads an expression of five fields, or of six with the seconds first. It
// is total: whatever the text, the answer is a schedule that can fire, or an Invalid fault.
func parseCron(text string) (c cron, err error) {
	parts, hint := splitCron(text)
	if hint != "" {
		return c, badCron(text, hint)
	}
	var sets [fields]uint64
	var loose [fields]bool
	for i, part := range parts {
		if sets[i], loose[i], hint = cronFields[i].parse(part); hint != "" {
			return c, badCron(text, cronFields[i].name+": "+hint)
		}
	}
	c = cron{
		second: sets[fieldSecond], minute: sets[fieldMinute], hour: sets[fieldHour],
		day: sets[fieldDay], month: sets[fieldMonth], weekday: sets[fieldWeekday],
		anyDay: bits.OnesCount64(sets[fieldDay]) == 31, anyWeekday: bits.OnesCount64(sets[fieldWeekday]) == 7,
		everyHour: bits.OnesCount64(sets[fieldHour]) == 24,
		fine:      loose[fieldSecond] || loose[fieldMinute] || loose[fieldHour],
	}
	if c.never() {
		return cron{}, badCron(text, "no year has such a day, so it would never run")
	}
	return c, nil
}

// splitCron gives six fields, or a hint.
func splitCron(text string) (parts []string, hint string) {
	if len(text) > MaxCron {
		return nil, fmt.Sprintf("it has %d bytes, the limit is %d", len(text), MaxCron)
	}
	trimmed := strings.Trim(text, " \t")
	upper := strings.ToUpper(trimmed)
	if strings.HasPrefix(upper, "TZ=") || strings.HasPrefix(upper, "CRON_TZ=") {
		return nil, "the zone is a field of its own, not a part of the expression"
	}
	if strings.HasPrefix(trimmed, "@") {
		full, known := cronMacros[strings.ToLower(trimmed)]
		if !known {
			return nil, "the short forms are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly; an interval is a timing of its own"
		}
		trimmed = full
	}
	parts = strings.FieldsFunc(trimmed, func(r rune) bool { return r == ' ' || r == '\t' })
	switch len(parts) {
	case fields - 1:
		return append([]string{"0"}, parts...), ""
	case fields:
		return parts, ""
	}
	return nil, fmt.Sprintf("it has %d fields: give minute, hour, day of month, month, weekday, or six with the second first", len(parts))
}

func badCron(text, hint string) error {
	return &Fault{Code: Invalid, Op: "parse cron expression", Subject: CleanText(text, 80), Hint: hint}
}

// never says that the days of the month are in none of the months, e.g. 31 April.
func (c *cron) never() bool {
	if c.anyDay || !c.anyWeekday { // a weekday is in every month
		return false
	}
	least := bits.TrailingZeros64(c.day)
	for month := 1; month <= 12; month++ {
		last := time.Date(2000, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day() // of a leap year
		if has(c.month, month) && least <= last {
			return false
		}
	}
	return true
}

// on says whether it runs on a day. Where both the day of month and the weekday
// leave something out, one of them will do.
func (c *cron) on(day time.Time) bool {
	byDay, byWeekday := has(c.day, day.Day()), has(c.weekday, int(day.Weekday()))
	switch {
	case !has(c.month, int(day.Month())):
		return false
	case c.anyDay:
		return byWeekday
	case c.anyWeekday:
		return byDay
	}
	return byDay || byWeekday
}

func has(set uint64, value int) bool { return set>>value&1 == 1 }

// least is the least value of a set from the given one on.
func least(set uint64, from int) (int, bool) {
	rest := set >> from << from
	return bits.TrailingZeros64(rest), rest != 0
}
