package conformance

import (
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func tenancyCases() []testCase {
	return []testCase{
		{"doors", tenancyDoors},
		{"claim", tenancyClaim},
		{"keys", tenancyKeys},
		{"stats", tenancyStats},
		{"batches", tenancyBatches},
		{"schedules", tenancySchedules},
	}
}

// doors: at every door that takes a tenant, a foreign job is not there.
func tenancyDoors(c *rig) {
	own, foreign, none := c.one(ofTenant("t")), c.one(ofTenant("T")), c.one()
	mine := domain.Filter{Tenant: "t"}
	equal(c, "list of the tenant", c.list(mine), []domain.JobID{own})
	equal(c, "count of the tenant", c.count(mine), 1)
	equal(c, "list of all", c.list(domain.Filter{}), []domain.JobID{none, foreign, own})
	for _, id := range []domain.JobID{foreign, none} {
		_, err := c.store.Job(c.Context(), id, "t")
		c.wantCode("read of a foreign job", err, domain.NotFound)
		for name, edit := range map[string]func() ([]domain.Edited, error){
			"retry": func() ([]domain.Edited, error) {
				return c.store.Retry(c.Context(), driven.EditRequest{IDs: []domain.JobID{id}, Tenant: "t"})
			},
			"delete": func() ([]domain.Edited, error) {
				return c.store.Delete(c.Context(), driven.EditRequest{IDs: []domain.JobID{id}, Tenant: "t"})
			},
		} {
			got, err := edit()
			c.wantCode(name+" of a foreign job", c.edit(name, got, err, id)[0], domain.NotFound)
		}
		c.inState(id, domain.Ready)
	}
}

// claim: runners serve every tenant, and each job says whose it is.
func tenancyClaim(c *rig) {
	want := map[domain.JobID]string{}
	for _, tenant := range []string{"t", "T", ""} {
		n := c.job()
		n.Tenant = tenant
		c.add(n)
		want[n.ID] = tenant
	}
	got := c.claim(10)
	equal(c, "claimed jobs", len(got), len(want))
	for _, j := range got {
		equal(c, "tenant of the claimed job", j.Job.Tenant, want[j.Job.ID])
	}
}

// keys: a key belongs to its tenant, and to none is a tenant of its own.
func tenancyKeys(c *rig) {
	ids := map[string]domain.JobID{}
	for _, tenant := range []string{"t", "T", "t "} {
		ids[tenant] = c.one(ofTenant(tenant), unique("k"))
	}
	none := c.one(unique("k"))
	for tenant, id := range ids {
		c.held("k", id, ofTenant(tenant))
	}
	c.held("k", none)
}

// stats: counts are of one tenant, or of all.
func tenancyStats(c *rig) {
	c.add(c.job(ofTenant("t")), c.job(ofTenant("t"), inQueue("mail")), c.job(ofTenant("T")), c.job())
	c.ended(done, ofTenant("t"), inQueue("own"))
	equal(c, "totals of the tenant", c.stats("t").Totals(), domain.Tally{Due: 2, Done: 1})
	equal(c, "totals of another", c.stats("T").Totals(), domain.Tally{Due: 1})
	equal(c, "totals of nobody", c.stats("nobody").Totals(), domain.Tally{})
	equal(c, "totals of all", c.stats("").Totals(), domain.Tally{Due: 4, Done: 1})
	equal(c, "lines of the tenant", len(c.stats("t").Lines), 3)
}

// batches: at every door that takes a tenant, a foreign batch is not there.
func tenancyBatches(c *rig) {
	brief := func(n *domain.NewBatch) { n.Keep = c.short() }
	own, foreign, none := c.batch(batchOf("t"), brief), c.batch(batchOf("T"), brief), c.batch(brief)
	list, err := c.store.ListBatches(c.Context(), domain.BatchFilter{Tenant: "t"}, domain.BatchPage{})
	c.ok("list batches", err)
	equal(c, "batches of the tenant", fmt.Sprint(len(list), list[0].ID), fmt.Sprint(1, own))
	for _, id := range []domain.BatchID{foreign, none} {
		_, err := c.store.Batch(c.Context(), id, "t")
		c.wantCode("read of a foreign batch", err, domain.NotFound)
		_, err = c.store.SealBatch(c.Context(), id, "t")
		c.wantCode("seal of a foreign batch", err, domain.NotFound)
		c.wantCode("forgetting of a foreign batch", c.store.ForgetBatch(c.Context(), id, "t"), domain.NotFound)
		equal(c, "state of the foreign batch", c.look(id).State(), domain.BatchOpen)
		c.seal(id, 0)
		c.ends(id, 0, 0)
	}
	_, err = c.store.Insert(c.Context(), []domain.NewJob{c.job(inBatch(c.batch(batchOf("T"))), ofTenant("t"))})
	c.wantCode("insert into a foreign batch", err, domain.NotFound)
	c.seal(own, 0)
	c.ends(own, 0, 0)
	c.pass(c.short() + time.Millisecond)
	equal(c, "pruned batches of the tenant", c.prunedBatches(driven.PruneRequest{Tenant: "t", Limit: 100}), driven.Pruned{Removed: 1})
	c.goneBatch(own)
	c.look(foreign)
	c.look(none)
}

// schedules: a name is its tenant's own, and lists are of one tenant or of all.
func tenancySchedules(c *rig) {
	c.addSchedule(c.plan("s", planOf("t")))
	c.addSchedule(c.plan("s", planOf("T"), every(time.Hour)))
	c.addSchedule(c.plan("own", planOf("T")))
	for _, key := range []domain.ScheduleKey{{Tenant: "t", Name: "own"}, {Name: "s"}} {
		c.noPlan(key)
		c.wantCode("pause of a foreign schedule", c.store.PauseSchedule(c.Context(), key, true), domain.NotFound)
		c.wantCode("delete of a foreign schedule", c.store.DeleteSchedule(c.Context(), key), domain.NotFound)
	}
	list, err := c.store.ListSchedules(c.Context(), "t", domain.ScheduleKey{}, 100)
	c.ok("list schedules", err)
	equal(c, "schedules of the tenant", fmt.Sprint(len(list), list[0].Tenant), "1t")
	c.pause(domain.ScheduleKey{Tenant: "t", Name: "s"}, true)
	c.ok("delete", c.store.DeleteSchedule(c.Context(), domain.ScheduleKey{Tenant: "t", Name: "s"}))
	equal(c, "schedules of the other", c.plans(), []string{"T/own", "T/s"})
	equal(c, "pause and timing of the other's", fmt.Sprint(c.planned(domain.ScheduleKey{Tenant: "T", Name: "s"}).Paused, c.planned(domain.ScheduleKey{Tenant: "T", Name: "s"}).Timing.Every), fmt.Sprint(false, time.Hour))
}
