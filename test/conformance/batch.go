package conformance

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func batchCases() []testCase {
	return []testCase{
		{"create", batchCreate},
		{"sealed", batchSealed},
		{"existing", batchExisting},
		{"again", batchAgain},
		{"ends", batchEnds},
		{"once", batchOnce},
		{"callback", batchCallback},
		{"table", batchTable},
		{"many", batchMany},
		{"race", batchRace},
		{"barrier", batchBarrier},
		{"crossed", batchCrossed},
		{"sweep", batchSweep},
		{"edited", batchEdited},
		{"retried", batchRetried},
		{"pruned", batchPruned},
		{"forgotten", batchForgotten},
		{"kept", batchKept},
		{"find", batchFind},
	}
}

// create: a batch is open and holds what was asked for; an id that is taken is a
// Conflict and changes nothing.
func batchCreate(c *rig) {
	before := c.now()
	n := c.newBatch(named("nightly 'import' \\"), batchOf("acme"), withCallback, func(n *domain.NewBatch) { n.Keep = time.Hour })
	c.ok("create a batch", c.store.CreateBatch(c.Context(), n))
	got := c.look(n.ID)
	equal(c, "id, name and tenant", fmt.Sprint(got.ID, got.Name, got.Tenant), fmt.Sprint(n.ID, n.Name, n.Tenant))
	equal(c, "state", got.State(), domain.BatchOpen)
	equal(c, "members, callback job and ends", fmt.Sprint(got.Total, got.Done, got.Pending, got.CallbackJob.IsZero(), got.SealedAt.IsZero(), got.FinishedAt.IsZero()),
		fmt.Sprint(0, 0, 0, true, true, true))
	equal(c, "how long it is kept", got.Keep, time.Hour)
	if got.CreatedAt.Before(before) || got.CreatedAt.After(c.now()) || got.CreatedAt.Location() != time.UTC {
		c.Fatalf("created at %v, the store's clock stood at %v", got.CreatedAt, before)
	}
	c.sameTemplate("callback", *got.Callback, *n.Callback)
	err := c.store.CreateBatch(c.Context(), domain.NewBatch{ID: n.ID, Name: "another", Callback: callbackWith(`{}`)})
	c.wantCode("create of an id that is taken", err, domain.Conflict)
	equal(c, "the batch that was there", fmt.Sprintf("%+v", c.look(n.ID).Name), n.Name)

	plain := c.look(c.batch())
	equal(c, "name, tenant, callback and span of a plain batch", fmt.Sprint(plain.Name, plain.Tenant, plain.Callback == nil, plain.Keep),
		fmt.Sprint("", "", true, domain.DefaultBatchKeep))
	forEver := c.look(c.batch(func(n *domain.NewBatch) { n.Keep = domain.KeepForever }))
	if forEver.Keep >= 0 {
		c.Fatalf("a batch that is kept for ever is kept for %v", forEver.Keep)
	}
}

// sameTemplate compares what is stored of two templates.
func (c *rig) sameTemplate(what string, got, want domain.Template) {
	c.Helper()
	g, err := got.Text()
	c.ok("text of the template", err)
	w, err := want.Text()
	c.ok("text of the template", err)
	equal(c, what, g, w)
}

// sealed: a batch takes jobs while it is there and not sealed, of its own tenant or,
// if it has none, of all; a call that names another is refused as a whole.
func batchSealed(c *rig) {
	open, own, over := c.batch(), c.batch(batchOf("t")), c.batch()
	first := c.one(inBatch(over))
	c.seal(over, 1)
	for what, k := range map[string]struct {
		n    domain.NewJob
		code domain.Code
	}{
		"a sealed batch":             {c.job(inBatch(over)), domain.Conflict},
		"a batch that is not there":  {c.job(inBatch(domain.BatchID(c.id()))), domain.NotFound},
		"another tenant's batch":     {c.job(inBatch(own), ofTenant("T")), domain.NotFound},
		"a tenant's batch, for none": {c.job(inBatch(own)), domain.NotFound},
	} {
		for _, call := range [][]domain.NewJob{{k.n}, {c.job(inBatch(open)), c.job(), k.n}, {k.n, c.job()}} {
			_, err := c.store.Insert(c.Context(), call)
			c.wantCode("insert into "+what, err, k.code)
			equal(c, "rows after an insert into "+what, c.list(domain.Filter{}), []domain.JobID{first})
		}
		if k.code == domain.Conflict {
			_, err := c.store.Insert(c.Context(), []domain.NewJob{k.n})
			var f *domain.Fault
			errors.As(err, &f)
			equal(c, "subject of the refusal", f.Subject, over.String())
		}
	}
	c.add(c.job(inBatch(open)), c.job(inBatch(open), ofTenant("t")), c.job(inBatch(own), ofTenant("t")), c.job())
	equal(c, "members", [2]int{c.count(domain.Filter{Batch: open}), c.count(domain.Filter{Batch: own})}, [2]int{2, 1})
	equal(c, "batch of a member", c.claim(1)[0].Job.Batch, over)
}

