package domain

import (
	"fmt"
	"time"
)

// Timing says when a schedule's ticks are: by a cron expression on the clocks of a
// zone, or every so often, counted from the epoch. One of the two.
type Timing struct {
	Cron  string
	Zone  string // of the expression; "": UTC
	Every time.Duration
}

// MissedPolicy says what becomes of ticks that nobody was there for.
type MissedPolicy uint8

// The policies.
const (
	MissedOnce MissedPolicy = iota // one job for all of them
	MissedSkip                     // none
	MissedAll                      // a job for each of the latest, at most Max
	missedPolicies
)

var missedNames = [missedPolicies]string{"once", "skip", "all"}

// String is the policy's word.
func (p MissedPolicy) String() string {
	if p < missedPolicies {
		return missedNames[p]
	}
	return "unknown"
}

// MarshalText gives the policy's word.
func (p MissedPolicy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// ParseMissedPolicy reads a policy's word.
func ParseMissedPolicy(name string) (MissedPolicy, error) {
	for i, known := range missedNames {
		if name == known {
			return MissedPolicy(i), nil
		}
	}
	return 0, &Fault{Code: Invalid, Op: "parse missed policy", Subject: CleanText(name, 80), Hint: "the policies are once, skip, all"}
}

// Missed is a policy with its cap.
type Missed struct {
	Policy MissedPolicy
	Max    int // of MissedAll: jobs in one go
}

// MaxMissed is the most that one catching up may enqueue.
const MaxMissed = 1000

// ScheduleKey names a schedule: names are the tenant's own.
type ScheduleKey struct {
	Tenant string
	Name   string
}

// Schedule is a stored recurring job.
type Schedule struct {
	ScheduleKey
	Namespace string // of the application that declares it; "": an operator's
	Timing    Timing
	Missed    Missed
	Job       Template
	Paused    bool
	Broken    string    // why it cannot be followed; "": it can
	NextAt    time.Time // the next tick; zero: to be found, without running it
	LastAt    time.Time // the last tick that was fired
	LastJob   JobID     // and its (last) job
	Skipped   int64     // ticks that passed without a job of their own
	Rev       int64     // rises with each change but a tick
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Validate refuses what no store can keep and what could never fire.
func (s *Schedule) Validate() error {
	if err := ValidateName("schedule name", s.Name, MaxSched); err != nil {
		return err
	}
	if s.Namespace != "" {
		if err := ValidateName("namespace", s.Namespace, MaxGroup); err != nil {
			return err
		}
	}
	if err := s.Timing.Validate(); err != nil {
		return err
	}
	if p := s.Missed; p.Policy >= missedPolicies || (p.Policy == MissedAll) != (p.Max > 0) || p.Max > MaxMissed {
		return &Fault{Code: Invalid, Op: "check schedule", Subject: CleanText(s.Name, 80), Hint: fmt.Sprintf("missed ticks: once, skip, or all with a cap from 1 to %d", MaxMissed)}
	}
	probe := s.Job.Job(DeriveJobID(minMoment, []byte(s.Name)), s.Tenant, Due{})
	return probe.Validate()
}

// Same says whether two declarations ask for the same, whatever became of them since.
func (s *Schedule) Same(o *Schedule) bool {
	mine, err := s.Job.Text()
	other, err2 := o.Job.Text()
	return err == nil && err2 == nil && mine == other && s.SameTiming(o) && s.Missed == o.Missed && s.Namespace == o.Namespace
}

// SameTiming says whether the ticks of both are the same moments.
func (s *Schedule) SameTiming(o *Schedule) bool { return s.Timing == o.Timing }

// Tick moves a schedule on: from the tick that it stands at to the next one, with the
// jobs of what was due. Only one of all that try moves it.
type Tick struct {
	Key     ScheduleKey
	Rev     int64
	From    time.Time // where it stands; zero: nowhere yet
	To      time.Time // where it goes
	Fired   time.Time // the last tick that has a job here; zero: none
	Skipped int64     // ticks without a job of their own
	More    bool      // there are more of them than were counted
	Jobs    []NewJob
	Broken  string // it cannot be followed: it goes nowhere
}
