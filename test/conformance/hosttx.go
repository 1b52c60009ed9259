package conformance

import (
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func hosttxCases() []testCase {
	return []testCase{
		{"commit", hosttxCommit},
		{"rollback", hosttxRollback},
		{"skip", hosttxSkip},
		{"error", hosttxError},
		{"many", hosttxMany},
		{"turns", hosttxTurns},
		{"replace", hosttxReplace},
		{"unique", hosttxUnique},
		{"batch", hosttxBatch},
		{"seal", hosttxSeal},
		{"foreign", hosttxForeign},
	}
}

func hosttxOptional(h Harness) (present bool, missing string) {
	if h.Begin == nil {
		missing = "Backend.Tx is set, so set Harness.Begin"
	}
	return h.Backend.Tx != nil, missing
}

// begin opens a transaction of the host's and the inserter inside it.
func (c *rig) begin() (HostTx, driven.Inserter) {
	c.Helper()
	tx := c.Begin(c)
	in, err := c.Backend.Tx.Bind(tx.Tx)
	c.ok("bind", err)
	return tx, in
}

// commit: the rows are there once the host's transaction is, and not before.
func hosttxCommit(c *rig) {
	tx, in := c.begin()
	jobs := []domain.NewJob{c.job(unique("k")), c.job()}
	got, err := in.Insert(c.Context(), jobs)
	c.ok("insert", err)
	equal(c, "answers", got, []driven.Inserted{{ID: jobs[0].ID}, {ID: jobs[1].ID}})
	equal(c, "rows before the commit", len(c.list(domain.Filter{})), 0)
	c.ok("commit", tx.Commit())
	equal(c, "rows", c.count(domain.Filter{}), 2)
	c.held("k", jobs[0].ID)
	equal(c, "claimed jobs", idsOf(c.claim(5)), idsOfNew(jobs))
}

// rollback: the rows were never there, their ids and keys are free.
func hosttxRollback(c *rig) {
	tx, in := c.begin()
	n := c.job(unique("k"))
	_, err := in.Insert(c.Context(), []domain.NewJob{n, c.job()})
	c.ok("insert", err)
	c.ok("rollback", tx.Rollback())
	equal(c, "rows", c.count(domain.Filter{}), 0)
	equal(c, "claimed jobs", len(c.claim(5)), 0)
	c.add(n)
}

// skip: a held key is Existing inside the transaction too, and does not abort it.
func hosttxSkip(c *rig) {
	holder := c.one(unique("k"))
	tx, in := c.begin()
	before, after := c.job(unique("new")), c.job()
	got, err := in.Insert(c.Context(), []domain.NewJob{before, c.job(unique("k")), c.job(unique("new"))})
	c.ok("insert", err)
	equal(c, "answers", got, []driven.Inserted{{ID: before.ID}, {ID: holder, Result: domain.Existing}, {ID: before.ID, Result: domain.Existing}})
	again, err := in.Insert(c.Context(), []domain.NewJob{c.job(unique("new")), after})
	c.ok("insert after a held key", err)
	equal(c, "answers", again, []driven.Inserted{{ID: before.ID, Result: domain.Existing}, {ID: after.ID}})
	c.ok("commit", tx.Commit())
	equal(c, "jobs", c.list(domain.Filter{}), sortedDown([]domain.JobID{holder, before.ID, after.ID}))
}

// error: a conflict writes nothing of its call and leaves the transaction usable.
func hosttxError(c *rig) {
	c.one(unique("k"), after(long))
	tx, in := c.begin()
	first, last := c.job(), c.job()
	_, err := in.Insert(c.Context(), []domain.NewJob{first})
	c.ok("insert", err)
	_, err = in.Insert(c.Context(), []domain.NewJob{c.job(), c.job(uniqueOrError("k"))})
	c.wantCode("insert of a held key", err, domain.Conflict)
	_, err = in.Insert(c.Context(), []domain.NewJob{last})
	c.ok("insert after a conflict", err)
	c.ok("commit", tx.Commit())
	equal(c, "claimed jobs", idsOf(c.claim(10)), []domain.JobID{first.ID, last.ID})
}

// many: a call of many rows, several calls, one transaction.
func hosttxMany(c *rig) {
	tx, in := c.begin()
	for range 3 {
		jobs := c.jobs(700)
		got, err := in.Insert(c.Context(), jobs)
		c.ok("insert", err)
		equal(c, "last answer", got[699], driven.Inserted{ID: jobs[699].ID})
	}
	c.ok("commit", tx.Commit())
	equal(c, "rows", c.count(domain.Filter{}), 2100)
}

// turns: a job that was rolled back leaves no turn behind; one that is committed
// takes its place among those that came meanwhile.
func hosttxTurns(c *rig) {
	tx, in := c.begin()
	_, err := in.Insert(c.Context(), []domain.NewJob{c.job(mutex("m", "n")), c.job(chain("c"))})
	c.ok("insert", err)
	c.ok("rollback", tx.Rollback())
	for _, turn := range []set{mutex("m", "n"), chain("c")} {
		tx, in := c.begin()
		early := c.job(turn)
		_, err = in.Insert(c.Context(), []domain.NewJob{early})
		c.ok("insert", err)
		c.ok("commit", tx.Commit())
		late := c.one(turn)
		got := c.startOnly(early.ID)
		equal(c, "keys of a job that came in a transaction", len(got.keys()), len(early.Keys))
		c.over(got, done)
		c.over(c.startOnly(late), done)
	}
	n := c.job(chain("c"), blocking)
	first := c.one(chain("c"))
	busy := c.startOnly(first)
	tx, in = c.begin()
	_, err = in.Insert(c.Context(), []domain.NewJob{n})
	c.ok("insert", err)
	c.ok("commit", tx.Commit())
	c.startNone()
	c.parkedOn(chainKey("c"), n.ID)
	c.over(busy, done)
	c.startOnly(n.ID)
}

// foreignTx is a transaction of another adapter.
type foreignTx struct{}

func (foreignTx) HostTx() string { return "foreign" }

// foreign: a handle of another adapter is Invalid, and so is none.
func hosttxForeign(c *rig) {
	for _, h := range []driven.HostTx{foreignTx{}, nil} {
		_, err := c.Backend.Tx.Bind(h)
		c.wantCode("bind of a foreign handle", err, domain.Invalid)
	}
}
