package conformance

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func scheduleCases() []testCase {
	return []testCase{
		{"declare", scheduleDeclare},
		{"changed", scheduleChanged},
		{"taken", scheduleTaken},
		{"many", scheduleMany},
		{"race", scheduleRace},
		{"due", scheduleDue},
		{"paused", schedulePaused},
		{"kinds", scheduleKinds},
		{"tick", scheduleTick},
		{"once", scheduleOnce},
		{"again", scheduleAgain},
		{"broken", scheduleBroken},
		{"add", scheduleAdd},
		{"resume", scheduleResume},
		{"delete", scheduleDelete},
		{"find", scheduleFind},
		{"names", scheduleNames},
	}
}

// declare: what a namespace declares is all that it has; declared again nothing
// changes, and what it leaves out is forgotten, and no one else's.
func scheduleDeclare(c *rig) {
	full := c.plan("full", planOf("acme"), every(90*time.Second+time.Millisecond), planArgs(`{"text": "it's \\ \" ?0 $1", "n": 9007199254740993}`), func(s *domain.Schedule) {
		s.Missed = domain.Missed{Policy: domain.MissedAll, Max: 17}
		s.Job.Queue, s.Job.Priority, s.Job.MaxAttempts, s.Job.Timeout = "mail", -3, 4, 5000
		s.Job.Tags, s.Job.Meta, s.Job.FailureKind, s.Job.KeepDead = []string{"b", "a"}, []byte(`{"m":1}`), "test/failed", -1
	})
	cron := c.plan("cron")
	cron.Timing = domain.Timing{Cron: "0 5 * * 1", Zone: "Australia/Lord_Howe"}
	before := c.now()
	c.declareSchedules(namespace, full, cron, c.plan("short"))
	c.declareSchedules("another", c.plan("theirs"))
	c.addSchedule(c.plan("operators"))
	c.declareSchedules("a third") // none
	equal(c, "schedules", c.plans(), []string{"/cron", "/operators", "/short", "/theirs", "acme/full"})
	for _, want := range []domain.Schedule{full, cron} {
		got := c.planned(want.ScheduleKey)
		want.Namespace = namespace
		c.samePlan(got, want)
		equal(c, "pause, breach, ticks and what was skipped", fmt.Sprint(got.Paused, got.Broken, got.NextAt.IsZero(), got.LastAt.IsZero(), got.LastJob.IsZero(), got.Skipped),
			fmt.Sprint(false, "", true, true, true, 0))
		if got.CreatedAt.Before(before) || !got.UpdatedAt.Equal(got.CreatedAt) || got.Rev < 1 {
			c.Fatalf("created at %v, updated at %v, revision %d; the store's clock stood at %v", got.CreatedAt, got.UpdatedAt, got.Rev, before)
		}
	}
	s := c.standsAt(full.ScheduleKey, -time.Minute)
	c.advance(tick(s, s.NextAt.Add(long), c.job()))
	c.pause(full.ScheduleKey, true)
	was := c.planned(full.ScheduleKey)
	c.pass(5 * time.Millisecond)
	c.declareSchedules(namespace, full, cron)
	equal(c, "schedules", c.plans(), []string{"/cron", "/operators", "/theirs", "acme/full"})
	equal(c, "a schedule that was declared again", fmt.Sprintf("%+v", c.planned(full.ScheduleKey)), fmt.Sprintf("%+v", was))
	c.declareSchedules(namespace)
	equal(c, "schedules once a namespace has none", c.plans(), []string{"/operators", "/theirs"})
	equal(c, "jobs that stay", len(c.list(domain.Filter{})), 1)
}

