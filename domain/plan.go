package domain

import (
	"errors"
	"hash/fnv"
	"strconv"
	"time"
)

// What catching up goes by.
const (
	tickGrace  = time.Minute // a tick is missed when it is later than that
	tickSpread = time.Minute // over which the jobs of missed ticks are spread
	maxDue     = 10_000      // where the count of missed ticks of an expression stops
	tickKept   = time.Hour   // how long a tick's job stays at least, to be known again
)

// Plan says what becomes of a schedule at a moment of the store's clock: when it is
// due, the jobs of the ticks that have come, by its policy for missed ones, and where it
// goes. It looks at a bounded number of ticks, however long nobody was there.
func (s *Schedule) Plan(now time.Time) Tick {
	tick := Tick{Key: s.ScheduleKey, Rev: s.Rev, From: s.NextAt, To: s.NextAt}
	ticks, err := s.readable()
	if err != nil {
		tick.Broken = CleanText(err.Error(), MaxMessage)
		return tick
	}
	if s.NextAt.After(now) {
		return tick
	}
	var goesOn bool
	if tick.To, goesOn = ticks.next(now); !goesOn {
		tick.Broken = "it has no further tick before the year 9999"
		return tick
	}
	if !s.NextAt.IsZero() {
		s.fire(&tick, ticks, now)
	}
	return tick
}

// readable judges the whole row: what is in it may have come from anywhere, and the
// store may have said already that it cannot be read.
func (s *Schedule) readable() (*ticks, error) {
	if s.Broken != "" {
		return nil, errors.New(s.Broken)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s.Timing.ticks()
}

// fire chooses among the ticks that have come and makes their jobs.
func (s *Schedule) fire(tick *Tick, ticks *ticks, now time.Time) {
	keep := 1
	if s.Missed.Policy == MissedAll {
		keep = s.Missed.Max
	}
	all := ticks.due(s.NextAt, now, keep)
	late := now.Sub(s.NextAt) > tickGrace
	if s.Missed.Policy == MissedSkip {
		late = false
		if now.Sub(all.last[0]) > tickGrace {
			all.last = nil
		}
	}
	for i, at := range all.last {
		due := Due{}
		if late {
			due.After = s.spread() + time.Duration(i)*tickSpread/time.Duration(len(all.last))
		}
		tick.Jobs = append(tick.Jobs, s.job(at, due))
		tick.Fired = at
	}
	tick.Skipped, tick.More = all.count-int64(len(all.last)), all.more
}

// job is that of a tick. Its id follows from the tick, so that it is added once; its
// row stays long enough to be found by whoever comes late.
func (s *Schedule) job(at time.Time, due Due) NewJob {
	id := DeriveJobID(at, []byte("schedule"), []byte(s.Tenant), []byte(s.Name), strconv.AppendInt(nil, at.UnixMilli(), 10))
	job := s.Job.Job(id, s.Tenant, due)
	for _, keep := range []*time.Duration{&job.Keep.Done, &job.Keep.Dead, &job.Keep.Cancelled} {
		if *keep > 0 {
			*keep = max(*keep, tickKept)
		}
	}
	return job
}

// spread is the schedule's own delay when it catches up, so that many do not at once.
func (s *Schedule) spread() time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(s.Tenant + "\x00" + s.Name))
	return time.Duration(hash.Sum64()%uint64(tickSpread/time.Millisecond)) * time.Millisecond
}
