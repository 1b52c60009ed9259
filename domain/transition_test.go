package domain

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// turned are zones whose clocks are turned in every way that there is.
var turned = []string{
	"Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kiritimati", "America/Los_Angeles", "Europe/Vienna", "America/New_York", "America/Sao_Paulo",
	"America/Havana", "America/Nuuk", "America/Scoresbysund", "America/St_Johns", "Africa/Casablanca", "Africa/Cairo", "Asia/Gaza", "Asia/Tehran",
	"Asia/Beirut", "Asia/Kathmandu", "Antarctica/Troll", "Pacific/Fiji", "Atlantic/Azores", "Pacific/Kwajalein", "Africa/Algiers", "Asia/Pyongyang", "Europe/London",
}

// transitions of a zone from 1970 to 2100, found by looking: in the short form some of them.
func transitions(zone *time.Location) (all []time.Time) {
	const step = 6 * time.Hour
	offset := func(at time.Time) int {
		_, o := at.In(zone).Zone()
		return o
	}
	for at := time.Unix(86400*3, 0); at.Year() <= 2100; at = at.Add(step) {
		low, high := at, at.Add(step)
		if offset(low) == offset(high) {
			continue
		}
		for high.Sub(low) > time.Second {
			if middle := low.Add(high.Sub(low) / 2).Truncate(time.Second); offset(middle) == offset(low) {
				low = middle
			} else {
				high = middle
			}
		}
		all = append(all, high)
	}
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		return all
	}
	var some []time.Time
	for i, at := range all {
		if i%45 == 0 || at.Year() == 2011 || at.Year() == 2026 || zone.String() == "Pacific/Kiritimati" {
			some = append(some, at)
		}
	}
	return some
}

// quick is a tick that is found in time. Some slow calls may be the fault of a busy machine, not
// twenty of one question.
func quick(t *testing.T, ticks *ticks, after time.Time) time.Time {
	t.Helper()
	const most = slack * 5 * time.Millisecond
	var next time.Time
	for try := 1; ; try++ {
		began := time.Now()
		found, ok := ticks.next(after)
		took := time.Since(began)
		if !ok || !found.After(after) {
			t.Fatalf("after %v: %v, %v", after, found, ok)
		}
		if next = found; took <= most {
			return next
		}
		if try == 20 { // not the machine but the question is slow
			t.Fatalf("after %v: %v to find %v", after, took, next)
		}
	}
}

func read(t *testing.T, cron, zone string) *ticks {
	t.Helper()
	ticks, err := Timing{Cron: cron, Zone: zone}.ticks()
	if err != nil {
		t.Fatal(err)
	}
	return ticks
}

func TestDailyOnesRunOncePerLocalDay(t *testing.T) {
	for _, name := range turned {
		zone := zoneOf(t, name)
		turns := transitions(zone)
		for _, cron := range []string{"0 0 * * *", "30 0 * * *", "0 1 * * *", "30 1 * * *", "10 2 * * *", "30 2 * * *", "0 3 * * *", "0 12 * * *", "45 22 * * *", "30 23 * * *", "59 59 23 * * *"} {
			ticks := read(t, cron, name)
			for _, turn := range turns {
				onceADay(t, ticks, zone, turn, fmt.Sprintf("%q in %s around %v", cron, name, turn.In(zone)))
			}
		}
	}
}

// onceADay counts the runs of each local day around a turn, but for the first and the last.
func onceADay(t *testing.T, ticks *ticks, zone *time.Location, turn time.Time, about string) {
	t.Helper()
	const around = 60 * time.Hour
	day := func(at time.Time) string { return at.In(zone).Format(time.DateOnly) }
	from, until := turn.Add(-around), turn.Add(around)
	runs := make(map[string]int)
	for at := quick(t, ticks, from); at.Before(until); at = quick(t, ticks, at) {
		runs[day(at)]++
	}
	for at := from; at.Before(until); at = at.Add(time.Hour) {
		if d := day(at); d != day(from) && d != day(until) && runs[d] != 1 {
			t.Errorf("%s: %d runs on %s", about, runs[d], d)
			return
		}
	}
	for d, n := range runs {
		if n > 1 {
			t.Errorf("%s: %d runs on %s", about, n, d)
		}
	}
}

func TestFineOnesStayEven(t *testing.T) {
	for _, name := range turned {
		zone := zoneOf(t, name)
		for _, turn := range transitions(zone) {
			for cron, gap := range map[string]time.Duration{"*/30 * * * * *": 30 * time.Second, "*/5 * * * *": 5 * time.Minute, "*/15 * * * *": 15 * time.Minute, "0 * * * *": time.Hour} {
				_, before := turn.Add(-time.Second).In(zone).Zone()
				_, after := turn.In(zone).Zone()
				if (after-before)%int(gap/time.Second) != 0 { // then a matching time comes sooner or later once
					continue
				}
				ticks := read(t, cron, name)
				at := quick(t, ticks, turn.Add(-24*time.Hour))
				if gap < time.Minute {
					at = quick(t, ticks, turn.Add(-20*time.Minute))
				}
				for range 60 * 60 * time.Second / max(gap, 30*time.Second) {
					next := quick(t, ticks, at)
					if next.Sub(at) != gap {
						t.Errorf("%q in %s around %v: %v after %v", cron, name, turn.In(zone), next.In(zone), at.In(zone))
						break
					}
					at = next
				}
			}
		}
	}
}
