package conformance

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// The words of a batch's callback.
const (
	callbackKind  = "test/callback"
	callbackQueue = "callbacks"
)

// setBatch changes one field of a batch that is about to be created.
type setBatch func(*domain.NewBatch)

func named(name string) setBatch      { return func(n *domain.NewBatch) { n.Name = name } }
func batchOf(tenant string) setBatch  { return func(n *domain.NewBatch) { n.Tenant = tenant } }
func withCallback(n *domain.NewBatch) { n.Callback = callbackWith(`{"own":1}`) }

func callbackWith(args string) *domain.Template {
	return &domain.Template{Kind: callbackKind, Queue: callbackQueue, Priority: 4, Args: json.RawMessage(args), Tags: []string{"b", "a"}, MaxAttempts: 3}
}

// newBatch builds a valid batch.
func (c *rig) newBatch(sets ...setBatch) domain.NewBatch {
	c.Helper()
	n := domain.NewBatch{ID: domain.BatchID(c.id())}
	for _, s := range sets {
		s(&n)
	}
	c.ok("check a batch of the suite", n.Validate())
	return n
}

// batch creates an open batch.
func (c *rig) batch(sets ...setBatch) domain.BatchID {
	c.Helper()
	n := c.newBatch(sets...)
	c.ok("create a batch", c.store.CreateBatch(c.Context(), n))
	return n.ID
}

// seal seals a batch that was open.
func (c *rig) seal(id domain.BatchID, members int64) {
	c.Helper()
	got, err := c.store.SealBatch(c.Context(), id, "")
	c.ok("seal a batch", err)
	equal(c, "answer of the seal", got, domain.Sealed{Total: members})
}

// look reads one batch.
func (c *rig) look(id domain.BatchID) *domain.Batch {
	c.Helper()
	b, err := c.store.Batch(c.Context(), id, "")
	c.ok("read a batch", err)
	return &b
}

// finishBatches finishes those that are over, as is done after each write that made
// a member terminal.
func (c *rig) finishBatches(ids ...domain.BatchID) []driven.Finished {
	c.Helper()
	got, err := c.store.FinishBatches(c.Context(), ids)
	c.ok("finish batches", err)
	return got
}

// waits checks that a batch is not finished by looking at it.
func (c *rig) waits(why string, id domain.BatchID) {
	c.Helper()
	equal(c, "batches that finish while "+why, len(c.finishBatches(id)), 0)
	b := c.look(id)
	equal(c, "end of a batch while "+why, fmt.Sprint(b.FinishedAt.IsZero(), b.CallbackJob.IsZero()), "true true")
}

// callbacks gives the rows of all callbacks.
func (c *rig) callbacks() []domain.Job {
	c.Helper()
	jobs, err := c.store.Jobs(c.Context(), domain.Filter{Kind: callbackKind}, domain.Page{Size: domain.MaxPage})
	c.ok("list the callbacks", err)
	return jobs
}

// ends finishes a batch, which must be over now, and checks how.
func (c *rig) ends(id domain.BatchID, total, done int64) *domain.Batch {
	c.Helper()
	got := c.finishBatches(id)
	if len(got) != 1 || got[0].Batch.ID != id {
		c.Fatalf("the batch did not finish: %+v; it is %+v", got, c.look(id))
	}
	b := c.look(id)
	equal(c, "state of the batch", b.State(), domain.BatchFinished)
	equal(c, "members in all, done and waiting", [3]int64{b.Total, b.Done, b.Pending}, [3]int64{total, done, 0})
	equal(c, "the answer's batch beside the row", fmt.Sprint(got[0].Batch.FinishedAt, got[0].Batch.Total, got[0].Batch.Done, got[0].Batch.CallbackJob),
		fmt.Sprint(b.FinishedAt, b.Total, b.Done, b.CallbackJob))
	equal(c, "refusal of the callback", got[0].Refused, false)
	if b.FinishedAt.Before(b.SealedAt) || b.SealedAt.Before(b.CreatedAt) {
		c.Fatalf("the moments of the batch are out of order: %+v", b)
	}
	if b.Callback == nil {
		equal(c, "callback of a batch that has none", fmt.Sprint(b.CallbackJob.IsZero(), got[0].Queue), "true")
		return b
	}
	equal(c, "queue of the callback", got[0].Queue, b.Callback.Queue)
	c.isCallback(b)
	return b
}