// existing: a row that was there is no member, whatever its holder takes from the
// new job; members are what was written.
func batchExisting(c *rig) {
	id, other := c.batch(), c.batch()
	plain := c.one(unique("plain"), after(long))
	theirs := c.one(unique("theirs"), inBatch(other), after(long))
	member := c.job(inBatch(id), unique("k"))
	c.add(member)
	got := c.insert(
		c.job(inBatch(id), unique("plain")), c.job(inBatch(id), uniqueOr("plain", domain.Replace)), c.job(inBatch(id), uniqueOr("plain", domain.Reschedule)),
		c.job(inBatch(id), uniqueOr("theirs", domain.Replace)), c.job(unique("k")), c.job(inBatch(id), withID(plain)), c.job(inBatch(id), unique("new")),
	)
	var results []domain.Inserted
	for _, a := range got {
		results = append(results, a.Result)
	}
	equal(c, "answers", results, []domain.Inserted{
		domain.Existing, domain.Replaced, domain.Rescheduled, domain.Replaced, domain.Existing, domain.Existing, domain.InsertedNew,
	})
	equal(c, "batches of those that were there", [3]domain.BatchID{c.get(plain).Batch, c.get(theirs).Batch, c.get(member.ID).Batch}, [3]domain.BatchID{{}, other, id})
	c.insert(c.job(uniqueOr("k", domain.Replace)))
	equal(c, "batch of a member that was replaced", c.get(member.ID).Batch, id)
	c.seal(id, 2)
	c.seal(other, 1)
}

// again: a seal is done once, and answers the same afterwards; who asks for a batch
// that is not theirs finds none.
func batchAgain(c *rig) {
	id := c.batch(batchOf("t"))
	c.add(c.jobs(3, inBatch(id), ofTenant("t"))...)
	for _, k := range []struct {
		id     domain.BatchID
		tenant string
	}{{domain.BatchID(c.id()), ""}, {id, "T"}} {
		_, err := c.store.SealBatch(c.Context(), k.id, k.tenant)
		c.wantCode("seal of a batch that is not there", err, domain.NotFound)
	}
	equal(c, "state", c.look(id).State(), domain.BatchOpen)
	got, err := c.store.SealBatch(c.Context(), id, "t")
	c.ok("seal", err)
	equal(c, "answer of the seal", got, domain.Sealed{Total: 3})
	before := c.look(id)
	equal(c, "state", before.State(), domain.BatchSealed)
	equal(c, "members in all and waiting", [2]int64{before.Total, before.Pending}, [2]int64{3, 3})
	c.wantNil("delete", c.delete(c.list(domain.Filter{})[0])...)
	c.pass(5 * time.Millisecond)
	for range 2 {
		got, err = c.store.SealBatch(c.Context(), id, "")
		c.ok("seal again", err)
		equal(c, "answer of the seal made again", got, domain.Sealed{Total: 3, Again: true})
	}
	after := c.look(id)
	equal(c, "what the first seal wrote", fmt.Sprint(after.SealedAt, after.Total), fmt.Sprint(before.SealedAt, before.Total))
}

// ends: a batch is over once it is sealed and none of its members waits or runs,
// and not before; how many were done is counted then.
func batchEnds(c *rig) {
	id := c.batch(withCallback)
	c.member(id, done)
	c.waits("it is open", id)
	busy := c.startOnly(c.one(mutex("m")))
	blocked := c.one(inBatch(id), mutex("m"))
	c.startNone()
	running := c.running(inBatch(id), priority(-9))
	retrying := c.running(inBatch(id), priority(-9))
	c.settled(failed(retrying, long))
	later := c.one(inBatch(id), after(long))
	ready := c.one(inBatch(id), inQueue("own"))
	c.seal(id, 6)
	equal(c, "members that are waited for", c.look(id).Pending, int64(5))
	c.waits("one runs", id)
	c.settled(died(running))
	c.waits("one is retrying", id)
	c.wantNil("retry", c.retry(domain.Due{}, retrying.Job.ID)...)
	c.settled(done(c.claimOne()))
	c.waits("one is blocked", id)
	c.over(busy, done)
	c.over(c.startOnly(blocked), gaveUp)
	c.waits("one is scheduled", id)
	c.wantNil("cancel", c.cancel(later)...)
	c.waits("one is ready", id)
	equal(c, "members that are waited for at last", c.look(id).Pending, int64(1))
	r := c.request(1)
	r.Queue = "own"
	j := c.ask(r).Jobs[0]
	equal(c, "the last job", j.Job.ID, ready)
	c.settled(done(j))
	got := c.finishBatches(domain.BatchID(c.id()), id, domain.BatchID(c.id()), id)
	equal(c, "batches that finish", len(got), 1)
	b := c.look(id)
	equal(c, "members in all and done", [2]int64{b.Total, b.Done}, [2]int64{6, 3})
	c.isCallback(b)
	equal(c, "batches that finish for no ids", len(c.finishBatches()), 0)
}

