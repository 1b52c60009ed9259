package domain

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func plannable(timing Timing, missed Missed, nextAt time.Time) *Schedule {
	return &Schedule{
		ScheduleKey: ScheduleKey{Tenant: "acme", Name: "report"}, Timing: timing, Missed: missed, NextAt: nextAt, Rev: 3,
		Job: Template{Kind: "report", Queue: "mail", Priority: 2, Args: []byte(`{"n":1}`)},
	}
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05.000", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestWhatBecomesOfADueSchedule(t *testing.T) {
	fiveMinutes := Timing{Every: 5 * time.Minute}
	noon := moment(t, "2026-11-29 12:00:00.000")
	once, skip, all := Missed{}, Missed{Policy: MissedSkip}, Missed{Policy: MissedAll, Max: 3}
	for name, c := range map[string]struct {
		missed  Missed
		late    time.Duration
		jobs    int
		skipped int64
		fired   time.Duration // after noon, the first tick
	}{
		"on time, once":                        {once, 0, 1, 0, 0},
		"on time, skip":                        {skip, 30 * time.Second, 1, 0, 0},
		"on time, all":                         {all, time.Minute, 1, 0, 0},
		"one missed, once":                     {once, 2 * time.Minute, 1, 0, 0},
		"one missed, skip":                     {skip, 2 * time.Minute, 0, 1, 0},
		"one missed, all":                      {all, 2 * time.Minute, 1, 0, 0},
		"two are there, the later is on time":  {once, 5*time.Minute + time.Second, 1, 1, 5 * time.Minute},
		"the same, skip":                       {skip, 5*time.Minute + time.Second, 1, 1, 5 * time.Minute},
		"the same, all":                        {all, 5*time.Minute + time.Second, 2, 0, 5 * time.Minute},
		"twelve hours, once":                   {once, 12*time.Hour + 2*time.Minute, 1, 144, 12 * time.Hour},
		"twelve hours, skip":                   {skip, 12*time.Hour + 2*time.Minute, 0, 145, 0},
		"twelve hours, all":                    {all, 12*time.Hour + 2*time.Minute, 3, 142, 12 * time.Hour},
		"twelve hours to the tick, skip":       {skip, 12 * time.Hour, 1, 144, 12 * time.Hour},
		"a clock that was put back: not due":   {once, -time.Second, 0, 0, 0},
		"fifty years of ticks that nobody saw": {once, 50 * 365 * 24 * time.Hour, 1, 5256000, 50 * 365 * 24 * time.Hour},
	} {
		s := plannable(fiveMinutes, c.missed, noon)
		now := noon.Add(c.late)
		tick := s.Plan(now)
		if len(tick.Jobs) != c.jobs || tick.Skipped != c.skipped || tick.More || tick.Broken != "" {
			t.Errorf("%s: %d jobs, %d skipped, %q, want %d and %d", name, len(tick.Jobs), tick.Skipped, tick.Broken, c.jobs, c.skipped)
		}
		if want := noon.Add(c.fired); c.jobs > 0 && !tick.Fired.Equal(want) {
			t.Errorf("%s: fired %v, want %v", name, tick.Fired, want)
		}
		next, _ := fiveMinutes.Next(now)
		if c.late < 0 {
			next = noon
		}
		if !tick.To.Equal(next) || !tick.From.Equal(noon) || tick.Rev != 3 || tick.Key != s.ScheduleKey {
			t.Errorf("%s: %+v goes to %v, want %v", name, tick, tick.To, next)
		}
		for _, job := range tick.Jobs {
			if err := job.Validate(); err != nil || job.Kind != "report" || job.Queue != "mail" || job.Priority != 2 || job.Tenant != "acme" || job.Unique != nil {
				t.Errorf("%s: %+v, %v", name, job, err)
			}
		}
	}
}

func TestTheFirstTickIsFoundAndNotRun(t *testing.T) {
	now := moment(t, "2026-11-29 12:00:00.000")
	for _, policy := range []Missed{{}, {Policy: MissedSkip}, {Policy: MissedAll, Max: 5}} {
		tick := plannable(Timing{Cron: "0 12 * * *"}, policy, time.Time{}).Plan(now)
		if len(tick.Jobs) != 0 || tick.Skipped != 0 || !tick.From.IsZero() || tick.To.Format(time.DateTime) != "2026-11-30 12:00:00" {
			t.Errorf("%+v", tick)
		}
	}
}