// changed: a schedule that is declared otherwise keeps its pause and its last tick;
// with a new timing its next tick is to be found, and nothing runs.
func scheduleChanged(c *rig) {
	key := planKey("s")
	c.declareSchedules(namespace, c.plan("s"))
	s := c.standsAt(key, -time.Minute)
	job := c.job(after(long))
	c.advance(tick(s, s.NextAt.Add(long), job))
	was := c.planned(key)

	c.pass(5 * time.Millisecond)
	c.declareSchedules(namespace, c.plan("s", planArgs(`{"n":2}`), func(s *domain.Schedule) { s.Missed.Policy = domain.MissedSkip }))
	got := c.planned(key)
	equal(c, "args and policy", fmt.Sprint(string(got.Job.Args), got.Missed.Policy), fmt.Sprint(`{"n":2}`, domain.MissedSkip))
	equal(c, "ticks and last job with the timing as before", fmt.Sprint(got.NextAt, got.LastAt, got.LastJob), fmt.Sprint(was.NextAt, was.LastAt, job.ID))
	if got.Rev <= was.Rev || !got.UpdatedAt.After(was.UpdatedAt) || !got.CreatedAt.Equal(was.CreatedAt) {
		c.Fatalf("revision %d of %v after revision %d of %v", got.Rev, got.UpdatedAt, was.Rev, was.UpdatedAt)
	}
	equal(c, "whether a tick from before the change moves it", c.advance(tick(was, was.NextAt.Add(long), c.job())).Moved, false)

	c.declareSchedules(namespace, c.plan("s", every(2*time.Minute)))
	got = c.planned(key)
	equal(c, "ticks and last job with a new timing", fmt.Sprint(got.NextAt.IsZero(), got.LastAt, got.LastJob), fmt.Sprint(true, was.LastAt, job.ID))
	c.wantDue("whose next tick is to be found", "s")
	c.standsAt(key, long)
	c.pause(key, true)
	c.declareSchedules(namespace, c.plan("s", every(3*time.Minute)))
	got = c.planned(key)
	equal(c, "pause and next tick", fmt.Sprint(got.Paused, got.NextAt.IsZero()), "true true")
	equal(c, "jobs", c.list(domain.Filter{}), []domain.JobID{job.ID})
}

// taken: a name that an operator or another namespace has is taken over as it
// stands, and the last one that declared it has it.
func scheduleTaken(c *rig) {
	key := planKey("s")
	c.addSchedule(c.plan("s"))
	was := c.standsAt(key, long)
	c.pause(key, true)
	for _, ns := range []string{namespace, "another", namespace} {
		c.declareSchedules(ns, c.plan("s"))
		got := c.planned(key)
		equal(c, "namespace, pause and next tick", fmt.Sprint(got.Namespace, got.Paused, got.NextAt), fmt.Sprint(ns, true, was.NextAt))
	}
	c.declareSchedules("another", c.plan("own"))
	equal(c, "schedules once the other forgot its own", c.plans(), []string{"/own", "/s"})
	c.declareSchedules("another", c.plan("s", every(time.Hour)))
	equal(c, "timing of what was taken", c.planned(key).Timing, domain.Timing{Every: time.Hour})
	c.declareSchedules(namespace)
	equal(c, "schedules once the one before has none", c.plans(), []string{"/s"})
	c.declareSchedules("another")
	equal(c, "schedules once the last one has none", len(c.plans()), 0)
	c.declareSchedules(namespace, c.plan("s", planOf("t")), c.plan("s", planOf("T")), c.plan("s"))
	equal(c, "schedules of one name", c.plans(), []string{"/s", "T/s", "t/s"})
}

// many: hundreds are declared, changed and forgotten by one call each.
func scheduleMany(c *rig) {
	var all []domain.Schedule
	for i := range 300 {
		all = append(all, c.plan(fmt.Sprintf("s-%03d", i), planArgs(fmt.Sprint(i))))
	}
	c.declareSchedules(namespace, all...)
	equal(c, "schedules", len(c.plans()), 300)
	equal(c, "due schedules", len(c.due(1000, kind).All), 300)
	for i := range all {
		if all[i].Job.Args = []byte("0"); i%2 == 0 {
			all[i].Timing.Every = time.Hour
		}
	}
	c.declareSchedules(namespace, all[10:]...)
	equal(c, "schedules", len(c.plans()), 290)
	hourly := 0
	for _, s := range c.due(1000, kind).All {
		equal(c, "args", string(s.Job.Args), "0")
		if s.Timing.Every == time.Hour {
			hourly++
		}
	}
	equal(c, "schedules with a new timing", hourly, 145)
}

