package domain

import (
	"testing"
	"time"
)

func BenchmarkNext(b *testing.B) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, timing := range map[string]Timing{
		"each second": {Cron: "* * * * * *", Zone: "Europe/Vienna"}, "daily": {Cron: "0 7 * * *", Zone: "Europe/Vienna"},
		"leap day": {Cron: "0 0 29 2 *", Zone: "Europe/Vienna"}, "interval": {Every: time.Hour},
	} {
		b.Run(name, func(b *testing.B) {
			ticks, err := timing.ticks()
			if err != nil {
				b.Fatal(err)
			}
			for at := from; b.Loop(); {
				next, ok := ticks.next(at)
				if at = next; !ok || at.Year() > 2090 {
					at = from
				}
			}
		})
	}
	b.Run("read and found", func(b *testing.B) {
		timing := Timing{Cron: "0 7 * * mon-fri", Zone: "Europe/Vienna"}
		for b.Loop() {
			timing.Next(from)
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	now := time.Date(2026, 11, 29, 12, 34, 56, 0, time.UTC)
	for name, s := range map[string]*Schedule{
		"on time":                {Timing: Timing{Cron: "0 * * * *", Zone: "Europe/Vienna"}, NextAt: now.Truncate(time.Hour)},
		"each second for a year": {Timing: Timing{Cron: "* * * * * *", Zone: "Europe/Vienna"}, NextAt: now.AddDate(-1, 0, 0), Missed: Missed{MissedAll, MaxMissed}},
		"a thousand intervals":   {Timing: Timing{Every: time.Second}, NextAt: now.Add(-time.Hour), Missed: Missed{MissedAll, MaxMissed}},
	} {
		b.Run(name, func(b *testing.B) {
			s.Name, s.Job = "bench", Template{Kind: "bench", Queue: "default", Args: []byte("{}")}
			for b.Loop() {
				if tick := s.Plan(now); len(tick.Jobs) == 0 {
					b.Fatalf("%+v", tick)
				}
			}
		})
	}
}