func TestTheJobOfATickIsAlwaysTheSame(t *testing.T) {
	noon := moment(t, "2026-11-29 12:00:00.000")
	s := plannable(Timing{Every: time.Hour}, Missed{}, noon)
	first, again := s.Plan(noon), s.Plan(noon.Add(time.Second))
	if first.Jobs[0].ID != again.Jobs[0].ID || !first.Jobs[0].ID.Time().Equal(noon) {
		t.Errorf("%v and %v", first.Jobs[0].ID, again.Jobs[0].ID)
	}
	ids := map[JobID]string{first.Jobs[0].ID: "the first"}
	for name, change := range map[string]func(*Schedule){
		"another name":   func(s *Schedule) { s.Name = "reports" },
		"another tenant": func(s *Schedule) { s.Tenant = "acm"; s.Name = "ereport" },
		"another tick":   func(s *Schedule) { s.NextAt = noon.Add(time.Hour) },
	} {
		other := *s
		change(&other)
		id := other.Plan(noon.Add(time.Hour)).Jobs[0].ID
		if name != "another tick" {
			id = other.Plan(noon).Jobs[0].ID
		}
		if ids[id] != "" {
			t.Errorf("%s has the id of %s", name, ids[id])
		}
		ids[id] = name
	}
	s.Job.KeepDone = 1
	if kept := s.Plan(noon).Jobs[0].Keep; kept.Done != time.Hour || kept.Dead != 0 {
		t.Errorf("it stays %+v", kept)
	}
}

func TestCatchingUpIsSpread(t *testing.T) {
	noon := moment(t, "2026-11-29 12:00:00.000")
	delays := make(map[time.Duration]int)
	for i := range 200 {
		s := plannable(Timing{Every: 5 * time.Minute}, Missed{}, noon)
		s.Name = fmt.Sprint("schedule ", i)
		job := s.Plan(noon.Add(time.Hour + 2*time.Minute)).Jobs[0]
		if job.Due.After < 0 || job.Due.After >= time.Minute || !job.Due.At.IsZero() {
			t.Fatalf("due %+v", job.Due)
		}
		delays[job.Due.After/(6*time.Second)]++
		if on := s.Plan(noon).Jobs[0]; on.Due != (Due{}) {
			t.Fatalf("on time it is due %+v", on.Due)
		}
	}
	for tenth := range 10 {
		if n := delays[time.Duration(tenth)]; n < 5 || n > 50 {
			t.Errorf("%d of 200 jobs in tenth %d of the minute: %v", n, tenth, delays)
		}
	}
	all := plannable(Timing{Every: 5 * time.Minute}, Missed{MissedAll, 12}, noon).Plan(noon.Add(24*time.Hour + 2*time.Minute)).Jobs
	for i := 1; i < len(all); i++ {
		if gap := all[i].Due.After - all[i-1].Due.After; gap != 5*time.Second || all[i].ID.Time().Sub(all[i-1].ID.Time()) != 5*time.Minute {
			t.Errorf("job %d comes %v after the one before", i, gap)
		}
	}
	if len(all) != 12 {
		t.Errorf("%d jobs", len(all))
	}
}

func TestWhatCannotBeFollowedIsBroken(t *testing.T) {
	noon := moment(t, "2026-11-29 12:00:00.000")
	for name, change := range map[string]func(*Schedule){
		"5-2":           func(s *Schedule) { s.Timing = Timing{Cron: "5-2 * * * *"} },
		"Mars/X":        func(s *Schedule) { s.Timing.Zone = "Mars/X" },
		"+05:30":        func(s *Schedule) { s.Timing.Zone = "+05:30" },
		"interval":      func(s *Schedule) { s.Timing = Timing{} },
		"no template":   func(s *Schedule) { s.Broken = "no template" },
		"kind":          func(s *Schedule) { s.Job = Template{} },
		"args":          func(s *Schedule) { s.Job.Args = []byte("{") },
		"missed":        func(s *Schedule) { s.Missed = Missed{Policy: 9} },
		"cap":           func(s *Schedule) { s.Missed = Missed{MissedAll, MaxMissed + 1} },
		"the year 9999": func(s *Schedule) { s.NextAt = maxMoment },
	} {
		s := plannable(Timing{Cron: "0 12 * * *"}, Missed{}, noon)
		change(s)
		now := noon
		if name == "the year 9999" {
			now = maxMoment.Add(time.Hour)
		}
		tick := s.Plan(now)
		if !strings.Contains(tick.Broken, name) || len(tick.Jobs) != 0 || len(tick.Broken) > MaxMessage {
			t.Errorf("%s: %+v", name, tick)
		}
	}
}