// once: a batch finishes once, whoever looks and however often, with one callback;
// one that is there already is the callback.
func batchOnce(c *rig) {
	stores := c.handles(10)
	for range size(4, 20) {
		id := c.batch(withCallback, named("n"))
		c.member(id, done)
		c.member(id, died)
		c.seal(id, 2)
		finished := make([]int, len(stores))
		c.race(len(stores), func(i int) error {
			got, err := stores[i].FinishBatches(c.Context(), []domain.BatchID{id})
			finished[i] = len(got)
			return err
		})
		sum := 0
		for _, n := range finished {
			sum += n
		}
		equal(c, "callers that finished the batch", sum, 1)
		b := c.look(id)
		c.isCallback(b)
		equal(c, "callbacks", len(c.callbacks()), 1)
		equal(c, "batches that finish again", len(c.finishBatches(id)), 0)
		c.wantNil("delete of the callback", c.delete(b.CallbackJob)...)
		equal(c, "batches that finish once the callback is gone", len(c.finishBatches(id)), 0)
		equal(c, "callbacks", len(c.callbacks()), 0)
	}
	id := c.batch(withCallback)
	b := c.look(id)
	early, err := b.Finish()
	c.ok("make the callback", err)
	c.add(*early)
	c.seal(id, 0)
	got := c.finishBatches(id)
	equal(c, "batches that finish", len(got), 1)
	equal(c, "callback and refusal", fmt.Sprint(got[0].Batch.CallbackJob, got[0].Refused), fmt.Sprint(early.ID, false))
	equal(c, "callbacks", len(c.callbacks()), 1)
}

// callback: it is in the tenant of the batch's maker and has its options; one that
// cannot be added keeps no batch from finishing and is named.
func batchCallback(c *rig) {
	id := c.batch(batchOf("acme"), named("a \"name\" ?0 $1"), func(n *domain.NewBatch) {
		n.Callback = callbackWith(` { "own" : 1 } `)
		n.Callback.Timeout, n.Callback.FailureKind, n.Callback.KeepDone, n.Callback.Meta = 5000, "test/failed", 7000, []byte(`{"m":1}`)
	})
	c.seal(id, 0)
	b := c.ends(id, 0, 0)
	row := c.get(b.CallbackJob)
	equal(c, "tenant, queue, priority, tags", fmt.Sprint(row.Tenant, row.Queue, row.Priority, row.Tags), fmt.Sprint("acme", callbackQueue, 4, []string{"b", "a"}))
	equal(c, "timeout, failure kind, span", fmt.Sprint(row.Timeout, row.FailureKind, row.Keep.Done), fmt.Sprint(5*time.Second, "test/failed", 7*time.Second))
	equal(c, "batch of the callback", row.Batch, domain.BatchID{})

	bad := domain.NewBatch{ID: domain.BatchID(c.id()), Callback: callbackWith(`{}`)}
	bad.Callback.Kind = strings.Repeat("k", domain.MaxKind+1)
	c.ok("create", c.store.CreateBatch(c.Context(), bad))
	good := c.batch(withCallback)
	c.seal(bad.ID, 0)
	c.seal(good, 0)
	refused := map[domain.BatchID]bool{}
	for _, f := range c.finishBatches(bad.ID, good) {
		refused[f.Batch.ID] = f.Refused
	}
	equal(c, "batches and whether their callback was refused", refused, map[domain.BatchID]bool{bad.ID: true, good: false})
	equal(c, "state of a batch without its callback", c.look(bad.ID).State(), domain.BatchFinished)
	equal(c, "its callback", c.look(bad.ID).CallbackJob, domain.JobID{})
	equal(c, "callbacks", len(c.callbacks()), 2)
	equal(c, "batches that finish again", len(c.finishBatches(bad.ID, good)), 0)
}

// many: a batch of thousands is filled by one call and ends as one of three does.
func batchMany(c *rig) {
	const members = 3000
	id := c.batch(withCallback)
	ids := c.add(c.jobs(members, inBatch(id))...)
	c.seal(id, members)
	c.wantNil("delete", c.delete(ids[0], ids[members-1])...)
	ended := 2
	for ended < members {
		jobs := c.claim(500)
		outcomes := make([]driven.Outcome, len(jobs))
		for i, j := range jobs {
			if outcomes[i] = done(j); i%100 == 0 {
				outcomes[i] = died(j)
			}
		}
		if ended += len(jobs); len(jobs) == 0 {
			c.Fatalf("%d of %d members were found", ended, members)
		}
		if ended == members {
			c.waits("the last ones run", id)
		}
		c.settled(outcomes...)
	}
	deadMembers := int64(c.count(domain.Filter{Batch: id, States: []domain.State{domain.Dead}}))
	c.ends(id, members, members-2-deadMembers)
}