// race: processes that declare the same at once end with it once.
func scheduleRace(c *rig) {
	stores := c.handles(8)
	for round := range size(4, 20) {
		var all []domain.Schedule
		for i := range 10 {
			all = append(all, c.plan(fmt.Sprint("s", i+5*round), every(time.Duration(1+round)*time.Minute)))
		}
		c.race(len(stores), func(i int) error {
			mine := slices.Clone(all)
			if i%2 == 1 {
				slices.Reverse(mine)
			}
			return stores[i].DeclareSchedules(c.Context(), namespace, mine)
		})
		equal(c, "schedules", len(c.plans()), len(all))
		for _, s := range all {
			equal(c, "timing", c.planned(s.ScheduleKey).Timing, s.Timing)
		}
	}
}

// due: by the store's clock, what is to be found and what has come, the longest due
// first, and when the next one comes.
func scheduleDue(c *rig) {
	c.declareSchedules(namespace, c.plan("found"), c.plan("old"), c.plan("older"), c.plan("soon"), c.plan("later"))
	before := c.now()
	got := c.due(100, kind)
	if got.Now.Before(before) || got.Now.After(c.now()) || got.Now.Location() != time.UTC || got.Now.Nanosecond()%int(time.Millisecond) != 0 {
		c.Fatalf("the store's now is %v, its clock stood at %v", got.Now, before)
	}
	equal(c, "due schedules that are to be found", len(got.All), 5)
	c.standsAt(planKey("old"), -time.Minute)
	c.standsAt(planKey("older"), -time.Hour)
	c.standsAt(planKey("soon"), c.short())
	c.standsAt(planKey("later"), 30*time.Minute)
	c.wantDue("now", "found", "older", "old")
	got = c.due(2, kind)
	equal(c, "the first two", fmt.Sprint(got.All[0].Name, " ", got.All[1].Name, " ", len(got.All)), "found older 2")
	c.samePlan(got.All[1], c.planned(planKey("older")))
	equal(c, "revision and next tick of one that is due", fmt.Sprint(got.All[1].Rev, got.All[1].NextAt), fmt.Sprint(c.planned(planKey("older")).Rev, c.planned(planKey("older")).NextAt))
	if next := c.due(100, kind).Next; next > c.short() {
		c.Fatalf("the next one comes in %v, want at most %v", next, c.short())
	}
	if c.Advance != nil {
		c.pass(c.short() - 5*time.Millisecond)
		c.wantDue("a moment before the next one", "found", "older", "old")
		c.pass(5 * time.Millisecond)
	}
	c.pass(c.short() + time.Millisecond)
	c.wantDue("once the next one has come", "found", "older", "old", "soon")
	if next := c.due(100, kind).Next; next > 30*time.Minute || next < 25*time.Minute {
		c.Fatalf("the next one comes in %v, want it within 30 minutes", next)
	}
	c.standsAt(planKey("later"), 0)
	equal(c, "when the next one comes where none does", c.due(100, kind).Next, driven.NoNext)
	far := c.planned(planKey("later"))
	c.advance(tick(far, far.NextAt.Add(1000*time.Hour)))
	equal(c, "when the next one comes in weeks", c.due(100, kind).Next, driven.NoNext)
}

