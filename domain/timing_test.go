package domain

import (
	"math/rand/v2"
	"testing"
	"time"
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := loadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// run lists ticks as the clocks of the zone show them, with their offset.
func run(t *testing.T, timing Timing, from string, n int) (all []string) {
	t.Helper()
	zone := zoneOf(t, timing.Zone)
	at, err := time.ParseInLocation("2006-01-02 15:04", from, zone)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		next, ok := timing.Next(at)
		if !ok || !next.After(at) {
			t.Fatalf("%+v after %v: %v, %v", timing, at, next, ok)
		}
		at = next
		all = append(all, next.In(zone).Format("01-02 15:04:05 -0700"))
	}
	return all
}

func TestDaysWhenTheClocksAreTurned(t *testing.T) {
	for name, c := range map[string]struct {
		cron, zone, from string
		want             []string
	}{
		"a daily one in the gap":                 {"0 2 * * *", "America/Los_Angeles", "2025-03-08 12:00", []string{"03-09 03:00:00 -0700", "03-10 02:00:00 -0700"}},
		"another of them":                        {"0 2 * * *", "America/New_York", "2019-03-09 12:00", []string{"03-10 03:00:00 -0400", "03-11 02:00:00 -0400"}},
		"a daily one in the fold":                {"30 1 * * *", "America/New_York", "2025-11-01 12:00", []string{"11-02 01:30:00 -0400", "11-03 01:30:00 -0500"}},
		"two times of one gap run once":          {"0,30 2 * * *", "Europe/Vienna", "2026-03-28 12:00", []string{"03-29 03:00:00 +0200", "03-30 02:00:00 +0200", "03-30 02:30:00 +0200"}},
		"a gap and the time after it":            {"0 2,3 * * *", "Europe/Vienna", "2026-03-28 12:00", []string{"03-29 03:00:00 +0200", "03-30 02:00:00 +0200"}},
		"minutes within one hour of a gap":       {"*/15 2 * * *", "Europe/Vienna", "2026-03-28 12:00", []string{"03-29 03:00:00 +0200", "03-30 02:00:00 +0200"}},
		"steps of hours over a gap":              {"0 */2 * * *", "Europe/Vienna", "2026-03-28 23:30", []string{"03-29 00:00:00 +0100", "03-29 03:00:00 +0200", "03-29 04:00:00 +0200"}},
		"hourly over a gap":                      {"30 * * * *", "Europe/Vienna", "2026-03-29 01:00", []string{"03-29 01:30:00 +0100", "03-29 03:30:00 +0200", "03-29 04:30:00 +0200"}},
		"hourly over a fold":                     {"30 * * * *", "Europe/Vienna", "2026-10-25 01:40", []string{"10-25 02:30:00 +0200", "10-25 02:30:00 +0100", "10-25 03:30:00 +0100"}},
		"the weekly one of a gap":                {"30 2 * * sun", "Europe/Vienna", "2026-03-23 00:00", []string{"03-29 03:00:00 +0200", "04-05 02:30:00 +0200"}},
		"midnight that is left out":              {"0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00", []string{"11-04 01:00:00 -0200", "11-05 00:00:00 -0200"}},
		"midnight that comes twice":              {"30 23 * * *", "America/Sao_Paulo", "2018-02-17 12:00", []string{"02-17 23:30:00 -0200", "02-18 23:30:00 -0300"}},
		"half an hour is left out":               {"10 2 * * *", "Australia/Lord_Howe", "2025-10-04 12:00", []string{"10-05 02:30:00 +1100", "10-06 02:10:00 +1100"}},
		"half an hour comes twice":               {"45 1 * * *", "Australia/Lord_Howe", "2025-04-05 12:00", []string{"04-06 01:45:00 +1100", "04-07 01:45:00 +1030"}},
		"a gap up to midnight stays in its day":  {"30 23 * * *", "America/Nuuk", "2026-03-27 23:45", []string{"03-28 22:59:59 -0200", "03-29 23:30:00 -0100"}},
		"a day that is left out":                 {"0 7 * * *", "Pacific/Apia", "2011-12-28 12:00", []string{"12-29 07:00:00 -1000", "12-31 07:00:00 +1400"}},
		"the weekly one of a day left out":       {"0 7 * * fri", "Pacific/Apia", "2011-12-24 12:00", []string{"12-31 00:00:00 +1400", "01-06 07:00:00 +1400"}},
		"the yearly one of a day left out":       {"0 0 30 12 *", "Pacific/Apia", "2011-01-01 12:00", []string{"12-31 00:00:00 +1400", "12-30 00:00:00 +1400"}},
		"the yearly one with the seconds first":  {"0 0 0 30 12 *", "Pacific/Apia", "2011-01-01 12:00", []string{"12-31 00:00:00 +1400", "12-30 00:00:00 +1400"}},
		"hourly over a day that is left out":     {"0 * * * *", "Pacific/Apia", "2011-12-29 22:30", []string{"12-29 23:00:00 -1000", "12-31 00:00:00 +1400", "12-31 01:00:00 +1400"}},
		"the leap day, over 2100":                {"0 0 29 2 *", "Europe/Vienna", "2096-01-01 00:00", []string{"02-29 00:00:00 +0100", "02-29 00:00:00 +0100"}},
		"the last day of a leap year, in summer": {"0 12 * * *", "Australia/Sydney", "2044-12-30 13:00", []string{"12-31 12:00:00 +1100", "01-01 12:00:00 +1100", "01-02 12:00:00 +1100"}},
	} {
		got := run(t, Timing{Cron: c.cron, Zone: c.zone}, c.from, len(c.want))
		for i := range c.want {
			if got[i] != c.want[i] {
				t.Errorf("%s: %q in %s: %q, want %q", name, c.cron, c.zone, got, c.want)
				break
			}
		}
	}
}

