package conformance

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// namespace is the usual application that declares schedules.
const namespace = "app"

// setPlan changes one field of a schedule that is about to be stored.
type setPlan func(*domain.Schedule)

func planOf(tenant string) setPlan  { return func(s *domain.Schedule) { s.Tenant = tenant } }
func planKind(k string) setPlan     { return func(s *domain.Schedule) { s.Job.Kind = k } }
func every(d time.Duration) setPlan { return func(s *domain.Schedule) { s.Timing.Every = d } }
func planArgs(args string) setPlan {
	return func(s *domain.Schedule) { s.Job.Args = json.RawMessage(args) }
}
func planKey(n string) domain.ScheduleKey { return domain.ScheduleKey{Name: n} }

// plan builds a schedule of the usual kind, once a minute.
func (c *rig) plan(name string, sets ...setPlan) domain.Schedule {
	c.Helper()
	s := domain.Schedule{
		ScheduleKey: planKey(name), Timing: domain.Timing{Every: time.Minute},
		Job: domain.Template{Kind: kind, Queue: queue, Args: json.RawMessage(`{}`)},
	}
	for _, set := range sets {
		set(&s)
	}
	c.ok("check a schedule of the suite", s.Validate())
	return s
}

func (c *rig) declareSchedules(ns string, all ...domain.Schedule) {
	c.Helper()
	c.ok("declare schedules", c.store.DeclareSchedules(c.Context(), ns, all))
}

// addSchedule stores an operator's schedule.
func (c *rig) addSchedule(s domain.Schedule) {
	c.Helper()
	c.ok("add a schedule", c.store.AddSchedule(c.Context(), s))
}

// planned reads one schedule.
func (c *rig) planned(key domain.ScheduleKey) domain.Schedule {
	c.Helper()
	s, err := c.store.Schedule(c.Context(), key)
	c.ok("read schedule "+key.Name, err)
	return s
}

func (c *rig) noPlan(key domain.ScheduleKey) {
	c.Helper()
	_, err := c.store.Schedule(c.Context(), key)
	c.wantCode("read of a schedule that is not there", err, domain.NotFound)
}

// plans lists the names of all schedules, with their tenants.
func (c *rig) plans() (names []string) {
	c.Helper()
	all, err := c.store.ListSchedules(c.Context(), "", domain.ScheduleKey{}, 1000)
	c.ok("list schedules", err)
	for _, s := range all {
		names = append(names, s.Tenant+"/"+s.Name)
	}
	return names
}

// due lists what is due of the kinds, at most limit.
func (c *rig) due(limit int, kinds ...string) driven.DueSchedules {
	c.Helper()
	got, err := c.store.DueSchedules(c.Context(), kinds, limit)
	c.ok("list due schedules", err)
	if len(got.All) > limit || got.Next < 0 || got.Next > driven.NoNext {
		c.Fatalf("%d schedules of at most %d, the next in %v", len(got.All), limit, got.Next)
	}
	return got
}

// wantDue checks which schedules of the usual kind are due, in their order.
func (c *rig) wantDue(what string, names ...string) {
	c.Helper()
	got := []string{}
	for _, s := range c.due(100, kind).All {
		got = append(got, s.Name)
	}
	equal(c, "due schedules "+what, fmt.Sprint(got), fmt.Sprint(names))
}

func (c *rig) advance(t domain.Tick) driven.Advanced {
	c.Helper()
	got, err := c.store.Advance(c.Context(), t)
	c.ok("advance schedule "+t.Key.Name, err)
	return got
}

// tick is the schedule's tick with these jobs, to a moment.
func tick(s domain.Schedule, to time.Time, jobs ...domain.NewJob) domain.Tick {
	t := domain.Tick{Key: s.ScheduleKey, Rev: s.Rev, From: s.NextAt, To: to, Jobs: jobs}
	if len(jobs) > 0 {
		t.Fired = s.NextAt
	}
	return t
}

// standsAt moves a schedule whose next tick is to be found to a moment that far
// from the store's now, and reads it.
func (c *rig) standsAt(key domain.ScheduleKey, in time.Duration) domain.Schedule {
	c.Helper()
	to := c.due(1).Now.Add(in)
	equal(c, "whether the schedule moved", c.advance(tick(c.planned(key), to)).Moved, true)
	s := c.planned(key)
	equal(c, "its next tick", s.NextAt, to)
	return s
}

// pause pauses a schedule, or lets it go on.
func (c *rig) pause(key domain.ScheduleKey, paused bool) {
	c.Helper()
	c.ok("pause a schedule", c.store.PauseSchedule(c.Context(), key, paused))
	equal(c, "pause", c.planned(key).Paused, paused)
}

// samePlan compares what was asked for with what is stored.
func (c *rig) samePlan(got, want domain.Schedule) {
	c.Helper()
	equal(c, "key, namespace, timing and policy of a schedule", fmt.Sprintf("%+v %q %+v %+v", got.ScheduleKey, got.Namespace, got.Timing, got.Missed),
		fmt.Sprintf("%+v %q %+v %+v", want.ScheduleKey, want.Namespace, want.Timing, want.Missed))
	c.sameTemplate("job of a schedule", got.Job, want.Job)
}