// paused: what is paused or broken is not due, nor the next one, and a tick that was
// read before the pause moves nothing.
func schedulePaused(c *rig) {
	c.declareSchedules(namespace, c.plan("broken"), c.plan("paused"), c.plan("runs"), c.plan("soon"))
	for _, name := range []string{"broken", "paused", "runs"} {
		c.standsAt(planKey(name), -time.Minute)
	}
	soon := c.standsAt(planKey("soon"), time.Minute)
	before := c.planned(planKey("paused"))
	c.pause(planKey("paused"), true)
	c.pause(planKey("soon"), true)
	s := c.planned(planKey("broken"))
	c.advance(domain.Tick{Key: s.ScheduleKey, Rev: s.Rev, From: s.NextAt, Broken: "its zone is unknown"})
	c.wantDue("beside paused and broken ones", "runs")
	equal(c, "when the next one comes", c.due(100, kind).Next, driven.NoNext)
	for _, old := range []domain.Schedule{before, soon} {
		got := c.advance(tick(old, old.NextAt.Add(time.Minute), c.job()))
		equal(c, "whether a tick from before the pause moves it", fmt.Sprint(got.Moved, len(got.Jobs)), "false 0")
	}
	equal(c, "jobs", c.count(domain.Filter{}), 0)
	c.pass(c.short())
	c.wantDue("later", "runs")
}

// kinds: only the kinds that were asked for, and what is due of others takes no place.
func scheduleKinds(c *rig) {
	for i := range 8 {
		c.addSchedule(c.plan(fmt.Sprint("a", i), planKind(other)))
		c.standsAt(planKey(fmt.Sprint("a", i)), -time.Hour)
	}
	c.addSchedule(c.plan("z"))
	c.addSchedule(c.plan("case", planKind("TEST/JOB")))
	c.standsAt(planKey("z"), -time.Minute)
	got := c.due(3, kind)
	equal(c, "due schedules of one kind", fmt.Sprint(len(got.All), got.All[0].Name), "1z")
	equal(c, "due schedules of two kinds", len(c.due(100, kind, other).All), 9)
	equal(c, "due schedules of a kind that is named twice", len(c.due(100, kind, kind).All), 1)
	equal(c, "due schedules of no kind", len(c.due(100).All), 0)
	equal(c, "due schedules of a kind without any", len(c.due(100, "test/none").All), 0)
	c.addSchedule(c.plan("next", planKind(other)))
	c.standsAt(planKey("next"), time.Minute)
	equal(c, "when the next one of a kind comes", c.due(100, kind).Next, driven.NoNext)
	if next := c.due(100, kind, other).Next; next > time.Minute {
		c.Fatalf("the next one of two kinds comes in %v, want it within a minute", next)
	}
}

// tick: a schedule moves on with its jobs and keeps count; one that passed without a
// job keeps its last tick.
func scheduleTick(c *rig) {
	key := domain.ScheduleKey{Tenant: "t", Name: "s"}
	c.declareSchedules(namespace, c.plan("s", planOf("t")))
	found := c.planned(key)
	s := c.standsAt(key, -time.Hour)
	equal(c, "revision after a tick", s.Rev, found.Rev)
	jobs := []domain.NewJob{c.job(ofTenant("t"), withArgs(`{"n":  1}`)), c.job(ofTenant("t"), after(long))}
	t := tick(s, s.NextAt.Add(long), jobs...)
	t.Fired, t.Skipped = s.NextAt.Add(time.Minute), 5
	got := c.advance(t)
	equal(c, "whether it moved, and its jobs", fmt.Sprint(got.Moved, got.Jobs), fmt.Sprint(true, []driven.Inserted{{ID: jobs[0].ID}, {ID: jobs[1].ID}}))
	checkAsked(c, jobs[0], c.inState(jobs[0].ID, domain.Ready))
	c.inState(jobs[1].ID, domain.Scheduled)
	now := c.planned(key)
	equal(c, "ticks, last job, skipped", fmt.Sprint(now.NextAt, now.LastAt, now.LastJob, now.Skipped), fmt.Sprint(t.To, t.Fired, jobs[1].ID, 5))
	t = tick(now, now.NextAt.Add(long))
	t.Skipped = 2
	equal(c, "whether it moved without a job", fmt.Sprint(c.advance(t)), fmt.Sprint(driven.Advanced{Moved: true}))
	last := c.planned(key)
	equal(c, "ticks, last job, skipped", fmt.Sprint(last.NextAt, last.LastAt, last.LastJob, last.Skipped), fmt.Sprint(t.To, now.LastAt, jobs[1].ID, 7))
	equal(c, "revision after ticks", last.Rev, found.Rev)
	equal(c, "jobs", c.count(domain.Filter{}), 2)
}

