package domain

import (
	"strings"
	"testing"
	"time"
)

func TestCronExpressionsThatAreRead(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // a Thursday
	for expression, want := range map[string]string{
		"* * * * *":              "2026-01-01 00:01:00",
		"*/15 * * * *":           "2026-01-01 00:15:00",
		"5-59/15 * * * *":        "2026-01-01 00:05:00",
		"30 4 * * *":             "2026-01-01 04:30:00",
		"0 0 1 * *":              "2026-02-01 00:00:00",
		"0 9 * * mon-fri":        "2026-01-01 09:00:00",
		"0 9 * * SAT,Sun":        "2026-01-03 09:00:00",
		"0 9 * * sat-sun":        "2026-01-03 09:00:00",
		"0 9 * * 7":              "2026-01-04 09:00:00",
		"0 9 * * 0":              "2026-01-04 09:00:00",
		"0 9 * * 5-7":            "2026-01-02 09:00:00",
		"0 9 * * sun-tue":        "2026-01-04 09:00:00",
		"0 9 13 * fri":           "2026-01-02 09:00:00", // the 13th, or a Friday
		"0 9 13 * 5,4":           "2026-01-01 09:00:00",
		"0 9 1-31 * mon":         "2026-01-05 09:00:00", // every day of month leaves nothing out
		"0 9 */2 * mon":          "2026-01-01 09:00:00",
		"0 9 13 * 0-6":           "2026-01-13 09:00:00",
		"0 0 * JAN,jul *":        "2026-01-02 00:00:00",
		"0 0 1 feb-apr *":        "2026-02-01 00:00:00",
		"10 * * * * *":           "2026-01-01 00:00:10",
		"*/30 * * * * *":         "2026-01-01 00:00:30",
		"0 0 12 * * *":           "2026-01-01 12:00:00",
		"\t0  12 * * *  ":        "2026-01-01 12:00:00",
		"00 08 * * *":            "2026-01-01 08:00:00",
		"0 */24 * * *":           "2026-01-02 00:00:00",
		"@yearly":                "2027-01-01 00:00:00",
		"@annually":              "2027-01-01 00:00:00",
		"@monthly":               "2026-02-01 00:00:00",
		"@weekly":                "2026-01-04 00:00:00",
		"@Daily":                 "2026-01-02 00:00:00",
		"@midnight":              "2026-01-02 00:00:00",
		"@hourly":                "2026-01-01 01:00:00",
		"0 0 29 2 *":             "2028-02-29 00:00:00",
		"0 0 31 4 mon":           "2026-04-06 00:00:00", // the weekday will do
		"0 0 31 4,5 *":           "2026-05-31 00:00:00",
		"59 59 23 31 12 *":       "2026-12-31 23:59:59",
		"0,30 0-2,22-23 * * 1,3": "2026-01-05 00:00:00",
	} {
		next, ok := Timing{Cron: expression}.Next(at)
		if got := next.Format(time.DateTime); !ok || got != want {
			t.Errorf("%q: %s, %v, want %s", expression, got, ok, want)
		}
	}
}

func TestCronExpressionsThatAreRefused(t *testing.T) {
	for expression, hint := range map[string]string{
		"":                        "interval",
		" ":                       "0 fields",
		"* * * *":                 "4 fields",
		"* * * * * * *":           "7 fields",
		",":                       "1 fields",
		"1,,2 * * * *":            "minute: an item of the list is empty",
		", * * * *":               "minute: an item of the list is empty",
		"1, * * * *":              "minute: an item of the list is empty",
		"5-2 * * * *":             `minute: the range "5-2" runs backwards`,
		"0 22-4 * * *":            "hour: the range",
		"60 * * * *":              "minute: ",
		"60 * * * * *":            "second: ",
		"* 24 * * *":              "hour: ",
		"* * 0 * *":               "day of month: ",
		"* * 32 * *":              "day of month: ",
		"* * * 0 *":               "month: ",
		"* * * 13 *":              "month: ",
		"* * * * 8":               "weekday: ",
		"* * * * fri-mon":         "weekday: ",
		"* * * * 5-0":             "weekday: ",
		"* * * * 5-00":            "weekday: ",
		"* * * * monday":          "weekday: ",
		"* * * january *":         "month: ",
		"* * mon * *":             "day of month: ",
		"*/0 * * * *":             "minute: the step",
		"*/61 * * * *":            "minute: the step",
		"*/-1 * * * *":            "minute: ",
		"*/ * * * *":              "minute: the step",
		"*/5/5 * * * *":           "minute: ",
		"5/15 * * * *":            "minute: in \"5/15\" a step follows a value",
		"1-5- * * * *":            "minute: ",
		"-5 * * * *":              "minute: ",
		"+5 * * * *":              "minute: ",
		"** * * * *":              "minute: ",
		"? * * * *":               "minute: ",
		"0 0 L * *":               "day of month: ",
		"0 0 * * 1#2":             "weekday: ",
		"000 * * * *":             "minute: ",
		"0x1 * * * *":             "minute: ",
		"１ * * * *":               "minute: ",
		"0\u00a00 * * *":          "4 fields",
		"0 0 31 4 *":              "never",
		"0 0 30 2 *":              "never",
		"0 0 31 2,4,6,9,11 *":     "never",
		"0 0 30,31 feb *":         "never",
		"TZ=0":                    "zone",
		"TZ=":                     "zone",
		"TZ=TZ=TZ=":               "zone",
		"CRON_TZ=UTC":             "zone",
		"cron_tz=UTC 0 0 * * *":   "zone",
		"@every 5m":               "interval",
		"@reboot":                 "short forms",
		"@":                       "short forms",
		"\x00 * * * *":            "minute: ",
		"\xff\xfe * * * *":        "minute: ",
		strings.Repeat("1,", 101): "limit is 200",
		"0 0 * * " + strings.Repeat("1,", 96) + "1": "limit is 200",
	} {
		if _, ok := (Timing{Cron: expression}).Next(time.Unix(0, 0)); ok {
			t.Errorf("%q has a tick", expression)
		}
		err := Timing{Cron: expression}.Validate()
		if CodeOf(err) != Invalid || !strings.Contains(HintOf(err), hint) {
			t.Errorf("%q: %v, want Invalid with %q", expression, err, hint)
		}
	}
}

