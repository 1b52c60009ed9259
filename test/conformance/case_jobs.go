package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// set changes one field of a job that is about to be inserted.
type set func(*domain.NewJob)

func ofKind(k string) set          { return func(n *domain.NewJob) { n.Kind = k } }
func inQueue(q string) set         { return func(n *domain.NewJob) { n.Queue = q } }
func ofTenant(t string) set        { return func(n *domain.NewJob) { n.Tenant = t } }
func priority(p int) set           { return func(n *domain.NewJob) { n.Priority = p } }
func after(d time.Duration) set    { return func(n *domain.NewJob) { n.Due.After = d } }
func at(t time.Time) set           { return func(n *domain.NewJob) { n.Due.At = t } }
func withArgs(a string) set        { return func(n *domain.NewJob) { n.Args = []byte(a) } }
func withMeta(m string) set        { return func(n *domain.NewJob) { n.Meta = []byte(m) } }
func withTags(tags ...string) set  { return func(n *domain.NewJob) { n.Tags = tags } }
func keep(r domain.Retention) set  { return func(n *domain.NewJob) { n.Keep = r } }
func withID(id domain.JobID) set   { return func(n *domain.NewJob) { n.ID = id } }
func unique(key string) set        { return uniqueOr(key, domain.Skip) }
func uniqueOrError(key string) set { return uniqueOr(key, domain.Error) }
func uniqueOr(k string, or domain.OnConflict) set {
	return func(n *domain.NewJob) { n.Unique = &domain.Unique{Key: k, OnConflict: or} }
}

// windowed is a key of the eighth of the buckets of that length.
func windowed(k string, window time.Duration, or domain.OnConflict) set {
	return func(n *domain.NewJob) {
		n.Unique = &domain.Unique{Key: k, OnConflict: or, Window: window, Bucket: 7}
	}
}

func failing(k string) set         { return func(n *domain.NewJob) { n.FailureKind = k } }
func inBatch(b domain.BatchID) set { return func(n *domain.NewJob) { n.Batch = b } }

// job builds a valid job that is due now.
func (c *rig) job(sets ...set) domain.NewJob {
	c.Helper()
	n := domain.NewJob{ID: c.id(), Kind: kind, Queue: queue, Args: []byte(`{}`)}
	for _, s := range sets {
		s(&n)
	}
	if err := n.Validate(); err != nil {
		c.Fatalf("the suite built a job that no door lets in: %v", err)
	}
	return n
}

// jobs builds n jobs that are alike.
func (c *rig) jobs(n int, sets ...set) []domain.NewJob {
	c.Helper()
	all := make([]domain.NewJob, n)
	for i := range all {
		all[i] = c.job(sets...)
	}
	return all
}

// insert writes the jobs in one call, whatever the answers are.
func (c *rig) insert(jobs ...domain.NewJob) []driven.Inserted {
	c.Helper()
	got, err := c.store.Insert(c.Context(), jobs)
	c.ok("insert", err)
	if len(got) != len(jobs) {
		c.Fatalf("insert of %d jobs gave %d answers", len(jobs), len(got))
	}
	for i := range got {
		if len(got[i].Keys) == 0 {
			got[i].Keys = nil // none is none
		}
		slices.Sort(got[i].Keys)
	}
	return got
}

// add writes jobs that must all be new, and gives their ids.
func (c *rig) add(jobs ...domain.NewJob) []domain.JobID {
	c.Helper()
	ids := make([]domain.JobID, len(jobs))
	for i, a := range c.insert(jobs...) {
		equal(c, fmt.Sprintf("answer %d of the insert", i), a, driven.Inserted{ID: jobs[i].ID})
		ids[i] = a.ID
	}
	return ids
}

// one writes one new job.
func (c *rig) one(sets ...set) domain.JobID {
	c.Helper()
	return c.add(c.job(sets...))[0]
}