// once: of all that see one tick one moves the schedule and adds its job; who comes
// from another tick or another revision, or finds none, writes nothing.
func scheduleOnce(c *rig) {
	key := planKey("s")
	c.addSchedule(c.plan("s"))
	s := c.standsAt(key, -time.Hour)
	stores := c.handles(8)
	for round := range size(6, 40) {
		answers := make([]driven.Advanced, len(stores))
		to := s.NextAt.Add(time.Minute)
		c.race(len(stores), func(i int) (err error) {
			answers[i], err = stores[i].Advance(c.Context(), tick(s, to, c.job(after(long))))
			return err
		})
		moved := slices.DeleteFunc(answers, func(a driven.Advanced) bool { return !a.Moved })
		equal(c, "callers that moved it", len(moved), 1)
		equal(c, "jobs", c.count(domain.Filter{}), round+1)
		s = c.planned(key)
		equal(c, "ticks and last job", fmt.Sprint(s.NextAt, s.LastJob), fmt.Sprint(to, moved[0].Jobs[0].ID))
	}
	rows := c.count(domain.Filter{})
	early, late, other, none, unfound := s, s, s, s, s
	early.NextAt, late.NextAt = s.NextAt.Add(-time.Minute), s.NextAt.Add(time.Millisecond)
	other.Rev, none.Name, unfound.NextAt = s.Rev+1, "none", time.Time{}
	for what, stale := range map[string]domain.Schedule{"an earlier tick": early, "a later one": late, "another revision": other, "another schedule": none, "no tick": unfound} {
		got := c.advance(tick(stale, s.NextAt.Add(long), c.job()))
		equal(c, "whether it moves from "+what, fmt.Sprint(got.Moved, len(got.Jobs)), "false 0")
	}
	equal(c, "the schedule", fmt.Sprintf("%+v", c.planned(key)), fmt.Sprintf("%+v", s))
	equal(c, "jobs", c.count(domain.Filter{}), rows)
}

// again: a job that is there already is the tick's job, and the schedule moves.
func scheduleAgain(c *rig) {
	c.addSchedule(c.plan("s"))
	s := c.standsAt(planKey("s"), -time.Hour)
	jobs := []domain.NewJob{c.job(withArgs(`{"n":1}`)), c.job()}
	c.add(jobs[0])
	c.settled(done(c.claimOne()))
	jobs[0].Args = []byte(`{"n":2}`)
	got := c.advance(tick(s, s.NextAt.Add(long), jobs...))
	equal(c, "whether it moved, and its jobs", fmt.Sprint(got.Moved, got.Jobs), fmt.Sprint(true, []driven.Inserted{{ID: jobs[0].ID, Result: domain.Existing}, {ID: jobs[1].ID}}))
	equal(c, "args of the job that was there", string(c.inState(jobs[0].ID, domain.Done).Args), `{"n":1}`)
	c.inState(jobs[1].ID, domain.Ready)
	equal(c, "whether the same tick moves it again", c.advance(tick(s, s.NextAt.Add(long), jobs...)).Moved, false)
}

