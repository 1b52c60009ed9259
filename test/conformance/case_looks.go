package conformance

import (
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// get reads one whole row.
func (c *rig) get(id domain.JobID) domain.Job {
	c.Helper()
	j, err := c.store.Job(c.Context(), id, "")
	c.ok("read a job", err)
	return j
}

// inState checks the state of one row and gives the row.
func (c *rig) inState(id domain.JobID, want domain.State) domain.Job {
	c.Helper()
	j := c.get(id)
	equal(c, "state of job "+id.String(), j.State, want)
	return j
}

// count counts what a filter chooses, exactly.
func (c *rig) count(f domain.Filter) int {
	c.Helper()
	n, exact, err := c.store.Count(c.Context(), f, 1_000_000)
	c.ok("count", err)
	equal(c, "exactness of the count", exact, true)
	return n
}

// list gives the ids that a filter chooses, newest first, and checks that Jobs and Match agree.
func (c *rig) list(f domain.Filter) []domain.JobID {
	c.Helper()
	page := domain.Page{Size: domain.MaxPage}
	jobs, err := c.store.Jobs(c.Context(), f, page)
	c.ok("list jobs", err)
	ids := make([]domain.JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	matched, err := c.store.Match(c.Context(), f, page)
	c.ok("match jobs", err)
	equalIDs(c, "ids of Match beside those of Jobs", matched, ids)
	return ids
}

// all gives every row, newest first.
func (c *rig) all() []domain.Job {
	c.Helper()
	jobs, err := c.store.Jobs(c.Context(), domain.Filter{}, domain.Page{Size: domain.MaxPage})
	c.ok("list jobs", err)
	return jobs
}

// stats gives the statistics, counted exactly.
func (c *rig) stats(tenant string) domain.Stats {
	c.Helper()
	s, err := c.store.Stats(c.Context(), tenant, 1_000_000)
	c.ok("stats", err)
	equal(c, "exactness of the stats", s.Exact, true)
	return s
}

// edits is what an operator asks for.
func edits(ids ...domain.JobID) driven.EditRequest {
	return driven.EditRequest{IDs: ids, Keep: long}
}

// edit runs one of the editor's methods and checks that it answers each id in order.
func (c *rig) edit(what string, answers []domain.Edited, err error, ids ...domain.JobID) []error {
	c.Helper()
	c.ok(what, err)
	errs := make([]error, len(answers))
	got := make([]domain.JobID, len(answers))
	for i, a := range answers {
		got[i], errs[i] = a.ID, a.Err
	}
	equalIDs(c, "ids that "+what+" answers for", got, ids)
	return errs
}

func (c *rig) retry(due domain.Due, ids ...domain.JobID) []error {
	c.Helper()
	r := edits(ids...)
	r.Due = due
	got, err := c.store.Retry(c.Context(), r)
	return c.edit("retry", got, err, ids...)
}

func (c *rig) cancel(ids ...domain.JobID) []error {
	c.Helper()
	got, err := c.store.Cancel(c.Context(), edits(ids...))
	return c.edit("cancel", got, err, ids...)
}

func (c *rig) delete(ids ...domain.JobID) []error {
	c.Helper()
	got, err := c.store.Delete(c.Context(), edits(ids...))
	return c.edit("delete", got, err, ids...)
}

func (c *rig) reschedule(due domain.Due, ids ...domain.JobID) []error {
	c.Helper()
	r := edits(ids...)
	r.Due = due
	got, err := c.store.Reschedule(c.Context(), r)
	return c.edit("reschedule", got, err, ids...)
}

func (c *rig) prune(limit int, tenant string) int {
	c.Helper()
	return c.pruned(driven.PruneRequest{Limit: limit, Tenant: tenant, Defer: long}).Removed
}

// pruned is one pass.
func (c *rig) pruned(r driven.PruneRequest) driven.Pruned {
	c.Helper()
	got, err := c.store.Prune(c.Context(), r)
	c.ok("prune", err)
	if got.Removed > r.Limit {
		c.Fatalf("a prune of at most %d removed %d", r.Limit, got.Removed)
	}
	return got
}
