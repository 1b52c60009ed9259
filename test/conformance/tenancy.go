package conformance

import (
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func tenancyCases() []testCase {
	return []testCase{
		{"doors", tenancyDoors},
		{"claim", tenancyClaim},
		{"keys", tenancyKeys},
		{"stats", tenancyStats},
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