// broken: a schedule that cannot be followed says why, stays where it stands, and
// goes on once it is declared again; only who sees it as it is may say so.
func scheduleBroken(c *rig) {
	key := planKey("s")
	c.declareSchedules(namespace, c.plan("s"), c.plan("fine"))
	s := c.standsAt(key, -time.Hour)
	t := domain.Tick{Key: key, Rev: s.Rev + 1, From: s.NextAt, Broken: "why 'not' \\"}
	c.advance(t)
	equal(c, "breach by one who saw another revision", c.planned(key).Broken, "")
	t.Rev, t.Jobs = s.Rev, []domain.NewJob{c.job()}
	c.advance(t)
	got := c.planned(key)
	equal(c, "breach and next tick", fmt.Sprint(got.Broken, got.NextAt), fmt.Sprint(t.Broken, s.NextAt))
	equal(c, "jobs", c.count(domain.Filter{}), 0)
	c.wantDue("beside the broken one", "fine")
	for _, d := range []domain.Schedule{c.plan("s"), c.plan("s", every(time.Hour))} {
		got = c.planned(key)
		c.advance(domain.Tick{Key: key, Rev: got.Rev, From: got.NextAt, Broken: "why"})
		c.wantDue("beside the broken one", "fine")
		c.declareSchedules(namespace, d, c.plan("fine"))
		got = c.planned(key)
		equal(c, "breach and next tick once it is declared again", fmt.Sprint(got.Broken, got.NextAt.IsZero()), "true")
		equal(c, "due schedules", len(c.due(10, kind).All), 2)
	}
}

