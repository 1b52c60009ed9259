package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func migrateCases() []testCase {
	return []testCase{
		{"up", migrateUp},
		{"status", migrateStatus},
		{"down", migrateDown},
		{"steps", migrateSteps},
		{"concurrent", migrateConcurrent},
		{"rows", migrateRows},
		{"print", migratePrint},
		{"missing", migrateMissing},
		{"older", migrateOlder},
		{"features", migrateFeatures},
	}
}

func migrateOptional(h Harness) (present bool, missing string) {
	if h.Bare == nil {
		missing = "Backend.Schema is set, so set Harness.Bare"
	}
	return h.Backend.Schema != nil, missing
}

// bare opens a store without a schema, and words to speak with it.
func (c *rig) bare() (*rig, func() driven.Backend) {
	c.Helper()
	handle := c.Bare(c)
	h := c.Harness
	h.Backend, h.Again = handle(), nil
	return &rig{TB: c.TB, Harness: h, store: h.Backend.Store, made: c.made}, handle
}

func (c *rig) up(to int) []driven.Step {
	c.Helper()
	steps, err := c.Backend.Schema.Up(c.Context(), to)
	c.ok("migrate up", err)
	return steps
}

func (c *rig) down(to int) []driven.Step {
	c.Helper()
	steps, err := c.Backend.Schema.Down(c.Context(), to)
	c.ok("migrate down", err)
	return steps
}

// status reads the steps and gives how many are applied.
func (c *rig) status() (steps []driven.Step, applied int) {
	c.Helper()
	steps, err := c.Backend.Schema.Status(c.Context())
	c.ok("migration status", err)
	for _, s := range steps {
		if !s.AppliedAt.IsZero() {
			applied++
		}
	}
	return steps, applied
}

// works checks that jobs can live their life.
func (c *rig) works() {
	c.Helper()
	c.settled(done(c.running(inQueue("works"))))
}

// up: everything is installed once; a second call finds nothing to do.
func migrateUp(c *rig) {
	b, _ := c.bare()
	steps, _ := b.status()
	equal(b, "applied steps", len(b.up(0)), len(steps))
	equal(b, "applied steps of a second call", len(b.up(0)), 0)
	b.works()
}

// status: every step is listed in order, also before anything is installed.
func migrateStatus(c *rig) {
	b, _ := c.bare()
	before, applied := b.status()
	equal(b, "applied steps of an empty store", applied, 0)
	if len(before) == 0 {
		b.Fatal("there is a migrator, but no step")
	}
	for i, s := range before {
		equal(b, "number of the step", s.Number, i+1)
		if s.Name == "" {
			b.Fatalf("step %d has no name", s.Number)
		}
	}
	b.up(0)
	after, applied := b.status()
	equal(b, "applied steps", applied, len(before))
	equal(b, "listed steps", len(after), len(before))
}

// down: what was installed goes, and can be installed again.
func migrateDown(c *rig) {
	b, _ := c.bare()
	installed := len(b.up(0))
	b.one()
	equal(b, "steps taken back", len(b.down(0)), installed)
	_, applied := b.status()
	equal(b, "applied steps", applied, 0)
	equal(b, "steps taken back twice", len(b.down(0)), 0)
	b.up(0)
	equal(b, "rows of the new schema", b.count(domain.Filter{}), 0)
	b.works()
}

// steps: up and down stop at the number they are given.
func migrateSteps(c *rig) {
	b, _ := c.bare()
	all, _ := b.status()
	for i := range all {
		equal(b, "steps up to the next", len(b.up(i+1)), 1)
		_, applied := b.status()
		equal(b, "applied steps", applied, i+1)
	}
	for i := len(all) - 1; i >= 0; i-- {
		equal(b, "steps down to the one before", len(b.down(i)), 1)
	}
}

// concurrent: any number of callers at once end in the right schema, each step applied once.
func migrateConcurrent(c *rig) {
	b, handle := c.bare()
	b.upByMany(20, handle)
	b.works()
}

// upByMany lets callers apply what is missing, at once: each step by one of them.
func (c *rig) upByMany(callers int, handle func() driven.Backend) {
	c.Helper()
	_, before := c.status()
	schemas := make([]driven.Migrator, callers)
	for i := range schemas {
		schemas[i] = handle().Schema
	}
	applied := make([]int, callers)
	c.race(callers, func(i int) error {
		steps, err := schemas[i].Up(c.Context(), 0)
		applied[i] = len(steps)
		return err
	})
	steps, after := c.status()
	equal(c, "applied steps", after, len(steps))
	for _, n := range applied {
		before += n
	}
	equal(c, "steps that callers say they applied, beside the older ones", before, len(steps))
}

// rows: from every earlier step on, with jobs in all states that it has, callers at once
// end in the right schema, and every job is as it was.
func migrateRows(c *rig) {
	b, _ := c.bare()
	steps, _ := b.status()
	for from := 1; from < len(steps); from++ {
		b, handle := c.bare()
		b.up(from)
		want := map[domain.JobID]domain.State{
			b.ended(done): domain.Done, b.ended(died): domain.Dead, b.ended(gaveUp): domain.Cancelled,
			b.running().Job.ID: domain.Running, b.one(inQueue("idle")): domain.Ready, b.one(after(100 * long)): domain.Scheduled,
		}
		b.upByMany(size(6, 20), handle)
		for id, state := range want {
			b.inState(id, state)
		}
		b.works()
	}
}