func TestZonesThatAreRefused(t *testing.T) {
	for _, zone := range []string{
		"Local", "local", "+05:30", "-03", "Mars/X", "europe/vienna", "Europe", "Europe/", "../Europe/Vienna", "Europe/../Europe/Vienna", "/etc/localtime",
		"posix/Europe/Vienna", "right/Europe/Vienna", "localtime", "posixrules", "Factory", " ", "UTC ", "Europe/Vienna\x00", "Ärgern", strings.Repeat("A", 70), "zone.tab",
	} {
		if err := (Timing{Cron: "0 0 * * *", Zone: zone}).Validate(); CodeOf(err) != Invalid {
			t.Errorf("%q: %v, want Invalid", zone, err)
		}
	}
	for _, zone := range []string{"", "UTC", "Europe/Vienna", "America/Port-au-Prince", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT", "Pacific/Apia"} {
		if err := (Timing{Cron: "0 0 * * *", Zone: zone}).Validate(); err != nil {
			t.Errorf("%q: %v", zone, err)
		}
	}
}

func TestTimingIsOneOfTwo(t *testing.T) {
	for _, timing := range []Timing{
		{}, {Cron: "* * * * *", Every: time.Minute}, {Every: time.Minute, Zone: "UTC"}, {Zone: "UTC"}, {Every: -time.Minute},
		{Every: 999 * time.Millisecond}, {Every: time.Second + time.Microsecond}, {Every: MaxDelay + time.Second},
	} {
		if err := timing.Validate(); CodeOf(err) != Invalid {
			t.Errorf("%+v: %v, want Invalid", timing, err)
		}
		if at, ok := timing.Next(time.Unix(0, 0)); ok {
			t.Errorf("%+v has a tick at %v", timing, at)
		}
	}
}

// FuzzCron: any text gives a schedule that can fire, or an error, in a millisecond, and
// its ticks rise.
func FuzzCron(f *testing.F) {
	for _, seed := range []string{"*/5 1-3,7 1,15 jan-mar mon-fri", "0 0 29 2 *", "@daily", "TZ=0", "5-2 * * * *", ",", "0 0 31 4 *", "* * * * * *", "1,,2 * * * *", "0 */7 */9 */5 7"} {
		f.Add(seed, int64(1_766_000_000), uint8(3))
	}
	zones := []string{"", "Europe/Vienna", "Australia/Lord_Howe", "Pacific/Apia", "America/Nuuk", "Pacific/Kiritimati", "Africa/Casablanca", "Asia/Gaza"}
	f.Fuzz(func(t *testing.T, text string, from int64, zone uint8) {
		timing := Timing{Cron: text, Zone: zones[int(zone)%len(zones)]}
		if text == "" {
			return
		}
		spec, err := parseCron(text)
		if err != nil {
			if CodeOf(err) != Invalid || HintOf(err) == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		at := time.Unix(from%4_102_444_800, 0)
		ticks, err := timing.ticks()
		if err != nil {
			t.Fatalf("%q is parsed and then %v", text, err)
		}
		last := at
		for range 5 {
			next, ok := ticks.next(last)
			if !ok || !next.After(last) {
				t.Fatalf("%q in %q after %v: %v, %v", text, timing.Zone, last, next, ok)
			}
			if again, _ := timing.Next(last); !again.Equal(next) {
				t.Fatalf("%q in %q after %v: %v, then %v", text, timing.Zone, last, next, again)
			}
			local := next.In(ticks.clock.zone)
			if timing.Zone == "" && (!spec.on(local) || !has(spec.hour, local.Hour()) || !has(spec.minute, local.Minute()) || !has(spec.second, local.Second())) {
				t.Fatalf("%q: %v does not match", text, local)
			}
			last = next
		}
	})
}