// add: an operator's schedule is in no namespace; a name that is taken is a Conflict
// and changes nothing.
func scheduleAdd(c *rig) {
	want := c.plan("s", planOf("t"), func(s *domain.Schedule) { s.Missed = domain.Missed{Policy: domain.MissedAll, Max: 3} })
	c.addSchedule(want)
	got := c.planned(want.ScheduleKey)
	c.samePlan(got, want)
	equal(c, "next tick, pause", fmt.Sprint(got.NextAt.IsZero(), got.Paused), "true false")
	c.addSchedule(c.plan("s"))
	c.declareSchedules(namespace, c.plan("declared"))
	for _, taken := range []domain.Schedule{c.plan("s", planOf("t"), every(time.Hour)), c.plan("s"), c.plan("declared")} {
		c.wantCode("add of a name that is taken", c.store.AddSchedule(c.Context(), taken), domain.Conflict)
	}
	equal(c, "the schedule that was there", fmt.Sprintf("%+v", c.planned(want.ScheduleKey)), fmt.Sprintf("%+v", got))
	stores := c.handles(6)
	var mu sync.Mutex
	added := 0
	c.race(len(stores), func(i int) error {
		err := uncontended(func() error { return stores[i].AddSchedule(c.Context(), c.plan("raced")) })
		if domain.CodeOf(err) == domain.Conflict {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		added++
		return err
	})
	equal(c, "callers that added it", added, 1)
}

// resume: a pause is one however often it is asked for; after it the next tick is
// found from now on, and what goes on already is not disturbed.
func scheduleResume(c *rig) {
	key := planKey("s")
	c.addSchedule(c.plan("s"))
	c.standsAt(key, -time.Hour)
	for range 2 {
		c.pause(key, true)
	}
	c.wantDue("while it is paused")
	for range 2 {
		c.pause(key, false)
		equal(c, "next tick after the pause", c.planned(key).NextAt, time.Time{})
	}
	c.wantDue("after the pause", "s")
	s := c.standsAt(key, long)
	c.pause(key, false)
	equal(c, "next tick and revision of one that was not paused", fmt.Sprint(c.planned(key).NextAt, c.planned(key).Rev), fmt.Sprint(s.NextAt, s.Rev))
	for _, k := range []domain.ScheduleKey{{Name: "none"}, {Tenant: "t", Name: "s"}} {
		c.wantCode("pause of a schedule that is not there", c.store.PauseSchedule(c.Context(), k, true), domain.NotFound)
	}
}

// delete: the schedule goes, its jobs stay; of a name that is there again nothing of
// the old one is left.
func scheduleDelete(c *rig) {
	key := planKey("s")
	c.addSchedule(c.plan("s"))
	c.addSchedule(c.plan("s", planOf("t")))
	s := c.standsAt(key, -time.Hour)
	n := c.job()
	c.advance(tick(s, s.NextAt.Add(time.Minute), n))
	s = c.planned(key)
	c.ok("delete", c.store.DeleteSchedule(c.Context(), key))
	c.noPlan(key)
	c.wantCode("delete of a schedule that is not there", c.store.DeleteSchedule(c.Context(), key), domain.NotFound)
	equal(c, "whether a tick of the deleted one moves", c.advance(tick(s, s.NextAt.Add(long), c.job())).Moved, false)
	equal(c, "schedules", c.plans(), []string{"t/s"})
	c.inState(n.ID, domain.Ready)
	c.addSchedule(c.plan("s"))
	got := c.planned(key)
	equal(c, "ticks of the new one", fmt.Sprint(got.NextAt.IsZero(), got.LastAt.IsZero(), got.LastJob.IsZero()), "true true true")
}

// find: one schedule is read by tenant and name; lists are by tenant and name, in
// pages, of one tenant or of all.
func scheduleFind(c *rig) {
	var want []domain.ScheduleKey
	for _, tenant := range []string{"", "T", "t", "t "} {
		for _, name := range []string{"a", "b", "b ", "é"} {
			want = append(want, domain.ScheduleKey{Tenant: tenant, Name: name})
		}
	}
	for _, i := range newRand(1).Perm(len(want)) {
		c.addSchedule(c.plan(want[i].Name, planOf(want[i].Tenant)))
	}
	list := func(tenant string, after domain.ScheduleKey, limit int) (keys []domain.ScheduleKey) {
		c.Helper()
		all, err := c.store.ListSchedules(c.Context(), tenant, after, limit)
		c.ok("list schedules", err)
		for _, s := range all {
			keys = append(keys, s.ScheduleKey)
		}
		return keys
	}
	equal(c, "all", list("", domain.ScheduleKey{}, 100), want)
	var paged []domain.ScheduleKey
	for after := (domain.ScheduleKey{}); ; after = paged[len(paged)-1] {
		page := list("", after, 5)
		if paged = append(paged, page...); len(page) < 5 {
			break
		}
	}
	equal(c, "all, in pages", paged, want)
	equal(c, "those of a tenant", list("t", domain.ScheduleKey{}, 100), want[8:12])
	equal(c, "those of a tenant behind one", list("t", want[9], 100), want[10:12])
	equal(c, "the next one of a tenant", list("t", want[8], 1), want[9:10])
	equal(c, "those of nobody", len(list("nobody", domain.ScheduleKey{}, 100)), 0)
	equal(c, "none", len(list("", domain.ScheduleKey{}, 0)), 0)
	for _, key := range want {
		equal(c, "key", c.planned(key).ScheduleKey, key)
	}
	c.noPlan(domain.ScheduleKey{Tenant: "T", Name: "B"})
	c.noPlan(domain.ScheduleKey{Tenant: "nobody", Name: "a"})
}

// names: names of schedules, tenants, namespaces and batches compare by bytes and
// are kept to the last one.
func scheduleNames(c *rig) {
	names := distinct(domain.MaxSched)
	for i, name := range names {
		c.declareSchedules(name, c.plan(name, planOf(name), planArgs(fmt.Sprint(i))))
	}
	equal(c, "schedules", len(c.plans()), len(names))
	for i, name := range names {
		key := domain.ScheduleKey{Tenant: name, Name: name}
		got := c.planned(key)
		equal(c, "namespace and args", fmt.Sprint(got.Namespace, string(got.Job.Args)), fmt.Sprint(name, i))
		id := c.batch(named(name), batchOf(name))
		equal(c, "name and tenant of a batch", [2]string{c.look(id).Name, c.look(id).Tenant}, [2]string{name, name})
		c.declareSchedules(name)
		equal(c, "schedules that are left", len(c.plans()), len(names)-1-i)
	}
}