// However old the row and fine the schedule, the plan takes 5 ms, and its jobs are those
// of the latest ticks.
func TestAPlanIsBounded(t *testing.T) {
	now := moment(t, "2026-11-29 12:34:56.789")
	for _, timing := range []Timing{
		{Every: time.Second}, {Cron: "* * * * * *"}, {Cron: "* * * * *", Zone: "Europe/Vienna"}, {Cron: "*/7 * 3 * * mon", Zone: "America/New_York"},
		{Cron: "* * * 1 1 *", Zone: "Europe/Vienna"}, {Cron: "0 0 29 2 *"}, {Cron: "0 0 1 * *", Zone: "Pacific/Apia"}, {Cron: "0-58/2 0-59 0-23 * * *"},
	} {
		for _, ago := range []time.Duration{time.Hour, 5 * 24 * time.Hour, 400 * 24 * time.Hour, 56 * 365 * 24 * time.Hour} {
			first, _ := timing.Next(now.Add(-ago))
			if first.After(now) {
				continue
			}
			for _, missed := range []Missed{{}, {Policy: MissedSkip}, {MissedAll, 1}, {MissedAll, MaxMissed}} {
				s := plannable(timing, missed, first)
				var took, most time.Duration
				var tick Tick
				for range 20 { // the machine may be busy with other things
					began := time.Now()
					tick = s.Plan(now)
					most = slack * (5*time.Millisecond + time.Duration(len(tick.Jobs))*20*time.Microsecond)
					if took = time.Since(began); took < most {
						break
					}
				}
				if took >= most {
					t.Errorf("%+v %v ago, %+v: %v", timing, ago, missed, took)
				}
				checkLatest(t, s, &tick, now)
			}
		}
	}
}

// checkLatest judges that nothing lies between the jobs of a tick, and nothing after them.
func checkLatest(t *testing.T, s *Schedule, tick *Tick, now time.Time) {
	t.Helper()
	about := fmt.Sprintf("%+v from %v, %+v", s.Timing, s.NextAt, s.Missed)
	next, _ := s.Timing.Next(now)
	if !tick.To.Equal(next) || tick.Skipped < 0 || tick.More && tick.Skipped < maxDue-MaxMissed {
		t.Errorf("%s: to %v, want %v; %d skipped, more %v", about, tick.To, next, tick.Skipped, tick.More)
	}
	if s.Missed.Policy == MissedAll && len(tick.Jobs) > s.Missed.Max || s.Missed.Policy != MissedAll && len(tick.Jobs) > 1 {
		t.Errorf("%s: %d jobs", about, len(tick.Jobs))
	}
	if len(tick.Jobs) == 0 {
		return
	}
	ticks, err := s.Timing.ticks()
	if err != nil {
		t.Fatal(err)
	}
	at := tick.Jobs[0].ID.Time()
	for _, job := range tick.Jobs[1:] {
		if at, _ = ticks.next(at); !at.Equal(job.ID.Time()) {
			t.Errorf("%s: a job of %v, want one of %v", about, job.ID.Time(), at)
			return
		}
	}
	if after, _ := ticks.next(at); !after.After(now) || !tick.Fired.Equal(at) {
		t.Errorf("%s: fired %v, after it comes %v", about, tick.Fired, after)
	}
}

// FuzzPlan: whatever a row holds, a plan is had, goes on, and its jobs can be stored.
func FuzzPlan(f *testing.F) {
	f.Add("0 7 * * mon-fri", "Europe/Vienna", int64(0), uint8(0), 0, int64(1_790_000_000_000), int64(1_790_003_600_000), `{}`)
	f.Add("", "", int64(300_000), uint8(2), 5, int64(0), int64(1_790_003_600_000), `{"a":1}`)
	f.Add("* * * * * *", "+05:30", int64(1), uint8(7), 5000, int64(-5), int64(1<<50), `{`)
	f.Fuzz(func(t *testing.T, cron, zone string, every int64, policy uint8, most int, nextAt, now int64, args string) {
		const wide = 253_402_300_800_000
		s := plannable(Timing{cron, zone, time.Duration(every%(1<<40)) * time.Millisecond}, Missed{MissedPolicy(policy), most}, time.UnixMilli(nextAt%wide).UTC())
		s.Job.Args = []byte(args)
		at := time.UnixMilli(now % wide).UTC()
		tick := s.Plan(at)
		if tick.Broken == "" && !tick.To.After(at) {
			t.Fatalf("%+v goes to %v at %v", s, tick.To, at)
		}
		if tick.Broken != "" && len(tick.Jobs) > 0 || tick.Skipped < 0 {
			t.Fatalf("%+v: %+v", s, tick)
		}
		for i := range tick.Jobs {
			if err := tick.Jobs[i].Validate(); err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
		}
	})
}