// print: the statements are text that a person may run.
func migratePrint(c *rig) {
	steps, _ := c.status()
	all, err := c.Backend.Schema.Print(0)
	c.ok("print all", err)
	for _, s := range steps {
		text, err := c.Backend.Schema.Print(s.Number)
		c.ok(fmt.Sprintf("print step %d", s.Number), err)
		if strings.TrimSpace(text) == "" || !strings.Contains(all, strings.TrimSpace(text)) {
			c.Fatalf("step %d prints nothing, or it is not part of all", s.Number)
		}
	}
	_, err = c.Backend.Schema.Print(len(steps) + 1)
	c.wantCode("print of an unknown step", err, domain.NotFound)
}

// missing: a store that is not installed says so, and how to install it.
func migrateMissing(c *rig) {
	b, _ := c.bare()
	for name, call := range b.calls(b.Context()) {
		err := call()
		if err == nil {
			b.Fatalf("%s on a store that is not installed gave no fault", name)
		}
		if !strings.Contains(domain.HintOf(err), "migrate") {
			b.Fatalf("%s on a store that is not installed: %v, want the hint to name the migration", name, err)
		}
	}
}

// older: of an older schema what needs a later step says so and how to get it,
// and the rest works.
func migrateOlder(c *rig) {
	b, _ := c.bare()
	all, _ := b.status()
	for step := 1; step < len(all); step++ {
		b.up(step)
		for name, call := range b.calls(b.Context()) {
			if err := call(); err != nil && !strings.Contains(domain.HintOf(err), "migrate") && domain.CodeOf(err) != domain.NotFound {
				b.Fatalf("%s at step %d: %v, want it to work or to name the migration", name, step, err)
			}
		}
		b.works()
	}
}

// features: with the newest steps taken back jobs live on as before, and what a step
// brought says that it is not there and how to get it, as a whole.
func migrateFeatures(c *rig) {
	b, _ := c.bare()
	b.up(0)
	steps, _ := b.status()
	waiting := b.one(after(100 * long))
	for last := len(steps) - 1; last >= 1; last-- {
		b.down(last)
		b.goesOn()
		b.inState(waiting, domain.Scheduled)
		for feature, calls := range b.features() {
			unsupported := 0
			for name, call := range calls {
				if err := call(); domain.CodeOf(err) == domain.Unsupported {
					unsupported++
					if !strings.Contains(domain.HintOf(err), "migrate up") {
						b.Fatalf("%s at step %d: %v, want the hint to name `migrate up`", name, last, err)
					}
				}
			}
			gone := slices.ContainsFunc(steps[last:], func(s driven.Step) bool { return s.Name == feature })
			if unsupported != 0 && unsupported != len(calls) || gone && unsupported == 0 {
				b.Fatalf("at step %d %d of %d calls for %s say that they are unsupported", last, unsupported, len(calls), feature)
			}
		}
		b.goesOn()
	}
}

// goesOn checks that plain jobs live every life there is, and that what is over goes.
func (c *rig) goesOn() {
	c.Helper()
	c.works()
	j := c.running(unique("k"))
	c.settled(failed(j, long))
	equal(c, "answer for a held key", c.insert(c.job(uniqueOr("k", domain.Replace)))[0], driven.Inserted{ID: j.Job.ID, Result: domain.Replaced})
	o := c.buried(c.claimOne())
	c.settled(o)
	c.isFailure(*o.Failure)
	c.wantNil("retry", c.retry(domain.Due{}, j.Job.ID)...)
	lapsed := c.claimLapsed(1)
	equal(c, "recovered jobs", len(c.recover(parking()).Jobs), len(lapsed))
	c.wantNil("cancel", c.cancel(j.Job.ID)...)
	c.wantNil("delete", c.delete(j.Job.ID, o.Failure.ID)...)
	c.endAll(c.claimSet(2), done, time.Millisecond)
	c.pass(5 * time.Millisecond)
	equal(c, "pruned rows", c.prune(100, ""), 2)
}

// features are calls that need what later steps bring, by the step's name.
func (c *rig) features() map[string]map[string]func() error {
	ctx, all := c.Context(), c.calling(c.Context())
	of := func(names ...string) map[string]func() error {
		calls := map[string]func() error{}
		for _, name := range names {
			calls[name] = all[name]
		}
		return calls
	}
	batches := of("CreateBatch", "SealBatch", "ForgetBatch", "Batch", "ListBatches")
	member := c.job(inBatch(domain.BatchID(c.id())))
	batches["Insert of a member"] = func() error { _, err := c.store.Insert(ctx, []domain.NewJob{member}); return err }
	return map[string]map[string]func() error{
		"batches":   batches,
		"schedules": of("DeclareSchedules", "AddSchedule", "PauseSchedule", "DeleteSchedule", "Schedule", "ListSchedules"),
		"switches":  of("Pause", "Resume", "Paused"),
	}
}