// count is how many ticks lie in a local day.
func count(t *testing.T, timing Timing, day string) (n int) {
	t.Helper()
	zone := zoneOf(t, timing.Zone)
	at, err := time.ParseInLocation("2006-01-02", day, zone)
	if err != nil {
		t.Fatal(err)
	}
	end := at.AddDate(0, 0, 1)
	ticks := read(t, timing.Cron, timing.Zone)
	for at = at.Add(-time.Second); ; n++ {
		next, ok := ticks.next(at)
		if !ok || !next.Before(end) {
			return n
		}
		at = next
	}
}

func TestHourlyRunsOnTheDayOfAFold(t *testing.T) {
	for _, c := range []struct {
		cron, zone, day string
		want            int
	}{
		{"0 * * * *", "America/Los_Angeles", "2014-11-02", 25},
		{"0 1 * * *", "America/Los_Angeles", "2014-11-02", 1},
		{"0 * * * *", "America/Los_Angeles", "2014-03-09", 23},
		{"*/30 * * * * *", "America/Chicago", "2025-11-02", 25 * 120},
		{"*/30 * * * * *", "Europe/Vienna", "2025-10-26", 25 * 120},
		{"*/30 * * * * *", "Europe/Vienna", "2026-03-29", 23 * 120},
		{"*/15 * * * *", "Australia/Lord_Howe", "2025-04-06", 98},
	} {
		if got := count(t, Timing{Cron: c.cron, Zone: c.zone}, c.day); got != c.want {
			t.Errorf("%q in %s on %s: %d runs, want %d", c.cron, c.zone, c.day, got, c.want)
		}
	}
}

func TestIntervalsCountFromTheEpoch(t *testing.T) {
	week := Timing{Every: 7 * 24 * time.Hour}
	for after, want := range map[string]string{
		"1969-01-01T00:00:00Z":     "1970-01-01T00:00:00Z",
		"1970-01-01T00:00:00Z":     "1970-01-08T00:00:00Z",
		"1970-01-07T23:59:59.999Z": "1970-01-08T00:00:00Z",
		"2026-11-29T12:00:00Z":     "2026-12-03T00:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, after)
		if err != nil {
			t.Fatal(err)
		}
		if next, ok := week.Next(at); !ok || next.Format(time.RFC3339) != want {
			t.Errorf("after %s: %v, %v, want %s", after, next, ok, want)
		}
	}
	odd := Timing{Every: 1500 * time.Millisecond}
	if next, _ := odd.Next(time.UnixMilli(1499)); next.UnixMilli() != 1500 {
		t.Errorf("after 1499 ms: %v", next.UnixMilli())
	}
	if next, _ := odd.Next(time.UnixMilli(1500)); next.UnixMilli() != 3000 {
		t.Errorf("after 1500 ms: %v", next.UnixMilli())
	}
}

func TestThereIsAnEndOfTime(t *testing.T) {
	for _, timing := range []Timing{{Cron: "0 0 29 2 *"}, {Cron: "* * * * *", Zone: "Europe/Vienna"}, {Every: time.Hour}, {Every: MaxDelay}} {
		for _, after := range []time.Time{maxMoment, maxMoment.Add(time.Hour), time.Unix(1<<60, 0)} {
			if next, ok := timing.Next(after); ok {
				t.Errorf("%+v after %v: %v", timing, after, next)
			}
		}
		for _, after := range []time.Time{{}, time.Unix(-1<<60, 0), time.Unix(0, -1)} {
			if next, ok := timing.Next(after); !ok || next.Before(minMoment) || next.Year() > 2070 {
				t.Errorf("%+v after %v: %v, %v", timing, after, next, ok)
			}
		}
	}
}

// The ticks of an expression in UTC are just the matching moments: compared with a walk
// over every second.
func TestTicksInUTCAreTheMatchingMoments(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		spec := cron{
			second: random.Uint64() & random.Uint64() & random.Uint64() & (1<<60 - 1), minute: random.Uint64() & random.Uint64() & random.Uint64() & (1<<60 - 1),
			hour: random.Uint64() & (1<<24 - 1), day: random.Uint64() & (1<<32 - 2), month: random.Uint64() & (1<<13 - 2), weekday: random.Uint64() & (1<<7 - 1),
		}
		if spec.second == 0 || spec.minute == 0 || spec.hour == 0 || spec.day == 0 || spec.weekday == 0 || spec.month == 0 {
			continue
		}
		c := clock{cron: spec, zone: time.UTC}
		from := random.Int64N(4_000_000_000)
		want := int64(0)
		for at := from + 1; at < from+100_000; at++ {
			moment := time.Unix(at, 0).UTC()
			if spec.on(moment) && has(spec.hour, moment.Hour()) && has(spec.minute, moment.Minute()) && has(spec.second, moment.Second()) {
				want = at
				break
			}
		}
		got, ok := c.next(from)
		if want == 0 && ok && got < from+100_000 || want != 0 && got != want {
			t.Errorf("%+v after %d: %d, %v, want %d", spec, from, got, ok, want)
		}
	}
}