// isCallback checks the row of a finished batch's callback.
func (c *rig) isCallback(b *domain.Batch) {
	c.Helper()
	row := c.get(b.CallbackJob)
	want, err := b.Finish()
	c.ok("make the callback", err)
	checkAsked(c, *want, row)
	checkUntouched(c, row)
	equal(c, "state of the callback", row.State, domain.Ready)
	var args struct {
		Own   int                `json:"own"`
		Batch domain.BatchReport `json:"batch"`
	}
	c.ok("read the callback's args", json.Unmarshal(row.Args, &args))
	equal(c, "the callback's own args", args.Own, 1)
	equal(c, "what the callback is told", args.Batch, domain.BatchReport{
		ID: b.ID, Name: b.Name, Total: b.Total, Done: b.Done, Failed: b.Total - b.Done, Succeeded: b.Total == b.Done,
	})
}

// openBatches lists the ids behind one.
func (c *rig) openBatches(after domain.BatchID, limit int) []domain.BatchID {
	c.Helper()
	got, err := c.store.OpenBatches(c.Context(), after, limit)
	c.ok("list open batches", err)
	return got
}

// sweepBatches is what a sweep does for batches.
func (c *rig) sweepBatches() []driven.Finished {
	c.Helper()
	return c.finishBatches(c.openBatches(domain.BatchID{}, 1000)...)
}

// forget forgets a batch that is there.
func (c *rig) forget(id domain.BatchID) {
	c.Helper()
	c.ok("forget a batch", c.store.ForgetBatch(c.Context(), id, ""))
}

// gone checks that a batch is not there.
func (c *rig) goneBatch(id domain.BatchID) {
	c.Helper()
	_, err := c.store.Batch(c.Context(), id, "")
	c.wantCode("read of a batch that is gone", err, domain.NotFound)
}

// member brings one member of a batch to an end.
func (c *rig) member(id domain.BatchID, outcome func(driven.Claimed) driven.Outcome) domain.JobID {
	c.Helper()
	return c.ended(outcome, inBatch(id), priority(-9))
}

// prunedBatches is one pass over finished batches.
func (c *rig) prunedBatches(r driven.PruneRequest) driven.Pruned {
	c.Helper()
	got, err := c.store.PruneBatches(c.Context(), r)
	c.ok("prune batches", err)
	return got
}

// pruneBatches removes what may go in passes of at most so many, and says how many went.
func (c *rig) pruneBatches(limit int, tenant string) (removed int) {
	c.Helper()
	for passes, more := 0, true; more; passes++ {
		got := c.prunedBatches(driven.PruneRequest{Limit: limit, Tenant: tenant, Defer: c.short()})
		removed, more = removed+got.Removed, got.More
		if passes > 20 {
			c.Fatal("a pruning of batches says More for ever")
		}
	}
	return removed
}

// calledBack claims the callbacks that are due, by id.
func (c *rig) calledBack() []driven.Claimed {
	c.Helper()
	r := c.request(100)
	r.Queue, r.Kinds = callbackQueue, []string{callbackKind}
	got := c.claimAll(r)
	slices.SortFunc(got, func(a, b driven.Claimed) int { return a.Job.ID.Compare(b.Job.ID) })
	return got
}

func outcomes(jobs []driven.Claimed, outcome func(driven.Claimed) driven.Outcome) (all []driven.Outcome) {
	for _, j := range jobs {
		all = append(all, outcome(j))
	}
	return all
}

// stay are those of the batches that are there.
func (c *rig) stay(ids []domain.BatchID) (there []domain.BatchID) {
	c.Helper()
	for _, id := range ids {
		_, err := c.store.Batch(c.Context(), id, "")
		if err == nil {
			there = append(there, id)
			continue
		}
		c.wantCode("read of a batch that is gone", err, domain.NotFound)
	}
	return there
}
